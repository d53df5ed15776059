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

// flapping is a job of two workers and a tracker. The tracker has failed so often that it waits for five minutes, an hour after the
// start.
func flapping(t *testing.T, options ...kt.JobOption) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2), kt.Type("tracker", 1, auxiliary), kt.JobScope, kt.BackoffLimit(9)}, append(options, kt.Begun)...)...)
	workers := kt.Pods(job, "worker", 2, kt.Running, withIP)
	job = after(job, plan(t, job, kt.Start, append(deepCopies(workers), kt.Pod(job, "tracker", 0, kt.Running))...))
	for i := range 10 {
		now := kt.At(time.Duration(i*6) * time.Minute)
		job = after(job, plan(t, job, now, append(deepCopies(workers), kt.Pod(job, "tracker", 0, kt.Exited(0), kt.StartedAt(now.Add(-time.Minute))))...))
	}
	require.NotNil(t, ledger(job.Status, "tracker").Replicas[0].NotBefore)
	return job, workers
}

// failedAfter has the code of a pod fail which has run for so long.
func failedAfter(lived time.Duration, now time.Time) kt.PodOption {
	return func(p *corev1.Pod) {
		startedAgain(1, 9)(p)
		e := p.Status.ContainerStatuses[0].LastTerminationState.Terminated
		e.StartedAt, e.FinishedAt = metav1.NewTime(now.Add(-lived)), metav1.NewTime(now)
	}
}

func TestTheStreakOfAnAuxiliaryReplicaIsItsOwn(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"in place": {kt.InPlace}, "replaced": nil} {
		job, workers := flapping(t, options...)
		now := kt.At(time.Hour)
		ends := []kt.PodOption{failedAfter(5*time.Minute, now)}
		if options == nil {
			ends = []kt.PodOption{kt.ExitedAt(9, now), kt.StartedAt(now.Add(-5 * time.Minute))}
		}
		d := plan(t, job, now, append(with(workers[:1], ends...), workers[1])...)
		require.EqualValues(t, 1, d.Status.JobAttempt, name)
		record := ledger(d.Status, "worker").Replicas[0]
		require.EqualValues(t, 1, record.Streak, name)
		require.Nil(t, record.NotBefore, name)
	}
}

func TestAnAuxiliaryReplicaDoesNotWaitForTheStreakOfTheOthers(t *testing.T) {
	job := kt.Job(kt.JobScope, kt.BackoffLimit(9), kt.Type("worker", 2), kt.Type("tracker", 1, auxiliary), kt.Begun)
	job.Status.JobAttempt = 9
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 9}}}}
	d := plan(t, job, kt.At(time.Minute), append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "tracker", 0, kt.Exited(0), kt.StartedAt(kt.Start)))...)
	require.EqualValues(t, 1, ledger(d.Status, "tracker").Replicas[0].Streak)
	require.EqualValues(t, 9, ledger(d.Status, "worker").Replicas[0].Streak)
}

func TestTheDelayOfAnAuxiliaryReplicaIsItsOwn(t *testing.T) {
	now := kt.At(55 * time.Minute)
	job, _ := flapping(t)
	job.Status.JobAttempt = 1
	d := plan(t, job, now)
	require.Equal(t, []string{"CreatePod worker-0@1", "CreatePod worker-1@1"}, did(d), "the tracker comes later")
	require.Positive(t, d.RequeueAfter)

	job, workers := flapping(t, kt.InPlace)
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1])...))
	w := kernel.World{Job: job, Pods: with(workers, told(1, 1)), Now: now, Settings: kt.Settings, Reports: reports(1, workers...)}
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt, "it is no member of the barrier")

	// Whoever else fails often waits, and the tracker does not wait for that.
	job.Status.Ledger = nil
	notBefore := metav1.NewTime(now.Add(5 * time.Minute))
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 10, NotBefore: &notBefore}}}}
	w.Job = job
	d = planWorld(t, w)
	require.EqualValues(t, 0, d.Status.InPlace.StartedJobAttempt)
	require.Equal(t, []string{"CreatePod tracker-0@1"}, did(d))
}

// A store that still serves the last attempt would have the members of the next meet there.
func TestNobodyMeetsTheAuxiliaryReplicaOfAnEarlierAttempt(t *testing.T) {
	now := kt.At(55 * time.Minute)
	old, _ := flapping(t)
	goes := kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job := old.DeepCopy()
	job.Status.JobAttempt = 1
	for name, store := range map[string]*corev1.Pod{
		"it is to be deleted":      kt.Pod(old, "tracker", 0, kt.Running),
		"it is being deleted":      goes,
		"its kubelet may be late":  kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now.Add(-32*time.Second), 30*time.Second)),
		"it has not begun to run":  kt.Pod(old, "tracker", 0, kt.Scheduled, kt.Deleted(now, 30*time.Second)),
		"somebody else deletes it": kt.Pod(old, "tracker", 0, kt.Running, kt.Disrupted, kt.Deleted(now, 30*time.Second)),
	} {
		require.NotContains(t, did(plan(t, job, now, store)), "CreatePod worker-1@1", name)
	}
	d := plan(t, job, now, goes)
	require.Contains(t, did(plan(t, job, now.Add(d.RequeueAfter), goes)), "CreatePod worker-1@1", "after its grace period nothing runs there, whatever its node says")

	// The same with all others in their pods.
	job, workers := flapping(t, kt.InPlace)
	goes = kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1], goes)...))
	w := kernel.World{Job: job, Pods: append(with(workers, told(1, 1)), goes), Now: now, Settings: kt.Settings, Reports: reports(1, workers...)}
	d = planWorld(t, w)
	require.Zero(t, d.Status.InPlace.StartedJobAttempt)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "Waiting for replica tracker-0: its pod is Terminating")
	w.Now = now.Add(d.RequeueAfter)
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt)
}

// An operator that has just started knows nothing but what is stored: it neither begins sooner nor waits anew.
func TestAnOperatorThatRestartsWaitsForAnOldStoreAsLongAsTheOneBefore(t *testing.T) {
	now := kt.At(55 * time.Minute)
	old, _ := flapping(t)
	goes := kt.Pod(old, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job := old.DeepCopy()
	job.Status.JobAttempt = 1
	wait := plan(t, job, now, goes).RequeueAfter
	require.GreaterOrEqual(t, wait, 30*time.Second)

	half := now.Add(wait / 2)
	job.Status = stored(t, job.Status)
	d := plan(t, job, half, goes)
	require.NotContains(t, did(d), "CreatePod worker-1@1")
	require.Equal(t, now.Add(wait), half.Add(d.RequeueAfter))
	require.Contains(t, did(plan(t, job, now.Add(wait), goes)), "CreatePod worker-1@1")

	// The same with all others in their pods. What they have reported is asked for again.
	job, workers := flapping(t, kt.InPlace)
	goes = kt.Pod(job, "tracker", 0, kt.Running, kt.Deleted(now, 30*time.Second))
	job = after(job, plan(t, job, now, append(with(workers[:1], failedAfter(time.Minute, now)), workers[1], goes)...))
	job.Status = stored(t, job.Status)
	w := kernel.World{Job: job, Pods: append(with(workers, told(1, 1)), goes), Now: half, Settings: kt.Settings}
	require.Zero(t, planWorld(t, w).Status.InPlace.StartedJobAttempt)
	w.Reports = reports(1, workers...)
	require.Zero(t, planWorld(t, w).Status.InPlace.StartedJobAttempt)
	w.Now = now.Add(wait)
	require.EqualValues(t, 1, planWorld(t, w).Status.InPlace.StartedJobAttempt)
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
