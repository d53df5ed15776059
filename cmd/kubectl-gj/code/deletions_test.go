package code_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// saves is a developer who saves again and again, with a job of two replicas.
type saves struct {
	*testing.T
	src    string
	pods   *wrappers
	work   *code.Work
	family *jobs.Family
}

func newSaves(t *testing.T) *saves {
	t.Helper()
	s := &saves{T: t, src: t.TempDir(), family: familyOf(t, 2, nil)}
	s.pods = &wrappers{heard: map[string][]string{}, told: map[string][]string{}}
	for _, file := range []string{"train.py", "settings.py"} {
		write(t, s.src, file, "x")
	}
	folder, err := code.NewFolder(s.src+":/app", nil)
	require.NoError(t, err)
	s.work = &code.Work{Folder: folder, Restarts: true, Connect: s.pods.connect, Out: io.Discard, Err: io.Discard}
	return s
}

// save does what a save does. It returns which files the replicas were told to delete.
func (s *saves) save() (told map[string][]string, err error) {
	s.pods.told = map[string][]string{}
	err = s.work.Once(s.Context(), s.family)
	told = map[string][]string{}
	for replica, files := range s.pods.told {
		if len(files) > 0 {
			told[replica] = files
		}
	}
	return told, err
}

func (s *saves) remove(file string) { require.NoError(s, os.Remove(filepath.Join(s.src, file))) }

// The image may have a file of the same name, which nobody has replaced.
func TestAFileThatNoPodHasTakenIsNotDeleted(t *testing.T) {
	for _, step := range []string{develop.Files, develop.Ready, develop.Stop, develop.Apply} {
		s := newSaves(t)
		s.pods.refuses = func(_, asked string) bool { return asked == step }
		_, err := s.save()
		require.ErrorContains(t, err, "its disk is full", step)
		s.pods.refuses = nil
		s.remove("settings.py")
		told, err := s.save()
		require.NoError(t, err, step)
		require.Empty(t, told, step)
	}
}

func TestAFileIsDeletedWhereItWasBrought(t *testing.T) {
	s := newSaves(t)
	s.pods.refuses = func(replica, asked string) bool { return replica == "worker-1" && asked == develop.Apply }
	_, err := s.save()
	require.ErrorContains(t, err, "worker-1: its disk is full")
	s.pods.refuses = nil
	s.remove("settings.py")
	told, err := s.save()
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"worker-0": {"settings.py"}}, told)
}

// Once it is deleted, the code may write a file of that name itself.
func TestAFileIsDeletedOnce(t *testing.T) {
	s := newSaves(t)
	_, err := s.save()
	require.NoError(t, err)
	s.remove("settings.py")
	told, err := s.save()
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"worker-0": {"settings.py"}, "worker-1": {"settings.py"}}, told)

	write(t, s.src, "train.py", "longer")
	told, err = s.save()
	require.NoError(t, err)
	require.Empty(t, told)

	write(t, s.src, "settings.py", "again")
	_, err = s.save()
	require.NoError(t, err)
	s.remove("settings.py")
	told, err = s.save()
	require.NoError(t, err)
	require.Len(t, told, 2, "it was brought again")
}

// A deletion that a pod has not done is tried again.
func TestADeletionThatDidNotGoIsTriedAgain(t *testing.T) {
	s := newSaves(t)
	_, err := s.save()
	require.NoError(t, err)
	s.remove("settings.py")
	s.pods.refuses = func(_, asked string) bool { return asked == develop.Stop }
	_, err = s.save()
	require.Error(t, err)
	s.pods.refuses = nil
	told, err := s.save()
	require.NoError(t, err)
	require.Len(t, told, 2)
}

// A new pod has the files of its image.
func TestAFileOfANewPodIsNotDeleted(t *testing.T) {
	s := newSaves(t)
	_, err := s.save()
	require.NoError(t, err)
	s.remove("settings.py")
	s.family = familyOf(t, 2, nil)
	s.family.Pods[1].UID = "new"
	told, err := s.save()
	require.NoError(t, err)
	require.Equal(t, map[string][]string{"worker-0": {"settings.py"}}, told)
}
