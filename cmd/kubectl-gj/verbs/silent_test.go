package verbs_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

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
	s := userOf(t, server)
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

// userOf returns a user of an apiserver that is none of the suite's.
func userOf(t *testing.T, server *httptest.Server) *space {
	t.Helper()
	dir, err := os.MkdirTemp("", "silent") // t.TempDir fails if discovery, which is left behind, still writes its cache there
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &space{t: t, ns: "ns", kubeconfig: filepath.Join(dir, "kubeconfig")}
	require.NoError(t, os.WriteFile(s.kubeconfig, fmt.Appendf(nil, "{apiVersion: v1, kind: Config, current-context: c, "+
		"contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u}], clusters: [{name: c, cluster: {server: %q}}]}", server.URL), 0o600))
	return s
}

// An admission webhook may hold a write, and no read. --timeout bounds that, too.
func TestPauseEndsWithItsTimeWhoeverHoldsTheWrite(t *testing.T) {
	const group = "/apis/batch.tensorstack.dev"
	const named = `{"kind": "APIGroup", "apiVersion": "v1", "name": "batch.tensorstack.dev", "versions": [{"groupVersion": "batch.tensorstack.dev/v1beta1", "version": "v1beta1"}]}`
	answers := map[string]string{
		"/api":                         `{"kind": "APIVersions", "versions": ["v1"]}`,
		"/apis":                        `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [` + named + `]}`,
		group:                          named,
		group + "/v1beta1":             `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "batch.tensorstack.dev/v1beta1", "resources": [{"name": "genericjobs", "namespaced": true, "kind": "GenericJob"}]}`,
		"/api/v1":                      `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [{"name": "pods", "namespaced": true, "kind": "Pod"}, {"name": "events", "namespaced": true, "kind": "Event"}]}`,
		"/api/v1/namespaces/ns/pods":   `{"kind": "PodList", "apiVersion": "v1", "items": []}`,
		"/api/v1/namespaces/ns/events": `{"kind": "EventList", "apiVersion": "v1", "items": []}`,
		group + "/v1beta1/namespaces/ns/genericjobs/mnist": `{"kind": "GenericJob", "apiVersion": "batch.tensorstack.dev/v1beta1", "metadata": {"name": "mnist", "namespace": "ns"}, "status": {"phase": "Running"}}`,
	}
	over := make(chan struct{})
	var held atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		switch {
		case r.Method == http.MethodPatch:
			held.Store(true)
			select {
			case <-r.Context().Done():
			case <-over:
			}
		case ok:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(answer))
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	defer close(over)
	user := userOf(t, server)
	for timeout := time.Second; timeout < patience; timeout *= 2 { // it has to find the job first, however slow the machine is
		_, problem, code := user.types("pause", "gj/mnist", "--timeout="+timeout.String())
		require.Equal(t, 3, code, problem)
		if held.Load() {
			require.Contains(t, problem, "timed out after "+timeout.String()+". GenericJob/mnist: ")
			return
		}
	}
	require.FailNow(t, "it never came to the write")
}
