package kubeflow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

var start = metav1.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) metav1.Time {
	return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
}

// tfjob is a TFJob with replicas of these types.
func tfjob(replicas map[string]int32) *kubeflowv1.TFJob {
	job := &kubeflowv1.TFJob{ObjectMeta: metav1.ObjectMeta{Name: "job", CreationTimestamp: start}}
	job.Spec.TFReplicaSpecs = specs(replicas)
	return job
}

func specs(replicas map[string]int32) map[string]*kubeflowv1.ReplicaSpec {
	out := map[string]*kubeflowv1.ReplicaSpec{}
	for name, n := range replicas {
		out[name] = &kubeflowv1.ReplicaSpec{Replicas: ptr.To(n)}
	}
	return out
}

// state builds the status of a GenericJob.
type state func(*v1beta1.GenericJobStatus)

func status(seconds int, edits ...state) v1beta1.GenericJobStatus {
	s := v1beta1.GenericJobStatus{
		Phase: v1beta1.JobPending, StartTime: ptr.To(at(1)), LastUpdateTime: ptr.To(metav1.NewMicroTime(at(seconds).Time)),
	}
	for _, edit := range edits {
		edit(&s)
	}
	return s
}

func task(name string, phases ...v1beta1.ReplicaPhase) state {
	return func(s *v1beta1.GenericJobStatus) {
		t := v1beta1.TaskStatus{Type: name}
		for i, p := range phases {
			t.Replicas = append(t.Replicas, v1beta1.ReplicaStatus{Name: fmt.Sprintf("job-%s-%d", name, i), Phase: p})
		}
		s.Tasks = append(s.Tasks, t)
	}
}

func is(t v1beta1.JobConditionType, value metav1.ConditionStatus, reason, message string, seconds int) state {
	return func(s *v1beta1.GenericJobStatus) {
		s.Conditions = append(s.Conditions, v1beta1.JobCondition{
			Type: t, Status: value, Reason: reason, Message: message, LastTransitionTime: at(seconds),
		})
	}
}

func finished(phase v1beta1.JobPhase, seconds int) state {
	return func(s *v1beta1.GenericJobStatus) { s.Phase, s.CompletionTime = phase, ptr.To(at(seconds)) }
}

const (
	running   = v1beta1.ReplicaRunning
	pending   = v1beta1.ReplicaPending
	succeeded = v1beta1.ReplicaSucceeded
	failed    = v1beta1.ReplicaFailed
	deleted   = v1beta1.ReplicaDeleted
)

// printed are conditions as text, one a line.
func printed(list []kubeflowv1.JobCondition) []string {
	var out []string
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s=%s/%s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

const created = "Created=True/TFJobCreated TFJob job is created."

// The life of a job in Kubeflow's words. Each step starts from what the step before has shown.
func TestConditions(t *testing.T) {
	restarted := func(s *v1beta1.GenericJobStatus) { s.BackoffCount = 1 }
	job := tfjob(map[string]int32{"Worker": 2})
	for _, step := range []struct {
		name  string
		s     v1beta1.GenericJobStatus
		want  []string
		phase v1beta1.JobPhase
	}{
		{"new", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending}, []string{created}, v1beta1.JobPending},
		{"pods wait", status(2, task("worker", pending, pending)), []string{created}, v1beta1.JobPending},
		{
			"refused", status(2, is(v1beta1.ConditionBlocked, "True", "CreateFailed", "quota", 2)),
			[]string{created, "Blocked=True/CreateFailed quota"}, v1beta1.JobPending,
		},
		{
			"one runs", status(3, task("worker", pending, running)),
			[]string{created, "Running=True/TFJobRunning TFJob job is running."}, v1beta1.JobRunning,
		},
		{
			"all lost", status(4, task("worker", pending, pending), restarted, is(v1beta1.ConditionReplicaFailure, "True", "ErrorInPod", "Pod[job-worker-0] exited with error code 1", 4)),
			[]string{"ReplicaFailure=True/ErrorInPod Pod[job-worker-0] exited with error code 1", created, "Restarting=True/TFJobRestarting TFJob job is restarting: Pod[job-worker-0] exited with error code 1"}, v1beta1.JobPending,
		},
		{
			"back", status(5, task("worker", running, running), restarted),
			[]string{created, "Running=True/TFJobRunning TFJob job is running."}, v1beta1.JobRunning,
		},
		{
			"suspended", status(6, task("worker", deleted, deleted), is(v1beta1.ConditionPaused, "True", "Paused", "", 6)),
			[]string{created, "Running=False/TFJobSuspended TFJob job is suspended.", "Suspended=True/TFJobSuspended TFJob job is suspended."}, v1beta1.JobPaused,
		},
		{
			"resumed", status(7, task("worker", pending, pending), is(v1beta1.ConditionPaused, "False", "Resumed", "", 7)),
			[]string{"Suspended=False/TFJobResumed TFJob job is resumed.", created}, v1beta1.JobPending,
		},
		{
			"runs again", status(8, task("worker", running, running), is(v1beta1.ConditionPaused, "False", "Resumed", "", 7)),
			[]string{created, "Suspended=False/TFJobResumed TFJob job is resumed.", "Running=True/TFJobRunning TFJob job is running."}, v1beta1.JobRunning,
		},
		{
			"over", status(9, task("worker", succeeded, running), finished(v1beta1.JobSucceeded, 9)),
			[]string{created, "Running=False/TFJobSucceeded TFJob job has succeeded.", "Succeeded=True/TFJobSucceeded TFJob job has succeeded."}, v1beta1.JobSucceeded,
		},
	} {
		kubeflow.TFJobs.Mirror(job, step.s)
		require.Equal(t, step.want, printed(job.Status.Conditions), step.name)
		require.Equal(t, step.phase, kubeflow.TFJobs.Phase(job), step.name)
		for _, c := range job.Status.Conditions {
			ours := c.Type == kubeflowv1.JobReplicaFailure || c.Type == kubeflowv1.JobBlocked
			require.Equal(t, ours, c.LastTransitionTime.IsZero(), "%s: the newest condition is one of Kubeflow's: %s", step.name, c.Type)
			require.False(t, c.LastUpdateTime.IsZero(), step.name)
		}
		again := job.DeepCopy()
		again.Status.Conditions = append([]kubeflowv1.JobCondition(nil), again.Status.Conditions...)
		later := step.s
		later.LastUpdateTime = ptr.To(metav1.NewMicroTime(at(100).Time))
		if step.phase != v1beta1.JobSucceeded {
			kubeflow.TFJobs.Mirror(again, later)
			require.Equal(t, job, again, "%s: what has not changed must not be written", step.name)
		}
	}
	require.Equal(t, at(9), *job.Status.CompletionTime)
	require.Equal(t, at(0), job.Status.Conditions[0].LastTransitionTime)
	require.Equal(t, at(9), job.Status.Conditions[2].LastTransitionTime)
}

func TestFailure(t *testing.T) {
	job := &kubeflowv1.PyTorchJob{ObjectMeta: metav1.ObjectMeta{Name: "job", CreationTimestamp: start}}
	job.Spec.PyTorchReplicaSpecs = specs(map[string]int32{"worker": 1, "MASTER": 1})
	kubeflow.PyTorchJobs.Mirror(job, status(3, task("master", failed), task("worker", running), finished(v1beta1.JobFailed, 3),
		is(v1beta1.ConditionFailed, "True", "Failed", `The job is failed with rule: {"master":["any"]}. Pod[job-master-0] exited with error code 1`, 3)))
	require.Equal(t, []string{
		"Created=True/PyTorchJobCreated PyTorchJob job is created.",
		`Failed=True/PyTorchJobFailed PyTorchJob job has failed: The job is failed with rule: {"master":["any"]}. Pod[job-master-0] exited with error code 1`,
	}, printed(job.Status.Conditions))
	require.Equal(t, v1beta1.JobFailed, kubeflow.PyTorchJobs.Phase(job))
	require.Equal(t, at(3), *kubeflow.PyTorchJobs.CompletionTime(job), "B3: a job that failed has a completionTime, whatever it failed of")
	require.Equal(t, map[string]*kubeflowv1.ReplicaStatus{
		"Master": {Failed: 1, Selector: "training.kubeflow.org/job-name=job,training.kubeflow.org/operator-name=pytorchjob-controller,training.kubeflow.org/replica-type=master"},
		"Worker": {Active: 1, Selector: "training.kubeflow.org/job-name=job,training.kubeflow.org/operator-name=pytorchjob-controller,training.kubeflow.org/replica-type=worker"},
	}, job.Status.ReplicaStatuses)
}

// A message names fields as the user of this API knows them.
func TestFieldsInMessages(t *testing.T) {
	job := tfjob(map[string]int32{"Worker": 1})
	kubeflow.TFJobs.Mirror(job, status(3, finished(v1beta1.JobFailed, 3),
		is(v1beta1.ConditionFailed, "True", "DeadlineExceeded", "longer than spec.activeDeadlineSeconds: set spec.runMode.pause.enabled", 3)))
	require.Contains(t, job.Status.Conditions[1].Message, "longer than spec.runPolicy.activeDeadlineSeconds: set spec.runPolicy.suspend")
}

func TestRunningIsDecidedByTheLeader(t *testing.T) {
	for name, tc := range map[string]struct {
		replicas map[string]int32
		tasks    []state
		want     v1beta1.JobPhase
	}{
		"the chief":           {map[string]int32{"Chief": 1, "Worker": 1}, []state{task("chief", running), task("worker", pending)}, v1beta1.JobRunning},
		"not without it":      {map[string]int32{"Chief": 1, "Worker": 1}, []state{task("chief", pending), task("worker", running)}, v1beta1.JobPending},
		"a worker":            {map[string]int32{"PS": 1, "Worker": 2}, []state{task("worker", pending, running), task("ps", pending)}, v1beta1.JobRunning},
		"no server":           {map[string]int32{"PS": 1, "Worker": 2}, []state{task("worker", pending, pending), task("ps", running)}, v1beta1.JobPending},
		"a server, if alone":  {map[string]int32{"PS": 2}, []state{task("ps", pending, running)}, v1beta1.JobRunning},
		"nobody of no worker": {map[string]int32{"PS": 1, "Worker": 0}, []state{task("ps", running)}, v1beta1.JobRunning},
	} {
		t.Run(name, func(t *testing.T) {
			job := tfjob(tc.replicas)
			kubeflow.TFJobs.Mirror(job, status(2, tc.tasks...))
			require.Equal(t, tc.want, kubeflow.TFJobs.Phase(job))
		})
	}
}

func TestStartTime(t *testing.T) {
	job := tfjob(map[string]int32{"Worker": 1})
	show := func(edits ...state) *metav1.Time {
		kubeflow.TFJobs.Mirror(job, status(9, edits...))
		return job.Status.StartTime
	}
	require.Equal(t, at(1), *show())
	require.Equal(t, at(1), *show(is(v1beta1.ConditionPaused, "True", "", "", 5)), "a suspended job has begun")
	require.Equal(t, at(6), *show(is(v1beta1.ConditionPaused, "False", "", "", 6)), "it begins again when it is resumed")
	require.Equal(t, at(6), *show(is(v1beta1.ConditionPaused, "False", "", "", 6), finished(v1beta1.JobSucceeded, 8)))
	require.Equal(t, at(1), *show(is(v1beta1.ConditionPaused, "False", "", "", 8), finished(v1beta1.JobFailed, 8)), "the end of a job is no resumption")
	require.Nil(t, show(func(s *v1beta1.GenericJobStatus) { s.StartTime = nil }, is(v1beta1.ConditionPaused, "False", "", "", 8)))
}

// In a job of more than a thousand replicas the status does not list them.
func TestCountsOfALargeJob(t *testing.T) {
	job := tfjob(map[string]int32{"Chief": 1, "Worker": 2000})
	kubeflow.TFJobs.Mirror(job, status(9, task("chief"), task("worker", failed), func(s *v1beta1.GenericJobStatus) {
		s.Aggregate = v1beta1.Aggregate{Running: 1801, Succeeded: 199, Failed: 1}
		s.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "0-197,199", Failed: "198"}}
	}))
	require.Equal(t, map[string]*kubeflowv1.ReplicaStatus{"Chief": {Active: 1}, "Worker": {Active: 1800, Succeeded: 199, Failed: 1}}, job.Status.ReplicaStatuses)
}

// Clients wait until all workers are counted as succeeded. Kubeflow's own operator calls those so that were active when the job
// succeeded. Here nobody counted them any more once the clean-up had deleted them.
func TestWorkersThatCleanUpTakesAwayAreCountedAsSucceeded(t *testing.T) {
	before := status(2, task("chief", running), task("worker", running, running, pending))
	atTheEnd := status(3, task("chief", succeeded), task("worker", running, running, pending), finished(v1beta1.JobSucceeded, 3))
	later := status(5, task("chief", succeeded), task("worker", deleted, failed, deleted), finished(v1beta1.JobSucceeded, 3)) // one said 143
	failedToo := status(3, task("chief", succeeded), task("worker", running, failed, pending), finished(v1beta1.JobSucceeded, 3),
		func(s *v1beta1.GenericJobStatus) { s.Ledger = []v1beta1.TaskLedger{{Type: "worker", Failed: "1"}} })
	for name, tc := range map[string]struct {
		policy kubeflowv1.CleanPodPolicy
		shown  []v1beta1.GenericJobStatus
		want   kubeflowv1.ReplicaStatus
	}{
		"who runs":                       {"Running", []v1beta1.GenericJobStatus{before, atTheEnd}, kubeflowv1.ReplicaStatus{Succeeded: 2}},
		"and is deleted then":            {"Running", []v1beta1.GenericJobStatus{before, atTheEnd, later}, kubeflowv1.ReplicaStatus{Succeeded: 2}},
		"who ran before it was over":     {"All", []v1beta1.GenericJobStatus{before, later}, kubeflowv1.ReplicaStatus{Succeeded: 2}},
		"but nobody who has failed":      {"All", []v1beta1.GenericJobStatus{before, failedToo, later}, kubeflowv1.ReplicaStatus{Succeeded: 1, Failed: 1}},
		"nor who goes on, for B4":        {"None", []v1beta1.GenericJobStatus{before, atTheEnd}, kubeflowv1.ReplicaStatus{Active: 2}},
		"nor anybody before the end":     {"All", []v1beta1.GenericJobStatus{before}, kubeflowv1.ReplicaStatus{Active: 2}},
		"nor if it fails":                {"All", []v1beta1.GenericJobStatus{before, status(5, task("worker", deleted, deleted, deleted), finished(v1beta1.JobFailed, 3))}, kubeflowv1.ReplicaStatus{}},
		"also in the older, inline form": {"inline", []v1beta1.GenericJobStatus{before, later}, kubeflowv1.ReplicaStatus{Succeeded: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			job := tfjob(map[string]int32{"Chief": 1, "Worker": 3})
			job.Spec.RunPolicy.CleanPodPolicy = tc.policy
			if tc.policy == "inline" {
				job.Spec.RunPolicy.CleanPodPolicy, job.Spec.CleanPodPolicy = "", kubeflowv1.CleanPodsAll
			}
			for _, s := range tc.shown {
				kubeflow.TFJobs.Mirror(job, s)
			}
			require.Equal(t, tc.want, *job.Status.ReplicaStatuses["Worker"])
		})
	}
}
