package suite_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// startVolcano runs Volcano's scheduler. Its controllers are left out: they open its queues, which is done here once.
func startVolcano(t *testing.T) {
	installCRDs(t, "volcano", "volcano.sh/volcano", "installer/helm/chart/volcano/crd/bases")
	runScheduler(t, "volcano-scheduler", "--kubeconfig="+os.Getenv("KUBECONFIG"), "--leader-elect=false", "-v=3")
	until(t, "Volcano's default queue is open", func() bool {
		return exec.Command(kubectl, "patch", "queues.scheduling.volcano.sh", "default", "--subresource=status", "--type=merge",
			"--patch", `{"status": {"state": "Open"}}`).Run() == nil
	})
}

const coschedulingConfiguration = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q}
profiles:
- schedulerName: scheduler-plugins-scheduler
  plugins:
    multiPoint: {enabled: [{name: Coscheduling}]}
    queueSort: {enabled: [{name: Coscheduling}], disabled: [{name: "*"}]}
  pluginConfig: [{name: Coscheduling, args: {permitWaitingTimeSeconds: 10}}]
`

// startCoscheduling runs a second kube-scheduler that has the plugin Coscheduling, configured as its manifests are.
func startCoscheduling(t *testing.T) {
	installCRDs(t, "schedulerplugins", "sigs.k8s.io/scheduler-plugins", "config/crd/bases/scheduling.x-k8s.io_podgroups.yaml")
	file := filepath.Join(t.TempDir(), "configuration.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, coschedulingConfiguration, os.Getenv("KUBECONFIG")), 0o600))
	// The plugin does not ask to be told when a pod ends. In a cluster where nothing else happens, a gang may wait for room. The scheduler
	// would look at it again only after this time, by default five minutes.
	runScheduler(t, "coscheduling-scheduler", "--config="+file, "--secure-port=0", "--pod-max-in-unschedulable-pods-duration=5s", "-v=3")
}

// installCRDs installs the CRDs that the module of a scheduler holds, for the rest of the test.
func installCRDs(t *testing.T, binaries, module, files string) {
	t.Helper()
	files = filepath.Join(moduleOf(t, binaries, module), files)
	kubectlOf(t, "apply", "--server-side", "--filename", files)
	t.Cleanup(func() {
		text, err := exec.Command(kubectl, "delete", "--ignore-not-found", "--timeout=2m", "--filename", files).CombinedOutput()
		require.NoError(t, err, string(text))
	})
	kubectlOf(t, "wait", "--for=condition=Established", "--timeout=1m", "--filename", files)
}

// moduleOf is the folder of a module of which programs of the local cluster are built.
func moduleOf(t *testing.T, binaries, module string) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "-C", "e2e/localcluster/binaries/"+binaries, "mod", "download", "-json", module)
	download.Dir = root
	text, err := download.Output()
	require.NoError(t, err, string(text))
	var of struct{ Dir string }
	require.NoError(t, json.Unmarshal(text, &of))
	return of.Dir
}

// runScheduler runs a program of the local cluster for the rest of the test. It ends with the test's process too.
func runScheduler(t *testing.T, program string, arguments ...string) {
	t.Helper()
	path, err := localCluster(t.Context(), "path", program)
	require.NoError(t, err, path)
	said := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(said)
	require.NoError(t, err)
	run := exec.Command(strings.TrimSpace(path), arguments...)
	run.Stdout, run.Stderr = log, log
	run.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, run.Start())
	t.Cleanup(func() {
		_ = run.Process.Kill()
		_ = run.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(said); t.Failed() && err == nil {
			lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
			t.Logf("the end of what %s said:\n%s", program, bytes.Join(lines[max(0, len(lines)-200):], []byte("\n")))
		}
	})
}
