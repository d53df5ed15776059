package verbs_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What the page says comes from the job, its pods, the events about it, and the log of the replica that tells its steps.
func TestReport(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.create("gj", "trains", `{progress: {stdout: "step (?P<step>[0-9]+) loss (?P<loss>[.0-9]+)"}, replicaSpecs: [{type: worker, replicas: 2, template: T}]}`).(*v1beta1.GenericJob)
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobRunning
		job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: "trains-worker-1", Message: "<b>loss is nan"}}
	})
	first, second := s.pod(job, 0, k.node, running()), s.pod(job, 1, k.node, running())
	k.says(first.Name, "tensorflow", "step 1 loss 9.5", "step 2 loss 8.25")
	k.says(second.Name, "tensorflow", "step 3 loss 7")
	s.event(job.UID, "Restarted", "it is replaced")

	page := s.sees("report", "trains")
	require.Contains(t, page, "<!doctype html>")
	require.Contains(t, page, "<h1>GenericJob/trains</h1>")
	require.Contains(t, page, "&lt;b&gt;loss is nan")
	require.Contains(t, page, "it is replaced")
	require.Contains(t, page, "From the log of worker-0, in which 2 lines tell progress.")
	require.Contains(t, page, "Loss by step")
	page = s.sees("report", "gj/trains", "-o", "html", "--logs=false")
	require.NotContains(t, page, "Loss by step")
	require.Contains(t, page, "There is no curve")
}

func TestThePageOfAGenericJobHasTheEventsOfItsTrainingJob(t *testing.T) {
	s := newSpace(t)
	s.compiled("lonely", &unreadable)
	s.event(unreadable.UID, "Restarted", "it is replaced")
	require.Contains(t, s.sees("report", "lonely"), "it is replaced")
}

func TestThePageOfASweepHasItsLabels(t *testing.T) {
	s := newSpace(t)
	for name, rate := range map[string]string{"slow": "0.1", "fast": "0.5"} {
		job := s.create("gj", name, specs["gj"])
		job.SetLabels(map[string]string{"sweep": "rates", "rate": rate})
		require.NoError(t, s.Update(t.Context(), job))
	}
	s.create("gj", "other", specs["gj"])
	page := s.sees("list", "-l", "sweep=rates", "-o", "html")
	require.Contains(t, page, ", sweep=rates</p>")
	require.Contains(t, page, "<td>gj/fast</td><td>0.5</td>")
	require.Contains(t, page, "<td>gj/slow</td><td>0.1</td>")
	require.NotContains(t, page, "gj/other")
}
