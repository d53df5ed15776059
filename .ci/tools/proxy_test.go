package tools_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tests on the local cluster talk to its apiserver and its pods, which no proxy of the user's knows.
func TestOnTheLocalClusterNothingOfItGoesThroughAProxy(t *testing.T) {
	const file = "e2e/localcluster/internal/system/proxy.go"
	named := regexp.MustCompile(`(?m)^const direct = "(.*)"$`).FindStringSubmatch(read(t, file))
	require.NotNil(t, named, file)
	for _, other := range []string{"e2e/on-local-cluster", "e2e/demo/proxy.go"} {
		require.Contains(t, read(t, other), named[1], "%s and %s differ", other, file)
	}
	for own, want := range map[string]string{"": named[1], "NO_PROXY=.corp": ".corp," + named[1], "no_proxy=.corp": ".corp," + named[1]} {
		folder := t.TempDir()
		program(t, folder, "make", "")
		program(t, folder, "go", "")
		t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
		t.Setenv("no_proxy", "")
		t.Setenv("NO_PROXY", "")
		if name, value, has := strings.Cut(own, "="); has {
			t.Setenv(name, value)
		}
		// The script reads what make would have built.
		copied := filepath.Join(folder, "checkout", "e2e", "on-local-cluster")
		copyFile(t, filepath.Join(root, "e2e/on-local-cluster"), copied)
		for _, built := range []string{"manager", "manager-wrapper"} {
			require.NoError(t, os.MkdirAll(filepath.Join(folder, "checkout", "dist"), 0o755))
			program(t, filepath.Join(folder, "checkout", "dist"), built, "")
		}
		text, err := run(t, folder, copied, "bash", "-c", `echo "$NO_PROXY $no_proxy $GOWORK"`)
		require.NoError(t, err)
		require.Equal(t, want+" "+want+" off\n", text)
	}
}
