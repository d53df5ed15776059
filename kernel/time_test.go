package kernel_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// startedAt has the code of a running pod have started at a time.
func startedAt(at time.Duration) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.Running(p)
		p.Status.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(kt.At(at))
	}
}

// failedAt has code that started at a time fail at another.
func failedAt(start, end time.Duration) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.ExitedAt(1, kt.At(end))(p)
		p.Status.ContainerStatuses[0].State.Terminated.StartedAt = metav1.NewTime(kt.At(start))
	}
}

// fresh is a job of two replicas that was just created.
func fresh(options ...kt.JobOption) *v1beta1.GenericJob {
	job := kt.Job(append([]kt.JobOption{kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 9))}, options...)...)
	job.CreationTimestamp = metav1.NewTime(kt.Start)
	return job
}

// look has Plan look at pods, and stores the status.
func look(t *testing.T, job *v1beta1.GenericJob, at time.Duration, pods ...*corev1.Pod) *v1beta1.GenericJob {
	t.Helper()
	job = after(job, plan(t, job, kt.At(at), pods...))
	requireWhole(t, job)
	return job
}

// requireWhole checks that the shares of a job's time are its age.
func requireWhole(t *testing.T, job *v1beta1.GenericJob) {
	t.Helper()
	got, sum := job.Status.Time, int64(0)
	if got == nil {
		return
	}
	for _, cause := range v1beta1.TimeCauses {
		sum += *got.Of(cause)
	}
	require.Equal(t, sum, got.Total)
	if got.Open != nil {
		require.Equal(t, got.Since.Add(time.Duration(sum)*time.Second), got.Open.Since.Time)
	}
}

func open(job *v1beta1.GenericJob) v1beta1.TimeCause { return job.Status.Time.Open.Cause }

const (
	second = time.Second
	minute = time.Minute
)

func TestTimeIsSpentByWhatPodsShow(t *testing.T) {
	job := fresh()
	job = look(t, job, 3*second)
	require.Equal(t, v1beta1.TimeStarting, open(job))
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, startedAt(30*second))}
	job = look(t, job, 25*second, both[0])
	job = look(t, job, 35*second, both...)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	require.EqualValues(t, 30, job.Status.Time.Starting)
	require.Equal(t, v1beta1.TimeBasisRunning, job.Status.Time.Basis)

	d := plan(t, job, kt.At(24*time.Hour), both...)
	require.Equal(t, job.Status, d.Status, "a day in which nothing happens is written")

	// A replica fails, and the operator sees it ten minutes later.
	job = look(t, job, 70*minute, both[0], kt.Pod(job, "worker", 1, failedAt(30*second, 60*minute)))
	require.Equal(t, v1beta1.TimeLostToRestart, open(job))
	require.EqualValues(t, 3570, job.Status.Time.Productive)
	require.Equal(t, "0.850", job.Status.Time.Goodput)
	again := kt.Pod(job, "worker", 1, startedAt(72*minute))
	job = look(t, job, 73*minute, both[0], again)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	require.Equal(t, v1beta1.LostTime{Restart: 720}, job.Status.Time.Lost)

	// It ends.
	job = look(t, job, 80*minute, kt.Pod(job, "worker", 0, kt.Exited(0)), kt.Pod(job, "worker", 1, kt.Exited(0)))
	require.Equal(t, v1beta1.JobSucceeded, job.Status.Phase)
	require.Nil(t, job.Status.Time.Open)
	require.Equal(t, v1beta1.TimeShares{Total: 4800, Starting: 30, Productive: 4050, Lost: v1beta1.LostTime{Restart: 720}}, job.Status.Time.TimeShares)
	require.Equal(t, "0.844", job.Status.Time.Goodput)
}

// A hang is found after 20 minutes: the time since the last sign of life was lost, and is moved once.
func TestAHangCountsFromTheLastSignOfLife(t *testing.T) {
	job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)", SteadySeconds: ptr.To[int32](1200)}
	}))
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, 3*second, both...)
	require.Equal(t, v1beta1.TimeBasisSteps, job.Status.Time.Basis)
	hangs := kt.Pod(job, "worker", 1, func(p *corev1.Pod) {
		kt.ExitedAt(124, kt.At(100*minute))(p)
		p.Status.ContainerStatuses[0].State.Terminated.Message = "heartbeat: no line of output matched for 1200 s (steadySeconds), last: \"step 7\""
	})
	job = look(t, job, 101*minute, both[0], hangs)
	require.Equal(t, v1beta1.TimeLostToHang, open(job))
	require.EqualValues(t, 80*60, job.Status.Time.Productive)
	job = look(t, job, 102*minute, both[0], hangs)
	require.EqualValues(t, 80*60, job.Status.Time.Total)
	again := kt.Pod(job, "worker", 1, startedAt(110*minute))
	job = look(t, job, 110*minute, both[0], again)
	require.Equal(t, v1beta1.LostTime{Hang: 30 * 60}, job.Status.Time.Lost)
}

func TestWhatEndsPodsBeginsALoss(t *testing.T) {
	notReady := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(kt.At(5 * minute))},
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
		}
		p.Spec.NodeName = "node"
	}
	for name, c := range map[string]struct {
		end   kt.PodOption
		cause v1beta1.TimeCause
		at    time.Duration
	}{
		"its code fails":            {failedAt(0, 8*minute), v1beta1.TimeLostToRestart, 8 * minute},
		"its node evicts it":        {func(p *corev1.Pod) { kt.FailedWithout("Evicted")(p) }, v1beta1.TimeLostToDisruption, 10 * minute},
		"its node is lost for good": {func(p *corev1.Pod) { kt.FailedWithout("NodeLost")(p); notReady(p) }, v1beta1.TimeLostToNode, 5 * minute},
		"its code gets an exit by node": {func(p *corev1.Pod) {
			kt.ExitedAt(137, kt.At(9*minute))(p)
			p.Status.ContainerStatuses[0].State.Terminated.Reason = "ContainerStatusUnknown"
		}, v1beta1.TimeLostToNode, 9 * minute},
	} {
		t.Run(name, func(t *testing.T) {
			job := fresh()
			first := kt.Pod(job, "worker", 0, startedAt(0))
			job = look(t, job, minute, first, kt.Pod(job, "worker", 1, startedAt(0)))
			job = look(t, job, 10*minute, first, kt.Pod(job, "worker", 1, c.end))
			require.Equal(t, c.cause, open(job))
			require.Equal(t, kt.At(c.at), job.Status.Time.Open.Since.Time)
		})
	}
}

// What is about to end trains until it does, and what is new does not stop the others.
func TestTimeIsProductiveUntilCodeEnds(t *testing.T) {
	job := fresh()
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, minute, both...)
	leaving := kt.Pod(job, "worker", 1, startedAt(0), kt.Deleted(kt.At(2*minute), minute))
	job = look(t, job, 2*minute, both[0], leaving)
	require.Equal(t, v1beta1.TimeProductive, open(job))

	grown := kt.Edited(job, kt.Replicas("worker", 3))
	grown = look(t, grown, 3*minute, both...)
	require.Equal(t, v1beta1.TimeProductive, open(grown))
	require.EqualValues(t, 3, grown.Status.Time.Open.Replicas)
	require.EqualValues(t, 360, grown.Status.Time.ReplicaSeconds.Total)

	final := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartNever, 0)), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.FailureRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(0)}}}
		s.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(0)}}}
	}))
	final.CreationTimestamp = metav1.NewTime(kt.Start)
	final = look(t, final, minute, both...)
	final = look(t, final, 2*minute, both[0], kt.Pod(final, "worker", 1, failedAt(0, 90*second)))
	require.Equal(t, v1beta1.TimeProductive, open(final), "who has failed for good counts as one that runs")
}

func TestAJobThatMayBePlacedInPartTrainsWithItsMinimum(t *testing.T) {
	job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: "q"}, MinMember: ptr.To[int32](1)}
	}))
	one := kt.Pod(job, "worker", 0, startedAt(10*second))
	job = look(t, job, minute, one)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	job = look(t, job, 2*minute, one, kt.Pod(job, "worker", 1, failedAt(0, 90*second)))
	require.Equal(t, v1beta1.TimeProductive, open(job))
	job = look(t, job, 4*minute, kt.Pod(job, "worker", 0, failedAt(0, 3*minute)))
	require.Equal(t, v1beta1.TimeLostToRestart, open(job))
}

// A rule names rank 1, and an edit leaves it out before its pod has come, so the job cannot begin to debug. The other replica alone is not the job.
func TestAJobThatIsBlockedBeforeAllRanDoesNotTrain(t *testing.T) {
	job := fresh(kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(1)}}}
	}))
	job = look(t, job, 3*second)
	alone := kt.Pod(job, "worker", 0, startedAt(20*second))
	job = kt.Edited(kt.Edited(job, func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Replicas = ptr.To[int32](1) }), kt.DebugNow(true))
	job = look(t, job, minute, alone)
	require.Equal(t, v1beta1.ReasonInvalidSpec, condition(job.Status, v1beta1.ConditionBlocked).Reason)
	require.Equal(t, v1beta1.TimeStarting, open(job))
}

func TestPausedTime(t *testing.T) {
	job := fresh()
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, minute, both...)
	job = look(t, kt.Edited(job, kt.PauseNow(true)), 2*minute, both...)
	require.Equal(t, v1beta1.TimePaused, open(job))
	job = look(t, kt.Edited(job, kt.PauseNow(false)), 7*minute)
	require.Equal(t, v1beta1.TimeStarting, open(job))
	require.EqualValues(t, 300, job.Status.Time.Paused)
	require.EqualValues(t, 300, job.Status.PausedSeconds)
	debug := look(t, kt.Edited(job, kt.DebugNow(true)), 9*minute)
	require.Equal(t, v1beta1.TimePaused, open(debug))
}

// The operator was away: the pods started, trained and failed without a look.
func TestTheTrainingThatNobodySawIsFound(t *testing.T) {
	job := look(t, fresh(), 3*second)
	pods := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(20*second)), kt.Pod(job, "worker", 1, failedAt(30*second, 60*minute))}
	job = look(t, job, 90*minute, pods...)
	require.Equal(t, v1beta1.TimeShares{Total: 3600, Starting: 30, Productive: 3570}, job.Status.Time.TimeShares)
	require.Equal(t, v1beta1.TimeLostToRestart, open(job))

	over := look(t, fresh(), 3*second)
	ends := func(p *corev1.Pod) {
		kt.ExitedAt(0, kt.At(50*minute))(p)
		p.Status.ContainerStatuses[0].State.Terminated.StartedAt = metav1.NewTime(kt.At(minute))
	}
	over = look(t, over, 60*minute, kt.Pod(over, "worker", 0, ends), kt.Pod(over, "worker", 1, ends))
	require.Equal(t, v1beta1.JobSucceeded, over.Status.Phase)
	require.Equal(t, v1beta1.TimeShares{Total: 3600, Starting: 60, Productive: 3540}, over.Status.Time.TimeShares)
}

// While replicas wait at the barrier their containers run, and nothing trains.
func TestWhoWaitsAtTheBarrierDoesNotTrain(t *testing.T) {
	job := fresh(kt.InPlace, kt.JobScope)
	both := []*corev1.Pod{kt.Pod(job, "worker", 0, startedAt(0)), kt.Pod(job, "worker", 1, startedAt(0))}
	job = look(t, job, minute, both...)
	require.Equal(t, v1beta1.TimeProductive, open(job))
	failed := kt.Pod(job, "worker", 1, startedAt(125*second), startedAgain(1, 1))
	failed.Status.ContainerStatuses[0].LastTerminationState.Terminated.FinishedAt = metav1.NewTime(kt.At(2 * minute))
	job = look(t, job, 3*minute, both[0], failed)
	require.Equal(t, v1beta1.TimeLostToRestart, open(job))
	require.EqualValues(t, 120, job.Status.Time.Productive)
	job = look(t, job, 4*minute, both[0], failed)
	require.Equal(t, v1beta1.TimeLostToRestart, open(job), "the barrier is closed")
}

// One start writes once more at most, and 5,000 replicas cost no more than two.
func TestTimeIsSmall(t *testing.T) {
	job := kt.Job(kt.Type("worker", 5000, kt.Policy(v1beta1.RestartOnFailure, 9), kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	})))
	job.CreationTimestamp = metav1.NewTime(kt.Start)
	d := kernel.Plan(kernel.World{Job: job, Pods: kt.Pods(job, "worker", 5000, startedAt(minute)), Now: kt.At(2 * minute), Settings: kt.Settings})
	full := d.Status.Time.DeepCopy()
	for _, shares := range []*v1beta1.TimeShares{&full.TimeShares, full.ReplicaSeconds, full.DeviceSeconds} {
		for _, cause := range v1beta1.TimeCauses {
			*shares.Of(cause) = 1 << 52
		}
		shares.Total = 1 << 55
	}
	full.Recomputed, full.RecomputedAtLeast = 1<<40, true
	text, err := json.Marshal(full)
	require.NoError(t, err)
	require.Less(t, len(text), 2048)
}
