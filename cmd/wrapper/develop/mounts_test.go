package develop

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A file that is mounted by subPath, as a key of a ConfigMap, can be neither replaced nor deleted.
func TestAMountIsNotReplaced(t *testing.T) {
	app := filepath.Join(t.TempDir(), "my app")
	require.NoError(t, os.MkdirAll(filepath.Join(app, "conf"), 0o755))
	require.NoError(t, os.Symlink("conf", filepath.Join(app, "linked")))
	s := storeWith(t, t.TempDir(), filepath.Join(app, "conf", "c.yaml"))
	for _, file := range []string{"conf/c.yaml", "linked/c.yaml"} {
		want := filepath.Join(app, file) + " cannot be replaced: something is mounted on it"
		require.ErrorContains(t, s.stage(stream(t, entry{name: file}), app, nil), want)
		require.ErrorContains(t, s.stage(stream(t, entry{name: "x"}), app, []string{file}), want)
	}
	require.NoError(t, s.stage(stream(t, entry{name: "conf/d.yaml"}), app, nil))
	s.mounts = "/proc/self/mountinfo"
	require.True(t, s.mounted()["/proc"], "the kernel says so")
}

// On a volume files outlast the container. What code has written there is not the image's, though it has the name of a file that a developer has sent
// or deleted. It may be older, as a copy is that keeps the time.
func TestWhatCodeHasWrittenOnAVolumeStaysInTheNextContainer(t *testing.T) {
	own, app := t.TempDir(), t.TempDir()
	volume := filepath.Join(app, "out")
	require.NoError(t, os.Mkdir(volume, 0o755))
	s := storeWith(t, own, volume)
	require.NoError(t, s.stage(stream(t, entry{name: "out/result.json", text: "x"}, entry{name: "result.json", text: "x"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, s.stage(stream(t), app, []string{"out/result.json", "result.json"}))
	require.NoError(t, s.apply())
	for _, result := range []string{filepath.Join(volume, "result.json"), filepath.Join(app, "result.json")} {
		require.NoError(t, os.WriteFile(result, []byte("of hours"), 0o600))
		require.NoError(t, os.Chtimes(result, time.Time{}, time.Now().Add(-time.Hour)))
	}
	require.NoError(t, s.stage(stream(t, entry{name: "out/state", text: "y"}, entry{name: "out/lost", text: "z"}), app, nil))
	require.NoError(t, s.apply())
	require.NoError(t, os.WriteFile(filepath.Join(volume, "state"), []byte("of hours, too"), 0o600))
	require.NoError(t, os.Remove(filepath.Join(volume, "lost")))
	_, err := s.restore()
	require.NoError(t, err)
	require.Equal(t, "of hours", textOf(t, filepath.Join(volume, "result.json")))
	require.Equal(t, "of hours, too", textOf(t, filepath.Join(volume, "state")))
	require.Equal(t, "z", textOf(t, filepath.Join(volume, "lost")))
	require.NoFileExists(t, filepath.Join(app, "result.json"), "the image has it")
}
