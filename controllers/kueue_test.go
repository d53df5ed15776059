package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// workload is the Workload of a GenericJob; nil if it is not there.
func (c *cluster) workload(name string) *unstructured.Unstructured {
	w := kueue.Key(c.job(name))
	err := c.Get(c.ctx, keyOf(w), w)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	require.NoError(c.t, err)
	return w
}

// setStatus changes the status of a Workload, as Kueue does, again and again until nobody comes between.
func (c *cluster) setStatus(name string, change func(status map[string]any)) {
	c.t.Helper()
	c.until("the status of the Workload is written", func() bool {
		w := c.workload(name)
		if w == nil {
			return false
		}
		status, _, _ := unstructured.NestedMap(w.Object, "status")
		if status == nil {
			status = map[string]any{}
		}
		change(status)
		w.Object["status"] = status
		err := c.Status().Update(c.ctx, w)
		if !apierrors.IsConflict(err) {
			require.NoError(c.t, err)
		}
		return err == nil
	})
}

func say(status map[string]any, kind, value, reason string) {
	next := map[string]any{"type": kind, "status": value, "reason": reason, "message": "so it is", "lastTransitionTime": "2026-01-01T00:00:00Z"}
	list, _ := status["conditions"].([]any)
	for i := range list {
		if list[i].(map[string]any)["type"] == kind {
			list[i] = next
			return
		}
	}
	status["conditions"] = append(list, next)
}

func (c *cluster) admit(name string, count int64) {
	c.t.Helper()
	c.setStatus(name, func(status map[string]any) {
		status["admission"] = map[string]any{"clusterQueue": "all", "podSetAssignments": []any{
			map[string]any{"name": "worker", "count": count, "flavors": map[string]any{"cpu": "queue-test"}},
		}}
		say(status, "QuotaReserved", "True", "QuotaReserved")
		say(status, "Admitted", "True", "Admitted")
		say(status, "Evicted", "False", "QuotaReserved")
	})
}

func (c *cluster) says(name, kind, value string) bool {
	w := c.workload(name)
	if w == nil {
		return false
	}
	list, _, _ := unstructured.NestedSlice(w.Object, "status", "conditions")
	for _, one := range list {
		if m := one.(map[string]any); m["type"] == kind {
			return m["status"] == value
		}
	}
	return false
}

// apply creates an object from YAML, as soon as its kind is served.
func (c *cluster) apply(text string) {
	c.t.Helper()
	c.until(text, func() bool {
		o := &unstructured.Unstructured{}
		require.NoError(c.t, yaml.Unmarshal([]byte(text), o))
		err := c.Create(c.ctx, o)
		return err == nil || apierrors.IsAlreadyExists(err)
	})
}

// installQueues installs kinds of Kueue's, and a flavor and a priority class called queue-test.
func (c *cluster) installQueues() {
	c.t.Helper()
	for _, kind := range []string{"workloads", "resourceflavors", "workloadpriorityclasses"} {
		c.install("kueue-" + kind + ".yaml")
	}
	c.apply("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, metadata: {name: queue-test}, spec: {nodeLabels: {pool: spot}, tolerations: [{key: spot, operator: Exists}]}}")
	c.apply("{apiVersion: kueue.x-k8s.io/v1beta2, kind: WorkloadPriorityClass, metadata: {name: queue-test}, value: 7}")
}

func TestAJobWaitsInAQueueOfKueues(t *testing.T) {
	c := newCluster(t)
	c.installQueues()
	c.operate(operation{})

	c.submit("queued", "scheduler: {kueue: {queueName: team, priorityClass: queue-test}}"+threeWorkers)
	job := c.await("queued", func(j *v1beta1.GenericJob) bool {
		told := condition(j, v1beta1.ConditionRunning)
		return told.Reason == v1beta1.ReasonQueued && strings.Contains(told.Message, "waits in the queue team")
	})
	c.until("its Workload is there", func() bool { return c.workload("queued") != nil })
	w := c.workload("queued")
	require.True(t, metav1.IsControlledBy(w, job))
	priority, _, _ := unstructured.NestedInt64(w.Object, "spec", "priority")
	require.EqualValues(t, 7, priority)
	require.Empty(t, c.pods(job))

	c.admit("queued", 3)
	job = c.awaitPhase("queued", v1beta1.JobRunning)
	for _, pod := range c.pods(job) {
		require.Equal(t, map[string]string{"pool": "spot"}, pod.Spec.NodeSelector)
		require.Contains(t, pod.Spec.Tolerations, corev1.Toleration{Key: "spot", Operator: corev1.TolerationOpExists})
	}
	c.until("Kueue knows that they are ready", func() bool { return c.says("queued", "PodsReady", "True") })
	c.finish(job, "worker-0", 0)
	c.until("its place is free", func() bool {
		given, _, _ := unstructured.NestedSlice(c.workload("queued").Object, "status", "reclaimablePods")
		return len(given) == 1
	})

	c.setStatus("queued", func(status map[string]any) { say(status, "Evicted", "True", "Preempted") })
	c.until("the quota goes back", func() bool { return c.says("queued", "QuotaReserved", "False") && c.says("queued", "Requeued", "True") })
	job = c.awaitPhase("queued", v1beta1.JobPending)
	require.Zero(t, job.Status.BackoffCount)
	require.Zero(t, job.Status.DisruptionCount)

	c.admit("queued", 2)
	job = c.awaitPhase("queued", v1beta1.JobRunning)
	c.finish(job, "worker-1", 0)
	c.finish(job, "worker-2", 0)
	c.awaitPhase("queued", v1beta1.JobSucceeded)
	c.until("Kueue knows that it is over", func() bool { return c.says("queued", "Finished", "True") })
}

// A job of MultiKueue's runs on another cluster.
func TestAJobOfAnotherControllerIsLeftAlone(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{})
	foreign := c.submit("foreign", "managedBy: kueue.x-k8s.io/multikueue\n"+threeWorkers)
	torch := &v1beta1.PyTorchTrainingJob{}
	require.NoError(t, yaml.Unmarshal([]byte(`
spec:
  managedBy: kueue.x-k8s.io/multikueue
  replicaSpecs:
  - {type: worker, replicas: 1, template: {spec: {containers: [{name: pytorch, image: none}]}}}
`), torch))
	torch.Namespace, torch.Name = c.ns, "foreign-torch"
	require.NoError(t, c.Create(c.ctx, torch))
	c.finishes("healthy")
	require.Empty(t, c.job("foreign").Status.Phase)
	require.Empty(t, c.pods(foreign))
	made := &v1beta1.GenericJob{}
	require.True(t, apierrors.IsNotFound(c.Get(c.ctx, client.ObjectKeyFromObject(torch), made)))

	foreign = c.job("foreign")
	foreign.Spec.ManagedBy = nil
	require.ErrorContains(t, c.Update(c.ctx, foreign), "managedBy is immutable")
}

// The label that Kueue's users know, on a training job: its GenericJob waits.
func TestALabelHasATrainingJobWait(t *testing.T) {
	c := newCluster(t)
	c.install("kueue-workloads.yaml")
	c.operate(operation{})
	job := &v1beta1.PyTorchTrainingJob{}
	require.NoError(t, yaml.Unmarshal([]byte(`
spec:
  replicaSpecs:
  - {type: worker, replicas: 1, template: {spec: {containers: [{name: pytorch, image: none}]}}}
`), job))
	job.Namespace, job.Name, job.Labels = c.ns, "labelled", map[string]string{spec.LabelQueue: "team"}
	require.NoError(t, c.Create(c.ctx, job))
	c.until("its Workload is there", func() bool {
		made := &v1beta1.GenericJob{}
		return c.Get(c.ctx, client.ObjectKeyFromObject(job), made) == nil && c.workload("labelled") != nil
	})
	c.admit("labelled", 1)
	c.awaitPhase("labelled", v1beta1.JobRunning)
}

func TestATrainingJobForWhichSomebodyHasMadeAWorkloadWaits(t *testing.T) {
	c := newCluster(t)
	c.install("kueue-workloads.yaml")
	c.operate(operation{})
	job := &v1beta1.PyTorchTrainingJob{}
	require.NoError(t, yaml.Unmarshal([]byte(`
spec:
  replicaSpecs:
  - {type: worker, replicas: 1, template: {spec: {containers: [{name: pytorch, image: none}]}}}
`), job))
	job.Namespace, job.Name, job.Labels = c.ns, "prebuilt", map[string]string{spec.LabelQueue: "team", spec.LabelPrebuilt: "theirs"}
	require.NoError(t, c.Create(c.ctx, job))
	c.until("the job says what to do", func() bool {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		told := status.Condition(job.Status.Conditions, v1beta1.ConditionBlocked)
		return told != nil && told.Reason == v1beta1.ReasonInvalidSpec && strings.Contains(told.Message, "Remove "+spec.LabelPrebuilt)
	})
	made := &v1beta1.GenericJob{}
	require.True(t, apierrors.IsNotFound(c.Get(c.ctx, client.ObjectKeyFromObject(job), made)))

	without := job.DeepCopy()
	delete(without.Labels, spec.LabelPrebuilt)
	require.NoError(t, c.Patch(c.ctx, without, client.MergeFrom(job)))
	c.until("its Workload is there", func() bool {
		return c.Get(c.ctx, client.ObjectKeyFromObject(job), made) == nil && c.workload("prebuilt") != nil
	})
	c.admit("prebuilt", 1)
	c.awaitPhase("prebuilt", v1beta1.JobRunning)
}
