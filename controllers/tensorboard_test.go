package controllers_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

const (
	withBoard = chiefAndTwo + "\ntensorboardSpec: {trainingLogFilesets: [t9k://pvc/data/runs]}"
	// withLogsEverywhere has all that the apiserver could add defaults to.
	withLogsEverywhere = `
replicaSpecs:
  - type: chief
    template:
      spec:
        securityContext: {runAsUser: 1000, fsGroup: 2000}
        imagePullSecrets: [{name: registry}]
        containers: [{name: tensorflow, image: busybox, securityContext: {runAsGroup: 3000}}]
tensorboardSpec:
  trainingLogFilesets: [t9k://pvc/data/runs, t9k://minio/store/bucket]
  logDir:
    pvc: [{name: other}]
    s3: {secretRef: {name: aws}, uri: ["s3://logs/x"]}
    http: {url: ["https://host/events.out.tfevents.1"]}
  resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {cpu: "2"}}`
)

// board is the TensorBoard of a job as the apiserver has it; what does not exist is nil.
func (c *cluster) board(job client.Object) (d *appsv1.Deployment, s *corev1.Service) {
	c.t.Helper()
	d, s = &appsv1.Deployment{}, &corev1.Service{}
	key := client.ObjectKey{Namespace: c.ns, Name: tensorboard.Name(job)}
	if err := c.Get(c.ctx, key, d); apierrors.IsNotFound(err) {
		d = nil
	} else {
		require.NoError(c.t, err)
	}
	if err := c.Get(c.ctx, key, s); apierrors.IsNotFound(err) {
		s = nil
	} else {
		require.NoError(c.t, err)
	}
	return d, s
}

// lookAtBoard makes one reconcile over a training job, and returns the state of its TensorBoard, and what was written elsewhere than
// to its status.
func (c *cluster) lookAtBoard(name string) (*v1beta1.DependentStatus, []call, ctrl.Result) {
	c.t.Helper()
	calls, result := c.reconcileOver(c.training(name))
	var writes []call
	for _, call := range calls {
		if !strings.HasSuffix(call.path, "/status") {
			writes = append(writes, call)
		}
	}
	return c.training(name).Status.TensorBoard, writes, result
}

// serve plays the Deployment controller: n pods are available. It tries again and again until no write of the operator's comes between.
func (c *cluster) serve(job client.Object, n int32) {
	c.t.Helper()
	c.until("the Deployment's status is written", func() bool {
		d, _ := c.board(job)
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		return c.Status().Update(c.ctx, d) == nil
	})
}

func (c *cluster) editBoard(name, spec string) {
	c.t.Helper()
	c.editTraining(name, func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.TensorBoardSpec = nil
		if spec != "" {
			j.Spec.TensorBoardSpec = &v1beta1.TensorBoardSpec{}
			require.NoError(c.t, yaml.UnmarshalStrict([]byte(spec), j.Spec.TensorBoardSpec))
		}
	})
}

func TestTensorBoardThatIsQuietCostsNothing(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]string{"one": withBoard, "everything": withLogsEverywhere} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			job := c.train("quiet", spec)
			state, _, result := c.lookAtBoard("quiet")
			require.Equal(t, []string{"Create", tensorboard.ReasonNotReady}, []string{state.Action, state.Reason})
			require.Equal(t, 15*time.Second, result.RequeueAfter)
			d, s := c.board(job)
			require.True(t, metav1.IsControlledBy(d, job))
			require.True(t, metav1.IsControlledBy(s, job))
			require.Equal(t, d.UID, state.Dependent.UID)

			state, writes, _ := c.lookAtBoard("quiet")
			require.Empty(t, writes)
			require.Equal(t, "NOP", state.Action)
			calls, result := c.reconcileOver(c.training("quiet"))
			require.Empty(t, calls)
			require.Equal(t, 15*time.Second, result.RequeueAfter, "its pod is not watched")

			c.serve(job, 1)
			state, writes, result = c.lookAtBoard("quiet")
			require.Empty(t, writes)
			require.Zero(t, result.RequeueAfter)
			require.True(t, state.Ready)
			require.Contains(t, state.Note, "kubectl port-forward -n "+c.ns+" service/"+d.Name+" 6006:80")
			calls, _ = c.reconcileOver(c.training("quiet"))
			require.Empty(t, calls)

			c.serve(job, 0)
			d, _ = c.board(job)
			state, writes, result = c.lookAtBoard("quiet")
			require.Empty(t, writes)
			require.NotZero(t, result.RequeueAfter)
			require.False(t, state.Ready)
			after, _ := c.board(job)
			require.Equal(t, d.ResourceVersion, after.ResourceVersion)
		})
	}
}

// What waits for a volume that nobody makes was looked at four times a minute, for as long as the job was there.
func TestTensorBoardThatDoesNotWorkIsNotLookedAtForEver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("stuck", withBoard)
	_, _, result := c.lookAtBoard("stuck")
	require.Equal(t, 15*time.Second, result.RequeueAfter)
	d, _ := c.board(job)
	c.ahead = d.CreationTimestamp.Add(5 * time.Minute).Sub(c.began)
	_, _, result = c.lookAtBoard("stuck")
	require.Equal(t, 5*time.Minute, result.RequeueAfter, "ever less often")
	c.ahead += 6 * time.Minute
	state, _, result := c.lookAtBoard("stuck")
	require.Zero(t, result.RequeueAfter)
	require.Equal(t, tensorboard.ReasonNotReady, state.Reason)
	d, _ = c.board(job)
	d.Status.Conditions = []appsv1.DeploymentCondition{{
		Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, LastUpdateTime: metav1.NewTime(c.began.Add(c.ahead)),
	}}
	require.NoError(t, c.Status().Update(c.ctx, d))
	_, _, result = c.lookAtBoard("stuck")
	require.NotZero(t, result.RequeueAfter, "what has changed is looked at again")
}

// On a cluster of IPv6 alone nobody reached it.
func TestTensorBoardListensOnTheAddressesOfItsService(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("six", withBoard)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: c.ns, Name: tensorboard.Name(job), Labels: map[string]string{v1beta1.LabelJobUID: string(job.UID)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob))},
	}}
	service.Spec.IPFamilies, service.Spec.Ports = []corev1.IPFamily{corev1.IPv6Protocol}, []corev1.ServicePort{{Port: 80}}
	require.NoError(t, c.Create(c.ctx, service))
	c.train("four", withBoard)
	for name, want := range map[string]string{"six": "::", "four": "0.0.0.0"} {
		c.lookAtBoard(name)
		d, _ := c.board(c.training(name))
		require.Equal(t, []string{"--host", want}, d.Spec.Template.Spec.Containers[0].Args[:2])
		_, writes, _ := c.lookAtBoard(name)
		require.Empty(t, writes)
	}
	c.declareOver("six")
	require.NoError(t, c.Delete(c.ctx, service))
	before, _ := c.board(job)
	c.lookAtBoard("six")
	after, _ := c.board(job)
	require.Equal(t, before.Spec, after.Spec, "without its Service it listens where it did")
}

func TestTensorBoardSaysWhatItsPodWaitsFor(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.be(func(k *kubelet) { k.idle = true })
	job := c.train("waits", withBoard)
	c.lookAtBoard("waits")
	d, _ := c.board(job)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "its-pod", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
	require.NoError(t, c.Create(c.ctx, pod))
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable",
		Message: `0/1 nodes are available: persistentvolumeclaim "data" not found.`}}
	require.NoError(t, c.Status().Update(c.ctx, pod))
	state, _, result := c.lookAtBoard("waits")
	require.Equal(t, 15*time.Second, result.RequeueAfter)
	require.Equal(t, []string{"Warning", tensorboard.ReasonUnreadable}, []string{state.Type, state.Reason})
	require.Contains(t, state.Note, `persistentvolumeclaim "data" not found`)
	calls, _ := c.reconcileOver(c.training("waits"))
	require.Empty(t, calls)
}

func TestTensorBoardFollowsEdits(t *testing.T) {
	t.Parallel()
	for name, finished := range map[string]bool{"while the job runs": false, "after its end": true} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			job := c.train("edit", withBoard)
			c.lookAtBoard("edit")
			if finished {
				c.declareOver("edit")
			}
			c.editBoard("edit", "{trainingLogFilesets: [t9k://pvc/data/runs, t9k://pvc/data/more], image: other:1, resources: {limits: {cpu: 1}}}")
			state, _, _ := c.lookAtBoard("edit")
			require.Equal(t, "Update", state.Action)
			d, _ := c.board(job)
			container := d.Spec.Template.Spec.Containers[0]
			require.Equal(t, "other:1", container.Image)
			require.Contains(t, container.Args[len(container.Args)-1], "data/more:/logs/pvc/data/more")
			require.NotEmpty(t, container.Resources.Limits)

			c.editBoard("edit", "{trainingLogFilesets: [t9k://pvc/data/runs], suspend: true}")
			state, _, result := c.lookAtBoard("edit")
			require.Equal(t, tensorboard.ReasonSuspended, state.Reason)
			require.Zero(t, result.RequeueAfter)
			d, s := c.board(job)
			require.Zero(t, *d.Spec.Replicas)
			require.Empty(t, d.Spec.Template.Spec.Containers[0].Resources.Limits)
			require.NotNil(t, s)

			c.editBoard("edit", "{trainingLogFilesets: [t9k://pvc/data/runs]}")
			c.lookAtBoard("edit")
			d, _ = c.board(job)
			require.EqualValues(t, 1, *d.Spec.Replicas)

			c.editBoard("edit", "{trainingLogFilesets: ['gs://data/runs']}")
			state, writes, _ := c.lookAtBoard("edit")
			require.Empty(t, writes, "what is there stays as it is")
			require.Equal(t, []string{"Warning", tensorboard.ReasonUnreadable}, []string{state.Type, state.Reason})
			require.Contains(t, state.Note, "spec.tensorboardSpec.trainingLogFilesets[0]")

			c.editBoard("edit", "")
			state, _, _ = c.lookAtBoard("edit")
			require.Nil(t, state)
			d, s = c.board(job)
			require.Nil(t, d)
			require.Nil(t, s)
			calls, _ := c.reconcileOver(c.training("edit"))
			require.Empty(t, calls)
		})
	}
}

func TestTensorBoardOfAnUnreadablePlaceDoesNotStopTheJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("unreadable", chiefAndTwo+"\ntensorboardSpec: {trainingLogFilesets: ['t9k://pvc/data/../other']}")
	c.awaitEvent(job, "Warning "+tensorboard.ReasonUnreadable, "spec.tensorboardSpec.trainingLogFilesets[0]", `".."`)
	c.finish(c.awaitGenericJob(job), "chief-0", 0)
	state := c.awaitTraining("unreadable", v1beta1.JobSucceeded).Status.TensorBoard
	require.False(t, state.Ready)
	require.Equal(t, tensorboard.ReasonUnreadable, state.Reason)
	d, s := c.board(job)
	require.Nil(t, d)
	require.Nil(t, s)
}
