package main_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
)

// TestWhatIsWrongIsSaidInPlainWords types commands where there is no cluster.
func TestWhatIsWrongIsSaidInPlainWords(t *testing.T) {
	t.Setenv("KUBECONFIG", "/does/not/exist")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("HOME", t.TempDir())
	for line, want := range map[string]struct {
		text string
		code int
	}{
		"list":                            {"there is no kubeconfig, or it names no cluster: set KUBECONFIG, or give --kubeconfig", 4},
		"tree mnist":                      {"there is no kubeconfig, or it names no cluster: set KUBECONFIG, or give --kubeconfig", 4},
		"scale mnist":                     {"1 argument: want the NAME of a job and a number of replicas; see `kubectl gj scale --help`", 2},
		"tree a b":                        {"2 arguments: want the NAME of a job; see `kubectl gj tree --help`", 2},
		"wait mnist --timeout=-1s":        {"--timeout=-1s: want 0 or more", 2},
		"pause mnist --timeout=-1s":       {"--timeout=-1s: want 0 or more", 2},
		"debug mnist --timeout=-1s":       {"--timeout=-1s: want 0 or more", 2},
		"logs mnist --since=-5m":          {"--since=-5m0s: want 0 or more", 2},
		"restart mnist --grace=-1s":       {"--grace=-1s: want 0 or more", 2},
		"sync mnist ./x:/app --grace=-1s": {"--grace=-1s: want 0 or more", 2},
		"sync mnist /nope:/app":           {"read /nope: no such file or directory", 2},
		"set":                             {"set: want image, env or args; see `kubectl gj set --help`", 2},
		"set imag mnist":                  {"set imag mnist: want image, env or args; see `kubectl gj set --help`", 2},
		"list -o xml":                     {`--output is "xml": want json, yaml or html`, 2},
		"tree mnist -o xml":               {`--output is "xml": want json or yaml`, 2},
		"lst":                             {"there is no verb \"lst\": see `kubectl gj --help`", 2},
	} {
		program := verbs.New(genericiooptions.NewTestIOStreamsDiscard())
		program.SetArgs(strings.Fields(line))
		err := program.ExecuteContext(t.Context())
		require.ErrorContains(t, err, want.text, line)
		require.True(t, strings.HasPrefix(err.Error(), want.text), "%s: %v", line, err)
		require.Equal(t, want.code, exit.Code(err), line)
	}
}

// What client-go takes where nobody names a cluster may also be named: kubectl proxy listens there.
func TestAClusterOnThisMachineIsOne(t *testing.T) {
	const config = `{apiVersion: v1, kind: Config, current-context: here, contexts: [{name: here, context: {cluster: here}}], clusters: [{name: here, cluster: {server: "http://localhost:8080"}}]}`
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(config), 0o600))
	t.Setenv("KUBECONFIG", file)
	program := verbs.New(genericiooptions.NewTestIOStreamsDiscard())
	program.SetArgs([]string{"list", "--request-timeout=1s"})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := program.ExecuteContext(ctx); err != nil { // nobody may listen
		require.NotContains(t, err.Error(), "there is no kubeconfig")
	}
}
