package controllers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// These are defects of Kubeflow's training operator, each with a test that it is none of ours. They have the numbers by which facts about
// them go here (B1 to B18). The pods are made up and nothing is created: kernel and translator are asked what they would do. B6, B8
// (scale), B9 and B13 are rules of the CRDs: see apis/kubeflow/v1. B5 is in kubeflow_test.go, B10 in cmd/manager.

// life is a job on its way.
type life struct {
	t          *testing.T
	translator framework.Registration
	job        client.Object
	program    framework.Program
	made       *v1beta1.GenericJob
}

// live begins the life of a job of Kubeflow's.
func live(t *testing.T, kind, spec string) *life {
	t.Helper()
	manifest := map[string]any{}
	text := strings.NewReplacer(
		"TF", "template: {spec: {containers: [{name: tensorflow, image: a}]}}",
		"PT", "template: {spec: {containers: [{name: pytorch, image: a}]}}",
	).Replace(spec)
	require.NoError(t, yaml.Unmarshal([]byte("{metadata: {name: job, namespace: ns}, spec: {"+text+"}}"), &manifest))
	manifest["kind"], manifest["apiVersion"] = kind, "kubeflow.org/v1"
	l := &life{t: t}
	l.translator, l.job = read(t, manifest)
	l.job.SetCreationTimestamp(metav1.NewTime(kt.Start))
	var err error
	l.program, err = l.translator.Compile(l.job)
	require.NoError(t, err)
	l.made = kt.Job()
	l.made.Spec = l.program.Spec
	kt.Begun(l.made)
	require.NoError(t, l.translator.Mirror(l.job, l.made.Status))
	return l
}

// reconcile makes one reconcile, so long after the start, over the pods as they are.
func (l *life) reconcile(after time.Duration, pods ...*corev1.Pod) kernel.Decision {
	l.t.Helper()
	d := kernel.Plan(kernel.World{Job: l.made, Pods: pods, Now: kt.At(after), Settings: kt.Settings})
	l.made.Status = d.Status
	require.NoError(l.t, l.translator.Mirror(l.job, d.Status))
	return d
}

func (l *life) pod(replicaType string, rank int, options ...kt.PodOption) *corev1.Pod {
	return kt.Pod(l.made, replicaType, rank, options...)
}

func (l *life) status() kubeflowv1.JobStatus { return statusOf(l.job) }

// last is the condition that kubectl shows as the state.
func (l *life) last() kubeflowv1.JobCondition {
	l.t.Helper()
	list := l.status().Conditions
	require.NotEmpty(l.t, list)
	return list[len(list)-1]
}

func (l *life) requireState(want kubeflowv1.JobConditionType) {
	l.t.Helper()
	require.Equal(l.t, want, l.last().Type, l.last().Message)
	require.Equal(l.t, corev1.ConditionTrue, l.last().Status)
}

func creations(d kernel.Decision) []string {
	var out []string
	for _, a := range d.Actions {
		if a.Verb == kernel.CreatePod {
			out = append(out, a.Type+"-"+string(rune('0'+a.Rank)))
		}
	}
	return out
}

func TestB1DeadlineOfAQuietJobIsKept(t *testing.T) {
	l := live(t, "TFJob", "runPolicy: {activeDeadlineSeconds: 5}, tfReplicaSpecs: {Worker: {TF}}")
	pod := l.pod("worker", 0, kt.Running)
	d := l.reconcile(2*time.Second, pod)
	require.Equal(t, 3*time.Second, d.RequeueAfter, "nothing but the clock will tell")
	l.reconcile(5*time.Second, pod)
	l.requireState(kubeflowv1.JobFailed)
	require.Contains(t, l.last().Message, "spec.runPolicy.activeDeadlineSeconds, which is 5")
}

func TestB2RestartsAreCountedWhenPodsAreReplaced(t *testing.T) {
	l := live(t, "TFJob", "runPolicy: {backoffLimit: 2}, tfReplicaSpecs: {Worker: {restartPolicy: ExitCode, TF}}")
	for i := range 3 {
		l.reconcile(time.Duration(i)*time.Hour, l.pod("worker", 0, kt.Exited(137)))
	}
	l.requireState(kubeflowv1.JobFailed)
	require.EqualValues(t, 2, l.made.Status.BackoffCount)
}

func TestB2EvictionsSpendNoLimit(t *testing.T) {
	l := live(t, "PyTorchJob", "runPolicy: {backoffLimit: 1}, pytorchReplicaSpecs: {Worker: {PT}}")
	for i := range 6 {
		l.reconcile(time.Duration(i)*time.Hour, l.pod("worker", 0, kt.FailedWithout("Evicted"), kt.Disrupted))
	}
	l.requireState(kubeflowv1.JobRestarting)
	require.Zero(t, l.made.Status.BackoffCount)
	require.EqualValues(t, 6, l.made.Status.DisruptionCount)
}

func TestExitCodesFrom128OnAreRetried(t *testing.T) {
	for code, retried := range map[int32]bool{
		1: false, 2: false, 126: false, 127: false, 128: true, 130: true, 137: true, 138: true, 139: true, 143: true, 255: true,
	} {
		l := live(t, "TFJob", "tfReplicaSpecs: {Chief: {TF}, PS: {restartPolicy: ExitCode, TF}}")
		l.reconcile(time.Second, l.pod("chief", 0, kt.Running), l.pod("ps", 0, kt.Exited(code)))
		if retried {
			l.requireState(kubeflowv1.JobRunning)
		} else {
			l.requireState(kubeflowv1.JobFailed)
		}
	}
}

func TestB3AFailedJobHasACompletionTimeForItsTTL(t *testing.T) {
	l := live(t, "PyTorchJob", "runPolicy: {ttlSecondsAfterFinished: 60}, pytorchReplicaSpecs: {Master: {restartPolicy: ExitCode, PT}}")
	l.reconcile(time.Second, l.pod("master", 0, kt.Exited(1)))
	l.requireState(kubeflowv1.JobFailed)
	require.EqualValues(t, 60, *l.program.TTLSecondsAfterFinished)
	require.Equal(t, kt.At(time.Second), l.translator.CompletionTime(l.job).UTC())
	require.Nil(t, l.made.Spec.TTLSecondsAfterFinished, "only the root is deleted")
}

func TestB4WorkersThatGoOnAreNotCalledSucceeded(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Master: {PT}, Worker: {replicas: 2, PT}}")
	d := l.reconcile(time.Second, l.pod("master", 0, kt.Exited(0)), l.pod("worker", 0, kt.Running), l.pod("worker", 1, kt.Running))
	l.requireState(kubeflowv1.JobSucceeded)
	worker := l.status().ReplicaStatuses["Worker"]
	require.EqualValues(t, 2, worker.Active)
	require.Zero(t, worker.Succeeded)
	for _, a := range d.Actions {
		require.NotEqual(t, kernel.DeletePod, a.Verb, "cleanPodPolicy is None by default")
	}
}

func TestB8NoReplicasAreNoSuccess(t *testing.T) {
	l := live(t, "TFJob", "tfReplicaSpecs: {PS: {TF}, Worker: {replicas: 0, TF}}")
	d := l.reconcile(time.Second, l.pod("ps", 0, kt.Running))
	require.Empty(t, creations(d), "no worker is made that was not asked for")
	l.requireState(kubeflowv1.JobRunning)
	job := &kubeflowv1.TFJob{}
	require.NoError(t, yaml.Unmarshal([]byte("{spec: {tfReplicaSpecs: {Worker: {replicas: 0, template: {spec: {containers: [{name: tensorflow}]}}}}}}"), job))
	_, err := l.translator.Compile(job)
	require.ErrorContains(t, err, "the job has no replica")
}

func TestB11WhoHasSucceededIsNotRunAgain(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Master: {PT}, Worker: {replicas: 2, PT}}")
	master, other := l.pod("master", 0, kt.Running), l.pod("worker", 1, kt.Running)
	l.reconcile(time.Second, master, l.pod("worker", 0, kt.Exited(0)), other)
	require.Empty(t, creations(l.reconcile(time.Minute, master, other)), "its pod is gone, its success is not")
	require.EqualValues(t, 1, l.status().ReplicaStatuses["Worker"].Succeeded)
}

func TestB12APodOnADeadNodeIsReplaced(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Worker: {PT}}")
	stuck := l.pod("worker", 0, kt.Running, kt.Deleted(kt.At(time.Second), 30*time.Second))
	require.Empty(t, creations(l.reconcile(time.Minute, stuck)), "it may yet end by itself")
	d := l.reconcile(10*time.Minute, stuck)
	require.NotEmpty(t, d.Actions)
	require.Equal(t, []string{"worker-0"}, creations(l.reconcile(11*time.Minute)))
	require.EqualValues(t, 1, l.made.Status.DisruptionCount)
}

func TestB14OneReplicaIsOnePodWhateverIsOutstanding(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Worker: {replicas: 3, PT}}")
	first, again := l.reconcile(time.Second), l.reconcile(time.Second)
	require.Equal(t, creations(first), creations(again), "a reconcile that sees no pods asks for the same names, of which there can be one each")
	require.Equal(t, "job-worker-0", spec.PodName(l.made, "worker", 0))
}

func TestB15OneExitIsOneEvent(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Master: {PT}, Worker: {PT}}")
	running := l.pod("master", 0, kt.Running)
	exited := l.pod("worker", 0, kt.Exited(1))
	count := 0
	for range 5 {
		count += len(l.reconcile(time.Second, running, exited).Events)
	}
	require.Equal(t, 1, count)
	require.EqualValues(t, 1, l.made.Status.BackoffCount)
}

func TestB16AsManyRestartsAsTheLimitSays(t *testing.T) {
	for limit, text := range []string{"0", "1", "2"} {
		l := live(t, "PyTorchJob", "runPolicy: {backoffLimit: "+text+"}, pytorchReplicaSpecs: {Master: {PT}}")
		for i := range limit {
			l.reconcile(time.Duration(i)*time.Hour, l.pod("master", 0, kt.Exited(1)))
			l.requireState(kubeflowv1.JobRestarting)
		}
		l.reconcile(99*time.Hour, l.pod("master", 0, kt.Exited(1)))
		l.requireState(kubeflowv1.JobFailed)
	}
}

func TestNoLimitUnlessTheUserSetsOne(t *testing.T) {
	l := live(t, "PyTorchJob", "pytorchReplicaSpecs: {Master: {PT}}")
	for i := range 50 {
		l.reconcile(time.Duration(i)*time.Hour, l.pod("master", 0, kt.Exited(1)))
	}
	l.requireState(kubeflowv1.JobRestarting)
}
