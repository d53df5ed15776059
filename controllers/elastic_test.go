package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/pytorch"
)

// elastic runs an elastic job with a master and workers, 1 to 3.
func (c *cluster) elastic(name string) (*v1beta1.PyTorchTrainingJob, *v1beta1.GenericJob) {
	c.t.Helper()
	template := onePodTemplate("python")
	template.Spec.Containers[0].Args = []string{"train.py"}
	job := &v1beta1.PyTorchTrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name},
		Spec: v1beta1.PyTorchTrainingJobSpec{
			RunPolicy:      &v1beta1.RunPolicy{CleanUpPolicy: v1beta1.CleanUpNone},
			TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true},
			Elastic: &v1beta1.ElasticConfig{
				Enabled: true, MinReplicas: ptr.To[int32](2), MaxReplicas: ptr.To[int32](4), ExpectedReplicas: ptr.To[int32](2),
			},
			ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{
				{Type: "master", Template: template}, {Type: "worker", ScalingWeight: ptr.To[int32](10), Template: template},
			},
		},
	}
	require.NoError(c.t, c.Create(c.ctx, job))
	gj := c.awaitGenericJob(job)
	c.awaitTorch(job, "2/2")
	return job, gj
}

// awaitTorch waits until so many replicas of a job run, as in "2/2". The job is read anew.
func (c *cluster) awaitTorch(job *v1beta1.PyTorchTrainingJob, running string) {
	c.t.Helper()
	c.until(running+" run", func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		return job.Status.Running == running && job.Status.Phase == v1beta1.JobRunning
	})
}

// scale asks for a number of replicas as `kubectl scale` and a HorizontalPodAutoscaler do, again and again while the operator writes.
func (c *cluster) scale(job *v1beta1.PyTorchTrainingJob, replicas int32) error {
	c.t.Helper()
	for {
		scale := &autoscalingv1.Scale{}
		require.NoError(c.t, c.SubResource("scale").Get(c.ctx, job, scale))
		scale.Spec.Replicas = replicas
		if err := c.SubResource("scale").Update(c.ctx, job, client.WithSubResourceBody(scale)); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func TestScalingAnElasticJobTouchesNoPodThatStays(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job, gj := c.elastic("elastic")
	uids := func() map[string]types.UID {
		out := map[string]types.UID{}
		for name, pod := range c.trainers(gj) {
			out[name] = pod.UID
		}
		return out
	}
	before := uids()
	require.NoError(t, c.scale(job, 4))
	c.awaitTorch(job, "4/4")
	after := uids()
	require.Len(t, after, 4)
	for name, uid := range before {
		require.Equal(t, uid, after[name], name)
	}
	scale := &autoscalingv1.Scale{}
	require.NoError(t, c.SubResource("scale").Get(c.ctx, job, scale))
	require.EqualValues(t, 4, scale.Status.Replicas)
	selector, err := labels.Parse(scale.Status.Selector)
	require.NoError(t, err)
	_, err = metav1.ParseToLabelSelector(scale.Status.Selector)
	require.NoError(t, err, "which kubectl and autoscalers do")
	for name, pod := range c.pods(gj) {
		require.Equal(t, name != store, selector.Matches(labels.Set(pod.Labels)), name)
	}
	require.NoError(t, c.scale(job, 2))
	c.until("two pods", func() bool { return len(c.trainers(gj)) == 2 })
	require.Equal(t, before, uids())
	require.Zero(t, c.job("elastic").Status.BackoffCount)

	err = c.scale(job, 5)
	require.True(t, apierrors.IsInvalid(err), "%v", err)
	require.ErrorContains(t, err, "expectedReplicas must be from minReplicas to maxReplicas")
	require.ErrorContains(t, c.scale(job, 1), "expectedReplicas must be from")
	c.finish(gj, "master-0", 0)
	c.until("it succeeds", func() bool {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		return job.Status.Phase == v1beta1.JobSucceeded
	})
}

// store is the replica that serves the rendezvous.
const store = pytorch.RendezvousType + "-0"

// trainers are a job's pods, but for the store of the rendezvous.
func (c *cluster) trainers(job *v1beta1.GenericJob) map[string]corev1.Pod {
	c.t.Helper()
	pods := c.pods(job)
	delete(pods, store)
	return pods
}

func TestTheStoreOfAnElasticJobIsLostAndReplacedAndNobodyElse(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job, gj := c.elastic("lost")
	before, first := c.trainers(gj), c.pods(gj)[store]
	require.NotEmpty(t, first.UID)
	c.finish(gj, store, 1)
	c.until("another store", func() bool {
		p := c.pods(gj)[store]
		return p.UID != "" && p.UID != first.UID && p.Status.Phase == corev1.PodRunning
	})
	for name, pod := range c.trainers(gj) {
		require.Equal(t, before[name].UID, pod.UID)
	}
	c.finish(gj, "worker-0", 0)
	c.until("who is first to be done is the job", func() bool {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		return job.Status.Phase == v1beta1.JobSucceeded
	})
	require.Zero(t, job.Status.BackoffCount)
	for _, task := range job.Status.Tasks {
		require.NotEqual(t, pytorch.RendezvousType, task.Type)
	}
	require.NotEmpty(t, c.trainers(gj), "cleanUpPolicy None leaves them")
	require.Nil(t, c.pods(gj)[store].DeletionTimestamp, "they would wait for it for ever")
	for name, pod := range c.trainers(gj) {
		if pod.Status.Phase == corev1.PodRunning {
			c.finish(gj, name, 0)
		}
	}
	c.until("the store is gone", func() bool { return c.pods(gj)[store].UID == "" })
}

func TestScaleIsThereForElasticJobsAndForNoOthers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	template := onePodTemplate("python")
	template.Spec.Containers[0].Args = []string{"train.py"}
	job := &v1beta1.PyTorchTrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "left-out"},
		Spec: v1beta1.PyTorchTrainingJobSpec{
			TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true},
			Elastic:        &v1beta1.ElasticConfig{Enabled: true, MinReplicas: ptr.To[int32](2), MaxReplicas: ptr.To[int32](4)},
			ReplicaSpecs:   []v1beta1.PyTorchReplicaSpec{{Type: "node", Template: template}},
		},
	}
	require.NoError(t, c.Create(c.ctx, job))
	scale := &autoscalingv1.Scale{}
	c.until("the scale can be read", func() bool { return c.SubResource("scale").Get(c.ctx, job, scale) == nil })
	require.EqualValues(t, 2, scale.Spec.Replicas)
	require.NoError(t, c.scale(job, 3))

	fixed := &v1beta1.PyTorchTrainingJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "fixed"},
		Spec:       v1beta1.PyTorchTrainingJobSpec{ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{{Type: "node", Template: onePodTemplate("python")}}},
	}
	require.NoError(t, c.Create(c.ctx, fixed))
	three := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":3}}`))
	err := c.SubResource("scale").Patch(c.ctx, fixed, three)
	require.ErrorContains(t, err, "the job is not elastic, so it cannot be scaled: set spec.replicaSpecs[].replicas in a pause")
}

func onePodTemplate(container string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "busybox"}}}}
}
