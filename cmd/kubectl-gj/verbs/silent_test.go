package verbs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A call that gets no answer in time is the cluster's fault. That --timeout has passed is another matter, and another exit code.
func TestAnApiserverThatDoesNotAnswerIsNoTimeoutOfWait(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	defer server.Close()
	defer close(over)
	dir, err := os.MkdirTemp("", "silent") // t.TempDir fails if discovery, which is left behind, still writes its cache there
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	s := &space{t: t, ns: "ns", kubeconfig: filepath.Join(dir, "kubeconfig")}
	require.NoError(t, os.WriteFile(s.kubeconfig, fmt.Appendf(nil, "{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}], clusters: [{name: c, cluster: {server: %q}}]}", server.URL), 0o600))
	for _, flags := range [][]string{{}, {"--timeout=2h"}} {
		_, problem, code := s.types(append([]string{"wait", "gj/mnist", "--request-timeout=200ms"}, flags...)...)
		require.Equal(t, 4, code, problem)
		require.NotContains(t, problem, "timed out after", flags)
	}
	for _, name := range []string{"gj/mnist", "mnist", "jaxjob/mnist"} {
		_, problem, code := s.types("wait", name, "--timeout=200ms")
		require.Equal(t, 3, code, problem)
		require.Contains(t, problem, "timed out after 200ms: find "+name+": the cluster does not answer")
	}
}
