package main

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// A kubelet is told no reason for which an operator is not ready: the log has to.
func TestAnOperatorNamesTheKindThatItsClusterLacks(t *testing.T) {
	var jobs []string // but not the TrainingFramework, as in a cluster whose operator is upgraded by its image alone
	for _, kind := range []string{"genericjobs", "pytorchtrainingjobs", "tensorflowtrainingjobs"} {
		jobs = append(jobs, filepath.Join("..", "..", "deploy", "crd", "batch.tensorstack.dev_"+kind+".yaml"))
	}
	older, err := testenv.Serve(jobs...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, older.Stop()) })
	folder := t.TempDir()
	config, log := filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "log")
	require.NoError(t, os.WriteFile(config, older.KubeConfig, 0o600))
	out, err := os.Create(log)
	require.NoError(t, err)
	health := testenv.FreeAddress(t)
	manager := exec.Command(binary, "-health-probe-bind-address="+health, "-metrics-bind-address=0")
	manager.Env = append(os.Environ(), "KUBECONFIG="+config)
	manager.Stdout, manager.Stderr = out, out
	require.NoError(t, manager.Start())
	t.Cleanup(func() {
		_ = manager.Process.Kill()
		_ = manager.Wait()
		_ = out.Close()
	})
	eventually(t, "the kind is named", func() bool {
		require.NotEqual(t, http.StatusOK, get(t, "http://"+health+"/readyz", ""))
		text, err := os.ReadFile(log)
		require.NoError(t, err)
		return strings.Contains(string(text), `"awaits":"TrainingFramework.batch.tensorstack.dev"`)
	})
}
