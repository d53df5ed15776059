package suite_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// TestPython runs the notebook of cmd/python, sends functions to real pods and reads what they say.
func TestPython(t *testing.T) {
	loadFramework(t, "pytorch")
	s := newSpace(t)
	config, err := clientcmd.NewDefaultClientConfigLoadingRules().Load()
	require.NoError(t, err)
	config.Contexts[config.CurrentContext].Namespace = s.ns
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, clientcmd.WriteToFile(*config, kubeconfig))
	source := filepath.Join(root, "cmd", "python")
	s.pytest(source, "tests/kubelet", "KUBECONFIG="+kubeconfig, "PYTHONPATH="+filepath.Join(source, "src"), "GENERICJOB_IMAGE=localhost/genericjob-pytorch:dev")
}

// kubeflowSDK has Kubeflow's own SDK for Python create jobs, wait for them, read logs and delete them.
func kubeflowSDK(s *space) {
	s.pytest(root, "e2e/python/test_kubeflow_sdk.py", "NAMESPACE="+s.ns)
}

// pytest runs tests that are written in Python.
func (s *space) pytest(folder, tests string, environment ...string) {
	s.t.Helper()
	venv := exec.CommandContext(s.ctx, filepath.Join(root, "e2e", "python", "venv"))
	venv.Stderr = os.Stderr
	python, err := venv.Output()
	require.NoError(s.t, err)
	run := exec.CommandContext(s.ctx, strings.TrimSpace(string(python)), "-m", "pytest", "--quiet", "--exitfirst", "-rA", "-p", "no:cacheprovider", "--durations=0", tests)
	run.Dir, run.Env = folder, append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), environment...)
	var out bytes.Buffer
	run.Stdout, run.Stderr = &out, &out
	require.NoError(s.t, run.Run(), "%s\n%s", run, &out)
	s.t.Logf("%s", &out)
	require.NotContains(s.t, out.String(), "SKIPPED")
}
