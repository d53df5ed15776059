package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// helperEndsAt adds the helper to a pod, as a container that was killed at a time.
func helperEndsAt(at time.Duration) kt.PodOption {
	return func(p *corev1.Pod) {
		exitedIn("helper", 137)(p)
		p.Status.Phase, p.Status.ContainerStatuses[1].State.Terminated.FinishedAt.Time = corev1.PodFailed, kt.At(at)
	}
}

// A mark would hide the success if the operator looks again only when no grace period is left.
func TestAStopHidesNoSuccessOfTheMainContainer(t *testing.T) {
	for name, tc := range map[string]struct {
		main, verb string // the main container; how the pod is deleted
		ends       kt.PodOption
		succeeded  string
	}{
		"it had done its work":            {"main", "DeletePod worker-0", kt.ExitedAt(0, kt.At(time.Second)), "0"},
		"... in this second":              {"main", "DeletePod worker-0", kt.ExitedAt(0, kt.At(time.Minute)), "0"},
		"it had failed":                   {"main", "StopPod worker-0", kt.ExitedAt(3, kt.At(time.Second)), ""},
		"it runs":                         {"main", "StopPod worker-0", kt.Running, ""},
		"no container is the main one":    {"", "StopPod worker-0", kt.ExitedAt(0, kt.At(time.Second)), ""},
		"another container is named main": {"helper", "StopPod worker-0", kt.ExitedAt(0, kt.At(time.Second)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 2, helper(tc.main), kt.Policy(v1beta1.RestartOnFailure, 3)), kt.Begun)
			made, paused := job.DeepCopy(), kt.Edited(job, kt.PauseNow(true))
			other := kt.Pod(made, "worker", 1, kt.Running, runsIn("helper"))
			d := plan(t, paused, kt.At(time.Minute), kt.Pod(made, "worker", 0, tc.ends, runsIn("helper")), other)
			require.Contains(t, did(d), tc.verb)
			require.Contains(t, did(d), "StopPod worker-1")
			if tc.verb != "DeletePod worker-0" {
				return
			}

			// In the next looks the helper takes its time. Nothing is done again, and no mark comes.
			paused = after(paused, d)
			deleted := kt.Deleted(kt.At(time.Minute), 30*time.Second)
			other = kt.Pod(made, "worker", 1, kt.Running, runsIn("helper"), kt.Stopped, deleted)
			for _, at := range []time.Duration{time.Minute, time.Minute + time.Second, time.Minute + 20*time.Second} {
				d = plan(t, paused, kt.At(at), kt.Pod(made, "worker", 0, tc.ends, runsIn("helper"), deleted), other)
				require.Empty(t, did(d))
				paused = after(paused, d)
			}

			// The first look after that finds that no grace period is left.
			ended := kt.Pod(made, "worker", 0, tc.ends, helperEndsAt(90*time.Second), kt.Deleted(kt.At(91*time.Second), 0))
			d = plan(t, paused, kt.At(92*time.Second), ended, other)
			require.Equal(t, tc.succeeded, ledger(d.Status, "worker").Succeeded)
			require.Zero(t, d.Status.BackoffCount+d.Status.DisruptionCount)
		})
	}
}

// Nobody reports any more how the helper ends.
func TestWhatTheMainContainerDidOnALostNodeCounts(t *testing.T) {
	lost := kt.Deleted(kt.At(10*time.Minute), 0)
	for name, tc := range map[string]struct {
		job                   kt.JobOption
		code                  int32
		succeeded             string
		restarts, disruptions int32
	}{
		"its work":                   {func(*v1beta1.GenericJob) {}, 0, "0", 0, 0},
		"a failure":                  {func(*v1beta1.GenericJob) {}, 3, "", 1, 0},
		"a failure, and all restart": {kt.JobScope, 3, "", 1, 0},
		"it was killed":              {func(*v1beta1.GenericJob) {}, 137, "", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 2, helper("main"), kt.Policy(v1beta1.RestartOnFailure, 3)), kt.Begun)
			tc.job(job)
			other := kt.Pod(job, "worker", 1, kt.Running, runsIn("helper"))
			d := plan(t, job, kt.At(11*time.Minute), kt.Pod(job, "worker", 0, kt.ExitedAt(tc.code, kt.At(time.Minute)), runsIn("helper"), lost), other)
			require.Equal(t, tc.succeeded, ledger(d.Status, "worker").Succeeded)
			require.Equal(t, []int32{tc.restarts, tc.disruptions}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount})
		})
	}
	job := kt.Job(kt.Type("worker", 1), kt.Type("store", 1, helper("main"), func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }), kt.Begun)
	d := plan(t, job, kt.At(11*time.Minute), kt.Pod(job, "store", 0, kt.ExitedAt(0, kt.At(time.Minute)), runsIn("helper"), lost), kt.Pod(job, "worker", 0, kt.Running))
	require.Equal(t, []int32{0, 0}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount}, "nobody counts an auxiliary replica")
	require.Empty(t, ledger(d.Status, "store").Succeeded)
}

// The operator was down when the main container failed, and then a helper ended the pod by a limit or its deadline. Rules judge the code's own end.
func TestRulesJudgeTheMainContainerWhateverAHelperDidLater(t *testing.T) {
	overLimit := func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }
	late := func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &metav1.Time{Time: kt.Start}, new(int64(3600))
	}
	for how, options := range map[string][]kt.JobOption{"alone": nil, "all": {kt.JobScope}, "in place": {kt.InPlace}, "all in place": {kt.InPlace, kt.JobScope}} {
		for _, policy := range []v1beta1.RestartPolicyType{never, onFailure} {
			for name, tc := range map[string]struct {
				ends    kt.PodOption
				helper  time.Duration // when the helper ends; the main container ends after a minute
				isOfOwn bool
			}{
				"a limit, an hour later":          {overLimit, time.Hour, true},
				"a limit, and both end at once":   {overLimit, time.Minute + 2*time.Second, false},
				"its deadline, an hour later":     {late, time.Hour, true},
				"... and the helper has no limit": {func(*corev1.Pod) {}, time.Hour, true},
			} {
				t.Run(name+", "+how+", "+string(policy), func(t *testing.T) {
					job := kt.Job(append([]kt.JobOption{
						kt.Type("worker", 2, helper("main"), kt.Policy(policy, 3)), failureRules(uncounted(on(restarts, 3)), on(restarts, 4)),
					}, append(options, kt.Begun)...)...)
					other := kt.Pod(job, "worker", 1, kt.Running, runsIn("helper"))
					d := plan(t, job, kt.At(2*time.Hour), kt.Pod(job, "worker", 0, kt.ExitedAt(3, kt.At(time.Minute)), helperEndsAt(tc.helper), tc.ends), other)
					if !tc.isOfOwn {
						require.Equal(t, policy == never, d.Status.Phase == v1beta1.JobFailed)
						require.Zero(t, d.Status.ExceptedCount, "no rule is about a limit")
						return
					}
					require.EqualValues(t, 1, d.Status.ExceptedCount)
					require.Zero(t, d.Status.BackoffCount+d.Status.DisruptionCount)
				})
			}
		}
	}
}

// A helper that ends late does not tell when code was found to hang.
func TestAHangIsFoundWhenTheMainContainerEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		helpers  [2]time.Duration
		second   int // when the second one is found
		restarts int32
	}{
		"one hang":  {[2]time.Duration{2 * time.Minute, 4 * time.Minute}, 10, 1},
		"two hangs": {[2]time.Duration{3 * time.Minute, 3 * time.Minute}, 40, 2},
	} {
		t.Run(name, func(t *testing.T) {
			job := hung()
			helper("main")(&job.Spec.ReplicaSpecs[0])
			pods := kt.Pods(job, "worker", 4, kt.Running, runsIn("helper"))
			pods[0] = kt.Pod(job, "worker", 0, ended(0, 0, inData), helperEndsAt(tc.helpers[0]))
			then := plan(t, job, kt.At(5*time.Minute), pods...).Status
			pods[1] = kt.Pod(job, "worker", 1, ended(0, tc.second, inData), helperEndsAt(tc.helpers[1]))
			require.Equal(t, tc.restarts, plan(t, job, kt.At(5*time.Minute), pods...).Status.BackoffCount, "both at once")
			job.Status = then
			require.Equal(t, tc.restarts, plan(t, job, kt.At(5*time.Minute), pods...).Status.BackoffCount, "one by one")
		})
	}
}

// Of seven failures in one reconcile the status holds five. The hang among them is one: a later replica belongs to it.
func TestAHangIsCountedOnceAmongManyFailures(t *testing.T) {
	job := hung(kt.Type("peer", 6, kt.Policy(onFailure, -1)), kt.BackoffLimit(20))
	pods := append(kt.Pods(job, "worker", 4, kt.Running), kt.Pods(job, "peer", 6, kt.Running)...)
	for rank := range 6 {
		pods[4+rank] = kt.Pod(job, "peer", rank, crashed(rank/3, 1, nan))
	}
	pods[0] = kt.Pod(job, "worker", 0, ended(0, 3, inData))
	job.Status = plan(t, job, kt.At(2*time.Minute), pods...).Status
	require.EqualValues(t, 7, job.Status.BackoffCount)
	require.Len(t, job.Status.Failures, 5)
	require.Equal(t, pods[4].Name, job.Status.Failures[0].Pod, "the first is kept, too")
	pods[1] = kt.Pod(job, "worker", 1, ended(0, 20, inReduce))
	require.EqualValues(t, 7, plan(t, job, kt.At(2*time.Minute), pods...).Status.BackoffCount)
}

// The job has lost time since its code failed, however long a helper ran on.
func TestALossBeginsWhenTheMainContainerEnds(t *testing.T) {
	job := fresh()
	helper("main")(&job.Spec.ReplicaSpecs[0])
	other := kt.Pod(job, "worker", 1, startedAt(0), runsIn("helper"))
	job = look(t, job, time.Minute, kt.Pod(job, "worker", 0, startedAt(0), runsIn("helper")), other)
	job = look(t, job, 11*minute, kt.Pod(job, "worker", 0, failedAt(0, 8*minute), helperEndsAt(10*minute)), other)
	require.Equal(t, v1beta1.TimeLostToRestart, open(job))
	require.Equal(t, kt.At(8*minute), job.Status.Time.Open.Since.UTC())
}
