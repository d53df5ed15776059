package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
)

// heavy is a job whose template holds so many bytes.
func heavy(name string, bytes int) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name}}
	c := corev1.Container{Name: "main", Image: "busybox"}
	for i := range 10 {
		c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("DATA%d", i), Value: strings.Repeat("x", bytes/10)})
	}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{
		Type: "worker", Replicas: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{c}}},
	}}
	return job
}

func TestATemplateOfAMegabyteRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := heavy("heavy", 1_000_000)
	job.Namespace = c.ns
	require.NoError(t, c.Create(c.ctx, job))
	c.finish(job, "worker-0", 0)
	c.finish(job, "worker-1", 0)
	c.awaitPhase("heavy", v1beta1.JobSucceeded)
}

// TestAPodThatEtcdRefusesForItsSizeFailsTheJob: the template fits into the job, but its variables grow in the pod.
func TestAPodThatEtcdRefusesForItsSizeFailsTheJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := heavy("whale", 400_000)
	job.Namespace = c.ns
	job.Spec.Service = &v1beta1.ServiceOption{}
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{strings.Repeat("$(service.worker[1].host)", 25_000)}
	job.Name = strings.Repeat("w", 54)
	require.NoError(t, c.Create(c.ctx, job))
	job, told := c.awaitCondition(job.Name, v1beta1.ConditionFailed, v1beta1.ReasonInvalidSpec)
	require.Contains(t, told.Message, "larger than the cluster stores")
	require.Contains(t, told.Message, "make the template smaller")
	c.awaitEvent(job, "Warning InvalidSpec", "larger than the cluster stores")
	require.Less(t, len(n.seen("POST", "/namespaces/"+c.ns+"/pods")), few)
	n.forget()
	c.finishes("healthy")
	for _, call := range n.seen("POST", "/pods") {
		require.NotContains(t, call.body, job.Name+"-", "it is not asked for any more")
	}
}

func TestAJobThatLeavesNoRoomForItsStatusIsToldOf(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	low, high := 1_400_000, 1_600_000 // bytes that the apiserver takes, and that it does not
	for high-low > 300 {
		job := heavy("full", (low+high)/2)
		job.Namespace = c.ns
		if err := c.Create(c.ctx, job); err == nil {
			low = (low + high) / 2
			require.NoError(t, c.Delete(c.ctx, job))
		} else {
			require.Regexp(t, "too large|larger", err.Error())
			high = (low + high) / 2
		}
		c.until("it is gone", func() bool {
			return c.gone(&v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "full", Namespace: c.ns}})
		})
	}
	job := heavy("full", low)
	job.Namespace = c.ns
	require.NoError(t, c.Create(c.ctx, job))
	c.awaitEvent(job, "Warning StatusTooLarge", "Make the spec smaller")
	c.finishes("healthy")
	require.Empty(t, c.pods(job), "what is not written down is not done")
}

func TestTenThousandReplicasAreAnswered(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.be(func(k *kubelet) { k.idle = true })
	stop := c.operate(operation{})
	spec := func(types ...string) string {
		text := "runMode: {pause: {enabled: true}}\nreplicaSpecs:\n"
		for _, name := range types {
			text += "- {type: " + name + ", replicas: 10000, restartPolicy: {policy: OnFailure, limit: 1000000}, template: POD}\n"
		}
		return text
	}
	c.submit("two", spec("a", "b"))
	job := c.awaitPhase("two", v1beta1.JobPaused)
	require.Equal(t, "0/20000", job.Status.Running)
	c.submit("one", spec("a"))
	c.awaitPhase("one", v1beta1.JobPaused)
	stop()

	// The accounts after every replica was replaced in its own way are the largest status that there is.
	job = c.job("one")
	l := v1beta1.TaskLedger{Type: "a"}
	for rank := range int32(10000) {
		later := metav1.NewTime(time.Now().Add(time.Hour + time.Duration(rank%7)*time.Minute))
		l.Replicas = append(l.Replicas, v1beta1.RankRecord{Rank: rank, Attempt: 1 + rank%9, Restarts: 1 + rank%9, Streak: 2, NotBefore: &later})
	}
	job.Spec.RunMode = nil
	require.NoError(t, c.Update(c.ctx, job))
	job.Status.Ledger = []v1beta1.TaskLedger{l}
	require.NoError(t, c.Status().Update(c.ctx, job), "a status of that size can be stored")
	raw, err := json.Marshal(c.job("one"))
	require.NoError(t, err)
	t.Logf("a job with the largest ledger, with managed fields: %d bytes", len(raw))
	require.Less(t, len(raw), 1_200_000)

	c.operate(operation{})
	job = c.await("one", func(j *v1beta1.GenericJob) bool {
		return j.Status.Mode == "Immediate" && j.Status.ObservedGeneration == j.Generation
	})
	require.EqualValues(t, 10000, job.Status.Aggregate.Creating)
	require.Len(t, job.Status.Ledger[0].Replicas, 10000)
}

func TestNamesAtTheLimit(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	long := strings.Repeat("j", 54) // and "-worker-0" is 9
	c.submit(long, "service: {}\nreplicaSpecs: [{type: worker, replicas: 10, template: POD}]")
	c.awaitPhase(long, v1beta1.JobRunning)
	for name, spec := range map[string]string{
		long + "j": "replicaSpecs: [{type: worker, replicas: 10, template: POD}]",
		long + "k": "replicaSpecs: [{type: worker, template: POD}]",
		"short":    "replicaSpecs: [{type: " + strings.Repeat("t", 60) + ", template: POD}]",
		long[1:]:   "replicaSpecs: [{type: worker, replicas: 101, template: POD}]",
	} {
		_, err := c.try(name, spec)
		require.ErrorContains(t, err, "must fit in 63 characters", name)
		require.ErrorContains(t, err, "spec.replicaSpecs", name)
	}
}

// TestAnUpdateOfALargeGenericJobKeepsWhatOthersHavePutOnIt: the cache holds it as text, and writes it as a whole.
func TestAnUpdateOfALargeGenericJobKeepsWhatOthersHavePutOnIt(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	data := strings.Repeat("<", 100_000)
	training := c.train("large", strings.ReplaceAll(chiefAndTwo, "POD",
		"{spec: {containers: [{name: tensorflow, image: busybox, env: [{name: DATA, value: '"+data+"'}]}]}}"))
	job := c.awaitGenericJob(training)
	patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata": {"labels": {"theirs": "1"}, "annotations": {"theirs": "2"}}}`))
	require.NoError(t, c.Patch(c.ctx, job, patch))
	c.awaitTraining("large", v1beta1.JobRunning)
	c.editTraining("large", func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	job = c.awaitPhase("large", v1beta1.JobPaused)
	require.Equal(t, "1", job.Labels["theirs"])
	require.Equal(t, "2", job.Annotations["theirs"])
	require.Equal(t, "2", job.Annotations[v1beta1.AnnotationCompiledGeneration])
	env := job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env
	require.Contains(t, env, corev1.EnvVar{Name: "DATA", Value: data})
	c.awaitTraining("large", v1beta1.JobPaused)
}

// TestWhatTheApiserverSaysOfATensorBoardIsCut: it quotes what it refuses, and a status has to be stored.
func TestWhatTheApiserverSaysOfATensorBoardIsCut(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	name := "x/" + strings.Repeat("n", 20_000)
	c.train("wordy", chiefAndTwo+"\ntensorboardSpec: {trainingLogFilesets: [t9k://pvc/data/runs], resources: {limits: {? "+name+" : 1}}}")
	state, _, _ := c.lookAtBoard("wordy")
	require.Equal(t, v1beta1.ReasonCreateInvalid, state.Reason)
	require.Contains(t, state.Note, "nnnnnnnnnn")
	require.LessOrEqual(t, len(state.Note), text.Max)
}

// TestPodsOfAJobOfAMegabyteAreCreatedOneByOne: fifty of them at once would be half a gigabyte. The second call is held. Without the limit
// the third would begin with it, and a whole job's life gives the third more time than it needs.
func TestPodsOfAJobOfAMegabyteAreCreatedOneByOne(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	var calls atomic.Int32
	held, release := make(chan struct{}), make(chan struct{})
	n.breakWhere(func(call call) bool {
		if call.verb == http.MethodPost && strings.HasSuffix(call.path, "/pods") && strings.Contains(call.body, "heavy-") && calls.Add(1) == 2 {
			close(held)
			<-release
		}
		return false
	})
	c.operate(operation{network: n})
	job := heavy("heavy", 900_000)
	job.Namespace = c.ns
	job.Spec.ReplicaSpecs[0].Replicas = ptr.To[int32](6)
	require.NoError(t, c.Create(c.ctx, job))
	<-held
	c.finishes("healthy")
	require.EqualValues(t, 2, calls.Load(), "the third call waits for the second")
	close(release)
	c.until("six pods", func() bool { return len(c.pods(job)) == 6 })
}
