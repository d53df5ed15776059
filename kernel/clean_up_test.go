package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func cleanUp(policy v1beta1.CleanUpPolicy) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = policy })
}

func ttl(seconds int32) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) { s.TTLSecondsAfterFinished = &seconds })
}

func TestCleanUpPolicies(t *testing.T) {
	keeps := []string{"ReleasePod"}
	removes := []string{"ReleasePod", "DeletePod"}
	unknown := func(p *corev1.Pod) { kt.Running(p); p.Status.Phase = corev1.PodUnknown }
	phases := map[string]kt.PodOption{
		"Pending": kt.Scheduled, "Running": kt.Running, "Unknown": unknown, "Succeeded": kt.Exited(0), "Failed": kt.Exited(1),
	}
	unfinished := map[string][]string{"Pending": removes, "Running": removes, "Unknown": removes, "Succeeded": keeps, "Failed": keeps}
	all := map[string][]string{"Pending": removes, "Running": removes, "Unknown": removes, "Succeeded": removes, "Failed": removes}
	none := map[string][]string{"Pending": keeps, "Running": keeps, "Unknown": keeps, "Succeeded": keeps, "Failed": keeps}
	tests := map[v1beta1.CleanUpPolicy]map[string][]string{
		"": none, "None": none, "none": none, "Unfinished": unfinished, "unfinished": unfinished, "All": all, "all": all,
	}
	for policy, want := range tests {
		for phase := range want {
			t.Run(string(policy)+"/"+phase, func(t *testing.T) {
				job := kt.Job(cleanUp(policy), kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
				first, second := kt.Pod(job, "worker", 0, kt.Exited(0), kt.Released), kt.Pod(job, "worker", 1, phases[phase])
				done := func(d kernel.Decision) (verbs []string) {
					for _, a := range d.Actions {
						if a.Pod.Name == second.Name {
							verbs = append(verbs, string(a.Verb))
						}
					}
					return verbs
				}
				d := plan(t, job, kt.Start, first, second)
				require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
				if runs := phase == "Running" || phase == "Unknown"; runs && spec.CleanUp(job) == v1beta1.CleanUpUnfinished {
					require.Equal(t, keeps, done(d), "it may still end by itself")
					require.Equal(t, 30*time.Second, d.RequeueAfter)
					require.Equal(t, 10*time.Second, plan(t, after(job, d), kt.At(20*time.Second), first, second).RequeueAfter)
				} else {
					require.Equal(t, want[phase], done(d))
				}
				// Recomputed in every reconcile, until nothing is left.
				require.Equal(t, want[phase], done(plan(t, after(job, d), kt.At(time.Minute), first, second)))
			})
		}
	}
}

func TestCleanUpAfterFailure(t *testing.T) {
	job := kt.Job(cleanUp("Unfinished"), kt.Type("worker", 2), deadline(1), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pods(job, "worker", 2, kt.Running)...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Equal(t, []string{"ReleasePod worker-0", "DeletePod worker-0", "ReleasePod worker-1", "DeletePod worker-1"}, did(d))
	d = plan(t, after(job, d), kt.At(2*time.Minute))
	require.Equal(t, v1beta1.Aggregate{Deleted: 2}, d.Status.Aggregate)
	require.Empty(t, d.Actions)
}

// What was superseded before the job ended is removed whatever the policy; so is what was scaled away.
func TestGarbageOfAFinishedJobGoes(t *testing.T) {
	begun := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, 3)), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	superseded := kt.Pod(begun, "worker", 1, kt.Exited(1))
	scaledDown := kt.Pod(kt.Job(kt.Type("worker", 3), kt.Begun), "worker", 2, kt.Running)
	job := after(begun, plan(t, begun, kt.Start, superseded))
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(0)), superseded, scaledDown)
	require.Equal(t, []string{"ReleasePod worker-0", "ReleasePod worker-1", "DeletePod worker-1", "ReleasePod worker-2", "DeletePod worker-2"}, did(d))
}

func TestFinalizerIsReleasedOnceTheLedgerHoldsTheOutcome(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), success(v1beta1.FinishRule{"worker": ranks(2)}), kt.Begun)
	pods := exits(job, map[string][]int32{"worker": {0, 1, alive}})
	d := plan(t, job, kt.Start, pods...)
	require.Equal(t, "0", ledger(d.Status, "worker").Succeeded)
	require.Equal(t, "1", ledger(d.Status, "worker").Failed)
	require.Equal(t, []string{"ReleasePod worker-0", "ReleasePod worker-1"}, did(d), "and not that of the one that runs")
	// The pods go, by a drain for example: nobody is run again.
	require.Empty(t, did(plan(t, after(job, d), kt.Start, pods[2])))
}

// The ledger of a finished job is closed. So an operator that would write it in another way does not write each job again that has ever
// run.
func TestTheLedgerOfAFinishedJobStaysAsItWasWritten(t *testing.T) {
	job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.BackoffLimit(1))
	job = after(job, plan(t, job, kt.At(time.Minute), append(with(pods[:1], startedAgain(1, 9)), pods[1])...))
	pods = append(with(pods[:1], told(1, 0), kt.Exited(0)), with(pods[1:], kt.Exited(0))...)
	job = after(job, plan(t, job, kt.At(2*time.Minute), pods...))
	require.Equal(t, v1beta1.JobSucceeded, job.Status.Phase)
	job = after(job, plan(t, job, kt.At(3*time.Minute), with(pods, kt.Released)...))
	job.Status.Ledger = append(job.Status.Ledger, v1beta1.TaskLedger{Type: "scaled-away"}) // of which this build writes nothing
	d := plan(t, job, kt.At(time.Hour), with(pods, kt.Released)...)
	require.Equal(t, job.Status, d.Status)
	require.Empty(t, d.Events)
}

func TestTTL(t *testing.T) {
	finished := func(options ...kt.JobOption) *v1beta1.GenericJob {
		job := kt.Job(append(options, kt.Type("worker", 1), kt.Begun)...)
		return after(job, plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(0))))
	}
	yes, no := true, false
	owned := func(controller *bool) kt.JobOption {
		return func(j *v1beta1.GenericJob) {
			j.OwnerReferences = []metav1.OwnerReference{{Kind: "PyTorchTrainingJob", Name: "x", Controller: controller}}
		}
	}
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		at   time.Duration
		want []string
		wake time.Duration
	}{
		"none":                  {finished(), time.Hour, []string{}, 0},
		"not yet":               {finished(ttl(60)), 59 * time.Second, []string{}, time.Second},
		"over":                  {finished(ttl(60)), 60 * time.Second, []string{"DeleteJob"}, 0},
		"at once":               {finished(ttl(0)), 0, []string{"DeleteJob"}, 0},
		"owned by a framework":  {finished(ttl(60), owned(&yes)), time.Hour, []string{}, 0},
		"owned, not controlled": {finished(ttl(60), owned(&no)), time.Hour, []string{"DeleteJob"}, 0},
		"still running":         {kt.Job(ttl(0), kt.Type("worker", 1), kt.Begun), time.Hour, []string{"CreatePod worker-0@0"}, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, after(tc.job, plan(t, tc.job, kt.At(tc.at))), kt.At(tc.at))
			require.Equal(t, tc.want, did(d))
			require.Equal(t, tc.wake, d.RequeueAfter)
		})
	}
}

// What has failed in place waits in its pod: to delete it would take its log.
func TestUnfinishedKeepsTheLogsOfWhatFailedInPlace(t *testing.T) {
	job, pods := running(t, 3, kt.Type("worker", 3), kt.InPlace, kt.JobScope, kt.BackoffLimit(0), cleanUp(v1beta1.CleanUpUnfinished))
	pods = append(with(pods[:2], startedAgain(1, 9)), pods[2])
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Contains(t, did(d), "EndPod worker-0")
	require.Contains(t, did(d), "EndPod worker-1")
	require.Contains(t, did(d), "DeletePod worker-2")
	require.NotContains(t, did(d), "DeletePod worker-0")
	require.NotContains(t, did(d), "DeletePod worker-1")
}
