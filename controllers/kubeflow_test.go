package controllers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

const pytorchPod = "template: {spec: {containers: [{name: pytorch, image: busybox}]}}"

func (c *cluster) pytorch(name, spec string) *kubeflowv1.PyTorchJob {
	c.t.Helper()
	job := &kubeflowv1.PyTorchJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte("{"+spec+"}"), &job.Spec))
	require.NoError(c.t, c.Create(c.ctx, job))
	return job
}

func (c *cluster) theirs(name string) *kubeflowv1.PyTorchJob {
	c.t.Helper()
	job := &kubeflowv1.PyTorchJob{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job))
	return job
}

func (c *cluster) awaitState(name string, want kubeflowv1.JobConditionType) *kubeflowv1.PyTorchJob {
	c.t.Helper()
	var job *kubeflowv1.PyTorchJob
	c.until(name+" is "+string(want), func() bool {
		job = c.theirs(name)
		n := len(job.Status.Conditions)
		return n > 0 && job.Status.Conditions[n-1].Type == want
	})
	return job
}

func (c *cluster) editTheirs(name string, change func(*kubeflowv1.PyTorchJob)) {
	c.t.Helper()
	c.until("an edit without a conflict", func() bool {
		job := c.theirs(name)
		change(job)
		err := c.Update(c.ctx, job)
		if apierrors.IsConflict(err) {
			return false
		}
		require.NoError(c.t, err)
		return true
	})
}

const pair = "pytorchReplicaSpecs: {Master: {" + pytorchPod + "}, Worker: {replicas: 2, " + pytorchPod + "}}"

func TestPyTorchJobRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.pytorch("job", pair+", runPolicy: {cleanPodPolicy: Running}")
	job := c.awaitState("job", kubeflowv1.JobRunning)
	made := c.job("job")
	require.True(t, metav1.IsControlledBy(made, job))
	c.until("all run", func() bool { return c.theirs("job").Status.ReplicaStatuses["Worker"].Active == 2 })
	pods := &corev1.PodList{}
	require.NoError(t, c.List(c.ctx, pods, client.InNamespace(c.ns), client.MatchingLabels{
		"training.kubeflow.org/job-name": "job", "training.kubeflow.org/operator-name": "pytorchjob-controller", "training.kubeflow.org/job-role": "master",
	}))
	require.Len(t, pods.Items, 1)
	require.Equal(t, "job-master-0", pods.Items[0].Name)
	c.finish(made, "master-0", 0)
	job = c.awaitState("job", kubeflowv1.JobSucceeded)
	require.NotNil(t, job.Status.CompletionTime)
	require.EqualValues(t, 0, job.Status.ReplicaStatuses["Worker"].Active)
	require.EqualValues(t, 2, job.Status.ReplicaStatuses["Worker"].Succeeded, "those that are taken away")
	c.until("workers are gone", func() bool { return len(c.pods(made)) == 1 })
	c.until("the GenericJob says so", func() bool { return c.job("job").Status.Aggregate.Deleted == 2 })
	require.Equal(t, job.Status.ReplicaStatuses, c.theirs("job").Status.ReplicaStatuses, "and it stays so")
}

// Kueue suspends a running job and restores its template in one edit, and resumes it with another one.
func TestSuspendAndEditAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.pytorch("job", pair+", runPolicy: {suspend: true}")
	job := c.awaitState("job", kubeflowv1.JobSuspended)
	require.Nil(t, job.Status.StartTime)
	set := func(on bool, node string) {
		c.editTheirs("job", func(j *kubeflowv1.PyTorchJob) {
			j.Spec.RunPolicy.Suspend = &on
			j.Spec.PyTorchReplicaSpecs["Worker"].Template.Spec.NodeSelector = map[string]string{"flavor": node}
		})
	}
	for _, node := range []string{"a", "b"} {
		set(false, node)
		c.awaitState("job", kubeflowv1.JobRunning)
		c.until("all run", func() bool { return c.theirs("job").Status.ReplicaStatuses["Worker"].Active == 2 })
		require.Equal(t, node, c.pods(c.job("job"))["worker-1"].Spec.NodeSelector["flavor"])
		set(true, "none")
		c.awaitState("job", kubeflowv1.JobSuspended)
		c.until("pods are gone", func() bool { return len(c.pods(c.job("job"))) == 0 })
	}
}

func TestForeignJobsAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.pytorch("foreign", pair+", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}")
	c.pytorch("ours", pair)
	c.awaitState("ours", kubeflowv1.JobRunning)
	require.Empty(t, c.theirs("foreign").Status.Conditions)
	err := c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "foreign"}, &v1beta1.GenericJob{})
	require.True(t, apierrors.IsNotFound(err))
}

func TestB3TTLOfAFailedJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.pytorch("job", "pytorchReplicaSpecs: {Master: {restartPolicy: ExitCode, "+pytorchPod+"}}, runPolicy: {ttlSecondsAfterFinished: 3}")
	c.awaitState("job", kubeflowv1.JobRunning)
	keep := func(finalizers ...string) { // else it could be gone before anybody has looked
		c.editTheirs("job", func(j *kubeflowv1.PyTorchJob) { j.Finalizers = finalizers })
	}
	keep("example.com/seen")
	c.finish(c.job("job"), "master-0", 1)
	c.until("it is deleted", func() bool { return c.theirs("job").DeletionTimestamp != nil })
	deleted := c.awaitState("job", kubeflowv1.JobFailed)
	require.GreaterOrEqual(t, deleted.DeletionTimestamp.Sub(deleted.Status.CompletionTime.Time), 3*time.Second)
	keep()
	c.until("it is gone", func() bool { return c.gone(job) })
}

// B5: whatever is refused, the status says it.
func TestB5TheStatusSaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	require.NoError(t, c.Create(c.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "job-master-0", Namespace: c.ns}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}},
	}))
	c.pytorch("job", pair)
	job := c.awaitState("job", kubeflowv1.JobBlocked)
	require.Equal(t, v1beta1.ReasonNameConflict, job.Status.Conditions[len(job.Status.Conditions)-1].Reason)
}

// So many need longer variables than Linux has, long before the 20,000 replicas that a GenericJob may have.
func TestATFJobOfTooManyReplicasFailsAndSaysWhy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	of := func(replicas string) string {
		return "{replicas: " + replicas + ", template: {spec: {containers: [{name: tensorflow, image: busybox}]}}}"
	}
	job := &kubeflowv1.TFJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: c.ns}}
	require.NoError(t, yaml.UnmarshalStrict([]byte("{tfReplicaSpecs: {Chief: "+of("1")+", PS: "+of("10000")+", Worker: "+of("10000")+"}}"), &job.Spec))
	require.NoError(t, c.Create(c.ctx, job))
	var last kubeflowv1.JobCondition
	c.until("it fails", func() bool {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		if n := len(job.Status.Conditions); n > 0 {
			last = job.Status.Conditions[n-1]
		}
		return last.Type == kubeflowv1.JobFailed
	})
	require.Contains(t, last.Message, "spec.tfReplicaSpecs: TF_CONFIG for these 20001 replicas is ")
	require.Contains(t, last.Message, "use fewer replicas")
	require.True(t, apierrors.IsNotFound(c.Get(c.ctx, client.ObjectKeyFromObject(job), &v1beta1.GenericJob{})))
}

func TestElasticPolicyMakesAnAutoscaler(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.pytorch("job", "pytorchReplicaSpecs: {Worker: {replicas: 2, "+pytorchPod+"}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}, {type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 80}}}]}")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	key := client.ObjectKey{Namespace: c.ns, Name: "job"}
	c.until("an autoscaler", func() bool { return c.Get(c.ctx, key, hpa) == nil })
	require.Equal(t, "PyTorchJob", hpa.Spec.ScaleTargetRef.Kind)
	require.Len(t, hpa.Spec.Metrics, 2)
	c.editTheirs("job", func(j *kubeflowv1.PyTorchJob) { j.Spec.ElasticPolicy.Metrics = j.Spec.ElasticPolicy.Metrics[:1] })
	c.until("a metric that is removed goes", func() bool { return c.Get(c.ctx, key, hpa) == nil && len(hpa.Spec.Metrics) == 1 })
	c.awaitState("job", kubeflowv1.JobRunning)
	c.editTheirs("job", func(j *kubeflowv1.PyTorchJob) { n := int32(3); j.Spec.PyTorchReplicaSpecs["Worker"].Replicas = &n })
	c.until("three run", func() bool { return c.theirs("job").Status.ReplicaStatuses["Worker"].Active == 3 })
	on := true
	c.editTheirs("job", func(j *kubeflowv1.PyTorchJob) { j.Spec.RunPolicy.Suspend = &on })
	c.until("no autoscaler", func() bool { return apierrors.IsNotFound(c.Get(c.ctx, key, hpa)) })
}
