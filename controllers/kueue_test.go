package controllers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The program and the module of Kueue. `make e2e-kueue` builds the one and finds the other; without them the tests of this file are
// skipped.
var kueueProgram, kueueModule = os.Getenv("KUEUE"), os.Getenv("KUEUE_MODULE")

// kueueConfiguration is Kueue's own, as an admin writes it. Jobs of Kubeflow's kinds Kueue knows itself.
const kueueConfiguration = `
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
health: {healthProbeBindAddress: "0"}
metrics: {bindAddress: "0"}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {host: HOST, port: PORT, certDir: CERTS}
clientConnection: {qps: 300, burst: 500}
waitForPodsReady: {timeout: 15s, recoveryTimeout: 60s, blockAdmission: false, requeuingStrategy: {backoffBaseSeconds: 1}}
integrations:
  frameworks: [kubeflow.org/tfjob]
  externalFrameworks: [GenericJob.v1beta1.batch.tensorstack.dev]
`

// kueue is a running Kueue.
type kueue struct {
	c       *cluster
	folder  string
	process *exec.Cmd
}

// startKueue installs Kueue as its project publishes it, with its webhooks, and runs it.
func startKueue(c *cluster) *kueue {
	c.t.Helper()
	if kueueProgram == "" {
		c.t.Skip("`make e2e-kueue` builds Kueue, and runs this")
	}
	config := filepath.Join(kueueModule, "config", "components")
	_, err := envtest.InstallCRDs(apiserver, envtest.CRDInstallOptions{Paths: []string{filepath.Join(config, "crd", "bases")}, MaxTime: time.Minute})
	require.NoError(c.t, err)
	hooks := envtest.WebhookInstallOptions{Paths: []string{filepath.Join(config, "webhook", "manifests.yaml")}, MaxTime: time.Minute}
	require.NoError(c.t, hooks.Install(apiserver))
	c.t.Cleanup(func() { _ = hooks.Cleanup() })
	k := &kueue{c: c, folder: c.t.TempDir()}
	text := strings.NewReplacer("HOST", hooks.LocalServingHost, "PORT", strconv.Itoa(hooks.LocalServingPort), "CERTS", hooks.LocalServingCertDir).Replace(kueueConfiguration)
	require.NoError(c.t, os.WriteFile(filepath.Join(k.folder, "config.yaml"), []byte(text), 0o600))
	k.writeKubeconfig()
	k.bringCertificates(hooks.LocalServingCertDir)
	k.start()
	return k
}

// metricsCertificates is where Kueue wants its metrics' certificate, if it does not make one itself; no flag says otherwise.
const metricsCertificates = "/etc/kueue/metrics/certs"

func (k *kueue) bringCertificates(from string) {
	k.c.t.Helper()
	require.NoError(k.c.t, os.MkdirAll(metricsCertificates, 0o755))
	k.c.t.Cleanup(func() { _ = os.RemoveAll("/etc/kueue") })
	require.NoError(k.c.t, os.CopyFS(metricsCertificates, os.DirFS(from)))
}

// writeKubeconfig lets Kueue do what the tests may.
func (k *kueue) writeKubeconfig() {
	all := clientcmdapi.NewConfig()
	all.Clusters["c"] = &clientcmdapi.Cluster{Server: apiserver.Host, CertificateAuthorityData: apiserver.CAData}
	all.AuthInfos["u"] = &clientcmdapi.AuthInfo{ClientCertificateData: apiserver.CertData, ClientKeyData: apiserver.KeyData, Token: apiserver.BearerToken}
	all.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	all.CurrentContext = "x"
	require.NoError(k.c.t, clientcmd.WriteToFile(*all, filepath.Join(k.folder, "kubeconfig")))
}

func (k *kueue) start() {
	k.c.t.Helper()
	log, err := os.OpenFile(filepath.Join(k.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(k.c.t, err)
	k.process = exec.Command(kueueProgram, "--config="+filepath.Join(k.folder, "config.yaml"),
		"--kubeconfig="+filepath.Join(k.folder, "kubeconfig"), "--feature-gates=VisibilityOnDemand=false", "--zap-log-level=3")
	k.process.Stdout, k.process.Stderr = log, log
	require.NoError(k.c.t, k.process.Start())
	k.c.t.Cleanup(k.kill)
}

// kill ends Kueue at once, as a crash does.
func (k *kueue) kill() {
	_ = k.process.Process.Kill()
	_ = k.process.Wait()
	if k.c.t.Failed() {
		text, _ := os.ReadFile(filepath.Join(k.folder, "log"))
		k.c.t.Logf("the end of Kueue's log:\n%s", text[max(0, len(text)-6000):])
	}
}

// queues makes a LocalQueue "team" in the namespace, with so many CPUs of one flavor.
func (k *kueue) queues(cpus int) {
	c := k.c
	c.t.Helper()
	name := c.ns
	for _, text := range []string{
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: " + name + "}, spec: {nodeLabels: {pool: " + name + "}}}",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: low}, value: 1}",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: high}, value: 1000}",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, metadata: {name: " + name + "}, spec: {namespaceSelector: {}, " +
			"preemption: {withinClusterQueue: LowerPriority}, resourceGroups: [{coveredResources: [cpu], flavors: [{name: " + name +
			", resources: [{name: cpu, nominalQuota: " + strconv.Itoa(cpus) + "}]}]}]}}",
		"{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {name: team, namespace: " + c.ns + "}, spec: {clusterQueue: " + name + "}}",
	} {
		c.until("Kueue's webhooks answer", func() bool { return c.tryApply(text) })
	}
}

func kueueJob(class string) string {
	return "scheduler: {kueue: {queueName: team, priorityClass: " + class + "}}" + threeWorkers
}

// finishAll ends all replicas of a job that runs with 0, by their ranks.
func (c *cluster) finishAll(job *v1beta1.GenericJob, ranks ...int) {
	c.t.Helper()
	for _, rank := range ranks {
		c.finish(job, "worker-"+strconv.Itoa(rank), 0)
	}
}

func TestKueueAdmitsOneOfTwoAndTheOtherThen(t *testing.T) {
	c := newCluster(t)
	k := startKueue(c)
	k.queues(4)
	c.operate(operation{})
	c.submit("first", kueueJob("low"))
	first := c.awaitPhase("first", v1beta1.JobRunning)
	for _, pod := range c.pods(first) {
		require.Equal(t, c.ns, pod.Spec.NodeSelector["pool"], "the flavor's nodes")
	}
	c.submit("second", kueueJob("low"))
	second := c.await("second", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, "quota")
	})
	require.Empty(t, c.pods(second))

	k.kill()
	c.finishAll(first, 0)
	k.start()
	c.finishAll(first, 1)
	c.awaitPhase("second", v1beta1.JobRunning) // by the places of replicas that have finished, while the first job runs
	require.Equal(t, v1beta1.JobRunning, c.job("first").Status.Phase)
	c.finishAll(first, 2)
	c.finishAll(second, 0, 1, 2)
	c.awaitPhase("first", v1beta1.JobSucceeded)
	c.awaitPhase("second", v1beta1.JobSucceeded)
}

func TestKueuePreemptsAJobThatResumesAndSucceeds(t *testing.T) {
	c := newCluster(t)
	k := startKueue(c)
	k.queues(3)
	c.operate(operation{})
	c.submit("victim", kueueJob("low"))
	c.awaitPhase("victim", v1beta1.JobRunning)
	c.submit("urgent", kueueJob("high"))
	urgent := c.awaitPhase("urgent", v1beta1.JobRunning)
	victim := c.awaitPhase("victim", v1beta1.JobPending)
	c.awaitEvent(victim, "Normal Evicted", "Preempted")
	c.finishAll(urgent, 0, 1, 2)
	c.awaitPhase("urgent", v1beta1.JobSucceeded)
	victim = c.awaitPhase("victim", v1beta1.JobRunning)
	c.finishAll(victim, 0, 1, 2)
	victim = c.awaitPhase("victim", v1beta1.JobSucceeded)
	require.Zero(t, victim.Status.BackoffCount)
	require.Zero(t, victim.Status.DisruptionCount)
}

func TestKueueWaitsForPodsReady(t *testing.T) {
	c := newCluster(t)
	k := startKueue(c)
	k.queues(3)
	c.operate(operation{})
	c.be(func(k *kubelet) { k.idle = true })
	c.submit("slow", kueueJob("low"))
	job := c.await("slow", func(j *v1beta1.GenericJob) bool { return len(c.pods(j)) == 3 })
	c.awaitEvent(job, "Normal Evicted", "PodsReadyTimeout")
	c.be(func(k *kubelet) { k.idle = false })
	job = c.awaitPhase("slow", v1beta1.JobRunning)
	c.finishAll(job, 0, 1, 2)
	job = c.awaitPhase("slow", v1beta1.JobSucceeded)
	require.Zero(t, job.Status.DisruptionCount)
}

func TestKueueQueuesEveryKind(t *testing.T) {
	c := newCluster(t)
	k := startKueue(c)
	k.queues(1)
	c.operate(operation{})
	pod := func(container string) string {
		return "{spec: {containers: [{name: " + container + ", image: none, resources: {requests: {cpu: '1'}}}]}}"
	}
	kinds := map[string]client.Object{
		"{spec: {replicaSpecs: [{type: worker, template: " + pod("main") + "}]}}":                               &v1beta1.GenericJob{},
		"{spec: {replicaSpecs: [{type: worker, template: " + pod("tensorflow") + "}]}}":                         &v1beta1.TensorFlowTrainingJob{},
		"{spec: {replicaSpecs: [{type: worker, template: " + pod("pytorch") + "}]}}":                            &v1beta1.PyTorchTrainingJob{},
		"{spec: {runPolicy: {suspend: true}, tfReplicaSpecs: {Worker: {template: " + pod("tensorflow") + "}}}}": &kubeflow.TFJob{},
	}
	var names []string
	for text, job := range kinds {
		require.NoError(t, yaml.UnmarshalStrict([]byte(text), job))
		name := "kind-" + strconv.Itoa(len(names))
		names = append(names, name)
		job.SetNamespace(c.ns)
		job.SetName(name)
		job.SetLabels(map[string]string{spec.LabelQueue: "team"})
		require.NoError(t, c.Create(c.ctx, job))
	}
	done := 0
	for done < len(names) {
		running := ""
		c.until("one of them runs, for there is room for one", func() bool {
			for _, name := range names {
				job := &v1beta1.GenericJob{}
				if c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job) == nil && job.Status.Phase == v1beta1.JobRunning {
					running = name
				}
			}
			return running != ""
		})
		pods := &corev1.PodList{}
		require.NoError(t, c.List(c.ctx, pods, client.InNamespace(c.ns)))
		live := 0
		for _, p := range pods.Items {
			if p.Status.Phase == corev1.PodRunning {
				live++
			}
		}
		require.Equal(t, 1, live)
		c.finish(c.job(running), "worker-0", 0)
		c.awaitPhase(running, v1beta1.JobSucceeded)
		done++
	}
}
