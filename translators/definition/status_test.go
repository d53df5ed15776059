package definition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

func TestTheStatusIsThatOfATrainingJobByDefault(t *testing.T) {
	d, err := defined(t, `genericJob: {replicaSpecs: []}`)
	require.NoError(t, err)
	r, job := d.Registration(), &definition.Job{}
	require.Empty(t, r.Phase(job))
	require.Nil(t, r.CompletionTime(job))

	ended := metav1.NewTime(time.Unix(1000, 0))
	state := v1beta1.GenericJobStatus{Phase: v1beta1.JobSucceeded, Running: "1 left", CompletionTime: &ended}
	require.NoError(t, r.Mirror(job, state))
	require.Equal(t, v1beta1.JobSucceeded, r.Phase(job))
	require.True(t, ended.Equal(r.CompletionTime(job)))
	require.Contains(t, string(job.Status.Raw), `"running":"1 left"`)
}

// A status that is equal but written in another order is no news.
func TestAnEqualStatusStaysAsItIs(t *testing.T) {
	d, err := defined(t, `genericJob: {replicaSpecs: []}`)
	require.NoError(t, err)
	job := &definition.Job{}
	job.Status.Raw = []byte(`{"phase": "Running","backoffCount":0,"disruptionCount":0, "aggregate": {"creating":0,"pending":0,"running":0,"succeeded":0,"failed":0,"unknown":0,"deleted":0}}`)
	before := string(job.Status.Raw)
	require.NoError(t, d.Registration().Mirror(job, v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning}))
	require.Equal(t, before, string(job.Status.Raw))
}

func TestAStatusOfItsOwnShape(t *testing.T) {
	d, err := defined(t, `
genericJob: {replicaSpecs: []}
status:
  state: "${observed.phase == 'Succeeded' ? 'done' : observed.phase == 'Failed' ? 'broken' : 'busy'}"
  conditions: ${observed.?conditions}
phase: "!has(shown.state) ? '' : shown.state == 'done' ? 'Succeeded' : shown.state == 'broken' ? 'Failed' : 'Running'"
`)
	require.NoError(t, err)
	r, job := d.Registration(), &definition.Job{}
	require.Empty(t, r.Phase(job))
	at := metav1.NewTime(time.Unix(1000, 0))
	is := v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, Conditions: []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: "True", LastTransitionTime: at}}}
	require.NoError(t, r.Mirror(job, is))
	require.Equal(t, v1beta1.JobRunning, r.Phase(job))
	require.Contains(t, string(job.Status.Raw), `"state":"busy"`)

	is.Conditions[0].LastTransitionTime = metav1.Time{} // as a reconcile writes it that does not know since when
	before := string(job.Status.Raw)
	is.LastUpdateTime = &metav1.MicroTime{Time: time.Unix(2000, 0)}
	require.NoError(t, r.Mirror(job, is))
	require.Equal(t, before, string(job.Status.Raw), "the date is that of the condition which stands there")
	is.Phase = v1beta1.JobFailed
	require.NoError(t, r.Mirror(job, is))
	require.Equal(t, v1beta1.JobFailed, r.Phase(job))
}

// TestAStatusThatIsTooDearSaysSo: a definition is tried with few rows, and a job may have thousands.
func TestAStatusThatIsTooDearSaysSo(t *testing.T) {
	d, err := defined(t, `
genericJob: {replicaSpecs: []}
status:
  state: ${observed.phase}
  alike: "${!has(observed.tasks) || !has(observed.tasks[0].replicas) || observed.tasks[0].replicas.all(a, observed.tasks[0].replicas.exists(b, a.name == b.name))}"
phase: shown.?state.orValue('')
`)
	require.NoError(t, err)
	r, job := d.Registration(), &definition.Job{}
	is := v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, Tasks: []v1beta1.TaskStatus{{Type: "worker"}}}
	require.NoError(t, r.Mirror(job, is))
	for i := range 1000 {
		is.Tasks[0].Replicas = append(is.Tasks[0].Replicas, v1beta1.ReplicaStatus{Name: fmt.Sprintf("job-worker-%d", i)})
	}
	is.Phase = v1beta1.JobSucceeded
	require.ErrorContains(t, r.Mirror(job, is), "spec.status.alike: the expression costs more than 1000000 for this job")
	require.Equal(t, v1beta1.JobRunning, r.Phase(job))
}
