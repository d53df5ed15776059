package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// auxiliary has the replicas of a type only serve the others.
func auxiliary(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }

func TestAnAuxiliaryReplicaIsReplacedAndNoLimitCountsIt(t *testing.T) {
	for name, ends := range map[string][]kt.PodOption{
		"a failure":    {kt.Exited(1)},
		"a success":    {kt.Exited(0)},
		"a disruption": {kt.Exited(137), kt.Disrupted},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.BackoffLimit(0), kt.Type("worker", 1), kt.Type("store", 1, auxiliary), kt.Begun)
			worker := kt.Pod(job, "worker", 0, kt.Running)
			for attempt := 1; attempt <= 3; attempt++ {
				now := kt.At(time.Duration(attempt) * time.Hour)
				job = after(job, plan(t, job, now, worker, kt.Pod(job, "store", 0, append(ends, kt.StartedAt(now))...)))
				require.Zero(t, job.Status.BackoffCount)
				require.Empty(t, ledger(job.Status, "store").Succeeded)
				require.Empty(t, ledger(job.Status, "store").Failed)
				d := plan(t, job, now.Add(10*time.Minute), worker)
				require.Len(t, d.Actions, 1)
				require.Equal(t, kernel.CreatePod, d.Actions[0].Verb)
				require.Equal(t, attempt, d.Actions[0].Attempt)
				job = after(job, d)
			}
			require.Equal(t, v1beta1.JobRunning, after(job, plan(t, job, kt.At(9*time.Hour), worker, kt.Pod(job, "store", 0, kt.Running))).Status.Phase)
		})
	}
}

func TestAnAuxiliaryReplicaDecidesNothing(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Type("store", 1, auxiliary), kt.Begun)
	store := kt.Pod(job, "store", 0, kt.Running)
	job = after(job, plan(t, job, kt.Start, append(kt.Pods(job, "worker", 2, kt.Running), store)...))
	require.Equal(t, "2/2", job.Status.Running)
	require.Equal(t, v1beta1.Aggregate{Running: 2}, job.Status.Aggregate)
	require.Len(t, job.Status.Tasks, 2, "who looks for it finds it")

	d := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Exited(0)), store)...)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.Contains(t, did(d), "DeletePod store-0", "cleanUpPolicy None keeps what trains")
	require.NotContains(t, condition(d.Status, v1beta1.ConditionSucceeded).Message, "left")

	waits := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "store", 0))...)
	require.Contains(t, condition(waits.Status, v1beta1.ConditionRunning).Message, "store-0")
}

// A rendezvous store that went first would have the others wait for it for ever, on their GPUs.
func TestAnAuxiliaryReplicaServesUntilTheLastHasEnded(t *testing.T) {
	job := kt.Job(kt.Type("worker", 3), kt.Type("store", 1, auxiliary), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	store, last := kt.Pod(job, "store", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Running)
	first := kt.Pod(job, "worker", 0, kt.Exited(0))
	late := kt.Pod(job, "worker", 2)
	d := plan(t, job, kt.At(time.Minute), first, last, late, store)
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.Contains(t, did(d), "DeletePod worker-2", "it would begin to wait when nobody serves it")
	require.NotContains(t, did(d), "DeletePod worker-1", "cleanUpPolicy None keeps what runs")
	require.NotContains(t, did(d), "DeletePod store-0")

	job = after(job, d)
	for name, pods := range map[string][]*corev1.Pod{
		"the last has ended":   {kt.Pod(job, "worker", 1, kt.Exited(1))},
		"the last is gone":     nil,
		"the last is to go":    {kt.Pod(job, "worker", 1, kt.Running, kt.Deleted(kt.At(time.Minute), 30*time.Second))},
		"so is one that waits": {kt.Pod(job, "worker", 1, kt.Deleted(kt.At(time.Minute), 30*time.Second))},
	} {
		require.Contains(t, did(plan(t, job, kt.At(2*time.Minute), append(pods, first, store)...)), "DeletePod store-0", name)
	}
	require.Contains(t, did(plan(t, job, kt.At(2*time.Minute), last, kt.Pod(job, "worker", 2), store)), "DeletePod worker-2", "a cache may show it later")
	d = plan(t, job, kt.At(2*time.Minute), first, kt.Pod(job, "worker", 1, kt.Scheduled), store)
	require.Contains(t, did(d), "DeletePod worker-1")
	require.NotContains(t, did(d), "DeletePod store-0", "the deletion may be refused, and its code begin")

	alone := kt.Job(kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	d = plan(t, alone, kt.At(time.Minute), kt.Pod(alone, "worker", 0, kt.Exited(0)), kt.Pod(alone, "worker", 1))
	require.NotContains(t, did(d), "DeletePod worker-1", "nobody serves it")
	job.Spec.CleanUpPolicy = v1beta1.CleanUpUnfinished
	require.Contains(t, did(plan(t, job, kt.At(2*time.Minute), last, store)), "DeletePod store-0", "all go")
}

func TestAnAuxiliaryReplicaIsReplacedAloneInAJobScope(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(1), kt.Type("worker", 2), kt.Type("store", 1, auxiliary), kt.Begun)
	workers := kt.Pods(job, "worker", 2, kt.Running)
	d := plan(t, job, kt.Start, append(workers, kt.Pod(job, "store", 0, kt.Exited(1)))...)
	require.Equal(t, []string{"ReleasePod store-0", "DeletePod store-0"}, did(d))
	require.Zero(t, d.Status.JobAttempt)
	require.NotContains(t, d.Events[0].Message, "all replicas")

	both := append(kt.Pods(job, "worker", 1, kt.Exited(1)), workers[1], kt.Pod(job, "store", 0, kt.Exited(1)))
	d = plan(t, job, kt.Start, both...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	require.EqualValues(t, 1, d.Status.JobAttempt)
	require.Len(t, did(d), 6, "a restart of the whole job takes it along")
}

// A store is lost, and its clients fail because of that: with it, or a moment later. That costs none of their restarts, now or later.
func TestWhoFailsWithAnAuxiliaryReplicaThatIsDisruptedIsExcused(t *testing.T) {
	gone := func(seconds int) []kt.PodOption {
		return []kt.PodOption{kt.ExitedAt(137, kt.At(time.Duration(seconds)*time.Second)), kt.Disrupted, kt.Deleted(kt.At(0), 0)}
	}
	failed := func(code int32, seconds int) []kt.PodOption {
		return []kt.PodOption{kt.ExitedAt(code, kt.At(time.Duration(seconds)*time.Second))}
	}
	running := []kt.PodOption{kt.Running}
	type look struct {
		at                  int
		store, first, other []kt.PodOption
	}
	for name, tc := range map[string]struct {
		looks    []look
		attempt  int32
		restarts int32
	}{
		"together":                              {[]look{{62, gone(60), failed(1, 61), running}}, 1, 0},
		"together, before it":                   {[]look{{62, gone(61), failed(1, 60), running}}, 1, 0},
		"together, and the operator was down":   {[]look{{3600, gone(60), failed(1, 61), failed(1, 62)}}, 1, 0},
		"together, and another has finished":    {[]look{{62, gone(60), failed(1, 61), failed(0, 50)}}, 1, 0},
		"together, and another is drained, too": {[]look{{62, gone(60), failed(1, 61), gone(60)}}, 1, 0},
		"a moment later":                        {[]look{{61, gone(60), running, running}, {63, gone(60), failed(1, 62), running}}, 1, 0},
		"nobody fails":                          {[]look{{61, gone(60), running, running}, {65, gone(60), running, running}}, 0, 0},
		"much later":                            {[]look{{65, gone(60), running, running}, {90, running, failed(1, 89), running}}, 1, 1},
		"the store has failed itself":           {[]look{{62, failed(1, 60), failed(1, 61), running}}, 1, 1},
	} {
		for how, options := range map[string][]kt.JobOption{"new pods": nil, "in place": {kt.InPlace}} {
			t.Run(name+", "+how, func(t *testing.T) {
				job := kt.Job(append(options, kt.JobScope, kt.BackoffLimit(1), kt.Type("worker", 2), kt.Type("store", 1, auxiliary), kt.Begun)...)
				for _, l := range tc.looks {
					d := plan(t, job, kt.At(time.Duration(l.at)*time.Second),
						kt.Pod(job, "worker", 0, l.first...), kt.Pod(job, "worker", 1, l.other...), kt.Pod(job, "store", 0, l.store...))
					d.Status = stored(t, d.Status)
					job = after(job, d)
				}
				require.Equal(t, []int32{tc.attempt, tc.restarts}, []int32{job.Status.JobAttempt, job.Status.BackoffCount})
				require.NotEqual(t, v1beta1.JobFailed, job.Status.Phase)
				if tc.attempt == 0 {
					require.EqualValues(t, 1, ledger(job.Status, "store").Replicas[0].Attempt, "it alone is replaced")
				}
			})
		}
	}
}

// The replacement of a store that is alone waits for a moment in which its clients may fail.
func TestADisruptedAuxiliaryReplicaWaitsForThoseItServes(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.Type("worker", 1), kt.Type("store", 1, auxiliary), kt.Begun)
	lost := kt.Pod(job, "store", 0, kt.ExitedAt(137, kt.At(time.Minute)), kt.Disrupted)
	d := plan(t, job, kt.At(time.Minute+time.Second), lost, kt.Pod(job, "worker", 0, kt.Running))
	require.Zero(t, d.Status.DisruptionCount)
	require.Equal(t, 3*time.Second, d.RequeueAfter)
	d = plan(t, job, kt.At(time.Minute+4*time.Second), lost, kt.Pod(job, "worker", 0, kt.Running))
	require.EqualValues(t, 1, d.Status.DisruptionCount)

	ahead := kt.Pod(job, "store", 0, kt.ExitedAt(137, kt.At(time.Minute+2*time.Second)), kt.Disrupted)
	for second, counted := range map[int]int32{0: 0, 1: 0, 5: 0, 6: 1} {
		d = plan(t, job, kt.At(time.Minute+time.Duration(second)*time.Second), ahead, kt.Pod(job, "worker", 0, kt.Running))
		require.Equal(t, counted, d.Status.DisruptionCount, "by the clock of its node it ends in two seconds")
	}

	stores := kt.Job(kt.JobScope, kt.Type("worker", 1), kt.Type("store", 3, auxiliary), kt.Begun)
	three := []*corev1.Pod{
		kt.Pod(stores, "store", 0, kt.ExitedAt(137, kt.At(time.Minute-4*time.Second)), kt.Disrupted),
		kt.Pod(stores, "store", 1, kt.ExitedAt(137, kt.At(time.Minute)), kt.Disrupted), kt.Pod(stores, "store", 2, kt.ExitedAt(1, kt.At(time.Minute))),
	}
	d = plan(t, stores, kt.At(time.Minute), append(three, kt.Pod(stores, "worker", 0, kt.Running))...)
	require.Zero(t, d.Status.DisruptionCount, "one of them was disrupted just now, whatever has ended the others")
	require.Equal(t, 4*time.Second, d.RequeueAfter)

	alone := kt.Job(kt.Type("worker", 1), kt.Type("store", 1, auxiliary), kt.Begun)
	d = plan(t, alone, kt.At(time.Minute+time.Second), kt.Pod(alone, "store", 0, kt.ExitedAt(137, kt.At(time.Minute)), kt.Disrupted), kt.Pod(alone, "worker", 0, kt.Running))
	require.EqualValues(t, 1, d.Status.DisruptionCount, "with scope Replica nobody is excused")
}

func TestThePodOfAnAuxiliaryReplicaHoldsUpNobody(t *testing.T) {
	now := kt.At(55 * time.Minute)
	old, workers := flapping(t, kt.InPlace)
	scaledDown := kt.Pod(old, "tracker", 3, kt.Running)
	job := after(old, plan(t, old, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1])...))
	for name, pod := range map[string]*corev1.Pod{
		"it has ended":                          kt.Pod(old, "tracker", 0, kt.Exited(1)),
		"its grace period is over":              kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now.Add(-time.Minute), 30*time.Second)),
		"it is of this attempt":                 kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second)),
		"it was scaled away, and served nobody": scaledDown,
	} {
		w := kernel.World{Job: job, Pods: append(with(workers, told(1, 1)), pod), Now: now, Settings: kt.Settings, Reports: reports(1, workers...)}
		require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt, name)
	}

	old, _ = flapping(t)
	job = old.DeepCopy()
	job.Status.JobAttempt = 1
	for name, pod := range map[string]*corev1.Pod{
		"it has ended":             kt.Pod(old, "tracker", 0, kt.Exited(1)),
		"its grace period is over": kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now.Add(-time.Minute), 30*time.Second)),
		"it is of this attempt":    kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second)),
	} {
		d := plan(t, job, now, pod)
		require.Contains(t, did(d), "CreatePod worker-1@1", name)
		require.NotContains(t, did(d), "CreatePod tracker-0@1", "its own pod is there still")
	}
}

func TestTheLeastOfAGangIsOfThoseThatAreNotAuxiliary(t *testing.T) {
	minimum := int32(2)
	job := kt.Job(kt.Type("worker", 4), kt.Type("store", 1, auxiliary), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{MinMember: &minimum, T9kScheduler: &v1beta1.T9kScheduler{Queue: "q"}}
	}), kt.Begun)
	d := plan(t, job, kt.Start)
	for _, a := range d.Actions {
		if a.Verb == kernel.ApplyObject {
			require.EqualValues(t, 3, kt.Minimum(a.Object))
			return
		}
	}
	t.Fatal("no PodGroup")
}

func TestAJobOfAuxiliaryReplicasAloneIsInvalid(t *testing.T) {
	job := kt.Job(kt.Type("store", 1, auxiliary))
	d := plan(t, job, kt.Start)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "every type is auxiliary")

	job = kt.Job(kt.Type("worker", 1), kt.Type("store", 1, auxiliary), success(v1beta1.FinishRule{"store": ranks(0)}))
	d = plan(t, job, kt.Start)
	require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "spec.successRules[0].store: this type is auxiliary")
}
