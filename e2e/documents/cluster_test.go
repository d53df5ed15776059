package documents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// crdFolders are those of our kinds, and the files of the kinds that users come from, as their modules have them. The versions
// are those that the local cluster runs, or was built with.
func crdFolders() ([]string, error) {
	folders := []string{root + "/deploy/crd", root + "/deploy/kubeflow/crd"}
	for _, other := range []struct{ pinnedBy, module, crd string }{
		{"kueue", "sigs.k8s.io/kueue", "config/components/crd/bases"},
		{"kueue", "github.com/kubeflow/trainer/v2", "manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml"},
		{"volcano", "volcano.sh/volcano", "config/crd/volcano/bases/batch.volcano.sh_jobs.yaml"},
	} {
		download := exec.Command("go", "-C", root+"/e2e/localcluster/binaries/"+other.pinnedBy, "mod", "download", "-json", other.module) // #nosec G204 -- the names above
		text, err := download.Output()
		if err != nil {
			return nil, fmt.Errorf("%v: %w: %s", download.Args, err, text)
		}
		var found struct{ Dir string }
		if err := json.Unmarshal(text, &found); err != nil {
			return nil, fmt.Errorf("%v: %w", download.Args, err)
		}
		folders = append(folders, filepath.Join(found.Dir, other.crd))
	}
	return folders, nil
}

// linkPrograms gives this binary the names of the programs that it is.
func linkPrograms() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"kubectl", "kubectl-gj", "manager"} {
		if err := os.Symlink(self, filepath.Join(programs, name)); err != nil {
			return err
		}
	}
	return os.WriteFile(kubeconfig(), cluster.KubeConfig, 0o600)
}

func kubeconfig() string { return filepath.Join(programs, "kubeconfig") }

// stopOperator ends the operator that runs.
var stopOperator func() error

// startOperator starts the operator, with more flags than it always has.
func startOperator(flags ...string) error {
	operator := exec.Command(filepath.Join(programs, "manager"), append(flags, // #nosec G204 -- this very binary
		"--metrics-bind-address=0", "--health-probe-bind-address=0", "--zap-log-level=error", "--wrapper-image=registry.example/genericjob:v1")...)
	operator.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig())
	operator.Stderr = os.Stderr
	stopOperator = func() error {
		told, err := operator.Process.Signal(syscall.SIGTERM), operator.Wait()
		if status, is := operator.ProcessState.Sys().(syscall.WaitStatus); is && status.Signaled() && status.Signal() == syscall.SIGTERM {
			err = nil // it had only just begun, and did not listen yet
		}
		return errors.Join(told, err)
	}
	return operator.Start()
}

// withoutKubeflow has the operator serve no kind of Kubeflow's for the rest of a test: the JAXJob among them is in the way of others.
func withoutKubeflow(t *testing.T) {
	t.Helper()
	require.NoError(t, stopOperator())
	require.NoError(t, startOperator())
	t.Cleanup(func() {
		require.NoError(t, stopOperator())
		require.NoError(t, startOperator("--kubeflow"))
	})
}

// install installs the operator's manifests, as a reader does first. Its own pod is played, too: no controller makes it.
func install(ctx context.Context) error {
	apply := exec.CommandContext(ctx, filepath.Join(programs, "kubectl"), "apply", "-k", root+"/deploy/default")
	apply.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig())
	if text, err := apply.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", apply.Args, err, text)
	}
	var installed appsv1.Deployment
	if err := api.Get(ctx, client.ObjectKey{Namespace: "genericjob-system", Name: "genericjob-manager"}, &installed); err != nil {
		return err
	}
	pod := &corev1.Pod{ObjectMeta: installed.Spec.Template.ObjectMeta, Spec: installed.Spec.Template.Spec}
	pod.Name, pod.Namespace = installed.Name, installed.Namespace
	return api.Create(ctx, pod)
}
