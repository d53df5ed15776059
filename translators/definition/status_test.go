package definition_test

import (
	"fmt"
	"strings"
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

// TestAStatusIsTriedInEveryState: what may be missing, at whatever depth, is missing in some job.
func TestAStatusIsTriedInEveryState(t *testing.T) {
	for status, want := range map[string]string{
		`{first: "${observed.conditions[0].type}"}`: "for a job that is Pending, and has no more to tell: spec.status.first: ",
		`{count: "${has(observed.tasks) ? observed.tasks[0].replicas.size() : 0}"}`: "for a job that is Pending, and so large that its tasks have no replicas: spec.status.count: no such key: replicas. " +
			"Ask whether there is what may be missing, as in observed.?tasks[?0].?replicas.orValue([])",
		`{end: "${has(observed.startTime) ? string(observed.completionTime) : ''}"}`:                                    "for a job that is Pending, and has no more to tell than startTime: spec.status.end: no such key: completionTime",
		`{first: "${has(observed.conditions) ? observed.tasks[0].type : ''}"}`:                                          "for a job that is Pending, and has no tasks: spec.status.first: no such key: tasks",
		`{code: "${has(observed.firstFailure) ? observed.firstFailure.exitCode : 0}"}`:                                  "for a job that is Pending, and has no firstFailure.exitCode: spec.status.code: no such key: exitCode",
		`{code: "${observed.phase == 'Failed' && has(observed.firstFailure) ? observed.firstFailure.exitCode : 0}"}`:    "for a job that is Failed, and has no firstFailure.exitCode: spec.status.code: no such key: exitCode",
		`{why: "${observed.?tasks[?0].?replicas[?0].?containers.orValue([]).map(c, c.exitCode)}"}`:                      "for a job that is Pending, and has no tasks[0].replicas[0].containers[0].exitCode: spec.status.why: no such key: exitCode",
		`{lost: "${has(observed.time) ? observed.time.lost.node : 0}"}`:                                                 "for a job that is Pending, and has no time.lost: spec.status.lost: no such key: node",
		`{by: "${has(observed.firstFailure) && has(observed.firstFailure.probable) ? observed.firstFailure.why : ''}"}`: "for a job that is Pending, and has no firstFailure.why: spec.status.by: no such key: why",

		`{count: "${observed.?tasks[?0].?replicas.orValue([]).size()}", s: "${has(observed.startTime)}"}`:                                        "",
		`{code: "${observed.?firstFailure.?exitCode}", codes: "${observed.?firstFailure.?cause.?codes}", lost: "${observed.?time.?lost.?node}"}`: "",
	} {
		err := checked(t, `{genericJob: {replicaSpecs: [{`+podOfJob+`}]}, phase: "shown.?state.orValue('')", status: {state: "${observed.phase}", `+strings.TrimPrefix(status, "{")+`}`)
		if want == "" {
			require.NoError(t, err, status)
			continue
		}
		require.ErrorContains(t, err, "spec.status: "+want, status)
	}
	require.ErrorContains(t, checked(t, `{genericJob: {replicaSpecs: [{`+podOfJob+`}]}, status: {state: "${observed.phase}"}, phase: "'Running'"}`),
		`spec.phase: reads "Running" from the status {"state":"Succeeded"} of a job that is Succeeded`)
}

// TestARevisionThatWasAcceptedGoesOn: an earlier operator tried its status in fewer states.
func TestARevisionThatWasAcceptedGoesOn(t *testing.T) {
	d, err := defined(t, `{genericJob: {}, status: {state: "${observed.phase}", code: "${has(observed.firstFailure) ? observed.firstFailure.exitCode : 0}"}, phase: shown.state}`)
	require.NoError(t, err)
	r, job := d.Registration(), &definition.Job{}
	require.NoError(t, r.Mirror(job, v1beta1.GenericJobStatus{Phase: v1beta1.JobSucceeded}))
	require.Equal(t, v1beta1.JobSucceeded, r.Phase(job))
}
