package controllers_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
)

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
	require.Equal(t, map[string]string{"theirs": "2", v1beta1.AnnotationCompiledGeneration: "2"}, job.Annotations)
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

// TestPodsOfAJobOfAMegabyteAreCreatedOneByOne: fifty of them at once would be half a gigabyte. The second call is held: without the limit
// the third would begin with it, and a whole job's life is more than it needs to arrive.
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
