package kernel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Where replicas restart alone, a pod may run for days. What follows from another's end was taken for what followed from the last crash that was
// known, however long ago that was.
func TestWhatFollowsBelongsToACrashThatIsNotMendedYet(t *testing.T) {
	const tenMinutes = 600
	back := func(seconds int) kt.PodOption {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].State.Running = &corev1.ContainerStateRunning{}
			p.Status.StartTime = &metav1.Time{Time: kt.At(time.Duration(seconds) * time.Second)}
		}
	}
	for name, tc := range map[string]struct {
		of0   []kt.PodOption // the pod that replaces the one that crashed
		words string
		first int
	}{
		"it runs again since long ago":   {[]kt.PodOption{kt.Running, back(70)}, parted, 3},
		"it has run for half a minute":   {[]kt.PodOption{kt.Running, back(tenMinutes + 30)}, parted, 0},
		"it has found no node yet":       {nil, parted, 0},
		"an exception is its own anyway": {nil, nan, 3},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(3), kt.Begun)
			pods := kt.Pods(job, "worker", 4, kt.Running)
			pods[0] = kt.Pod(job, "worker", 0, crashed(0, 1, nan))
			d := plan(t, job, kt.At(65*time.Second), pods...)
			require.Equal(t, nameOf(job, 0), d.Status.FirstFailure.Pod)
			job = after(job, d)
			pods[0] = kt.Pod(job, "worker", 0, tc.of0...)
			pods[3] = kt.Pod(job, "worker", 3, crashed(tenMinutes, 1, tc.words))
			d = plan(t, job, kt.At(15*time.Minute), pods...)
			require.Equal(t, nameOf(job, tc.first), d.Status.FirstFailure.Pod)
			require.Equal(t, tc.first == 3 && tc.words == parted, d.Status.FirstFailure.Probable)
			require.Equal(t, []string{nameOf(job, 0), nameOf(job, 3)}, podsOf(d.Status.Failures))
		})
	}
}

func podsOf(list []v1beta1.ReplicaFailure) (names []string) {
	for _, f := range list {
		names = append(names, f.Pod)
	}
	return names
}

// After the last failure of a job its pods are told to end. The container of the rank that had failed first was started again meanwhile, and only
// waited: the cause stands in the end before. A pod that is deleted has no reason, and its wrapper was told to end.
func TestARootIsFoundBehindAWrapperThatWaited(t *testing.T) {
	waited := func(second int) kt.PodOption {
		return func(p *corev1.Pod) {
			crashed(second, 1, nan)(p)
			s := &p.Status.ContainerStatuses[0]
			s.LastTerminationState, s.RestartCount, p.Status.Reason = s.State, 1, "DeadlineExceeded"
			s.State.Terminated = s.State.Terminated.DeepCopy()
			s.State.Terminated.ExitCode, s.State.Terminated.Message, s.State.Terminated.FinishedAt.Time = 2, "", kt.At(2*time.Minute)
		}
	}
	deleted := func(p *corev1.Pod) {
		kt.Deleted(kt.At(66*time.Second), 30*time.Second)(p)
		end := p.Status.ContainerStatuses[0].State.Terminated
		p.Status.Reason, end.ExitCode, end.Message = "", 143, "step 3"
	}
	failsItself := func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.State, s.LastTerminationState = s.LastTerminationState, s.State
	}
	none := func(*corev1.Pod) {}
	for name, tc := range map[string]struct {
		second, first int
		then          kt.PodOption
	}{
		"it ended in this start":                               {0, 2, none},
		"it ended in the start before":                         {-30, 0, none},
		"it ended in this start, and is deleted":               {0, 2, deleted},
		"it ended in the start before, and is deleted":         {-30, 0, deleted},
		"its code ran again, and failed before it was deleted": {0, 2, func(p *corev1.Pod) { deleted(p); failsItself(p) }},
	} {
		t.Run(name, func(t *testing.T) {
			job := world4(kt.InPlace, kt.BackoffLimit(0))
			job.Status.InPlace = &v1beta1.InPlaceStatus{BarrierTime: &metav1.MicroTime{Time: kt.At(40 * time.Second)}, RestartTime: &metav1.MicroTime{Time: kt.At(41 * time.Second)}}
			pods := kt.Pods(job, "worker", 4, kt.Running)
			pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
			d := plan(t, job, kt.At(66*time.Second), pods...)
			require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
			job = after(job, d)
			pods[2] = kt.Pod(job, "worker", 2, waited(tc.second), tc.then)
			d = plan(t, job, kt.At(67*time.Second), pods...)
			require.Equal(t, nameOf(job, tc.first), d.Status.FirstFailure.Pod)
			require.EqualValues(t, 1, *d.Status.FirstFailure.ExitCode, "its code's own")
		})
	}
}

// A node that has lost a container's end, as after a reboot, tells of no failure. The first failure had been one without any words.
func TestWhatANodeLostIsNotTheFirstFailure(t *testing.T) {
	lost := func(p *corev1.Pod) {
		diedAt(0, 137, "")(p)
		p.Status.ContainerStatuses[0].LastTerminationState.Terminated.Reason = "ContainerStatusUnknown"
	}
	job := world4(kt.InPlace, kt.BackoffLimit(0))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = with(pods[:1], diedAt(1, 1, parted))[0]
	d := plan(t, job, kt.At(66*time.Second), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	for name, then := range map[string][]kt.PodOption{
		"it runs again":      {kt.Running, lost},
		"... and is deleted": {kt.Exited(143), kt.Deleted(kt.At(66*time.Second), 30*time.Second), lost},
	} {
		pods[2] = kt.Pod(job, "worker", 2, then...)
		require.Equal(t, nameOf(job, 0), plan(t, after(job, d), kt.At(67*time.Second), pods...).Status.FirstFailure.Pod, name)
	}
}

// A kubelet reports that the container has ended before it reports that the pod has. The event had named a rank that followed.
func TestARestartIsToldOfARootWhosePodHasNotEnded(t *testing.T) {
	job := world4()
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(0, 1, parted))
	pods[2] = kt.Pod(job, "worker", 2, crashed(1, 1, nan), func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning })
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
	first := d.Status.FirstFailure
	require.Equal(t, nameOf(job, 2), first.Pod)
	require.Equal(t, first.Summary+"; all replicas are replaced, attempt 1 (restart 1 of 3); this pod was on node node", d.Events[0].Message)
	require.Equal(t, []string{nameOf(job, 2)}, podsOf(d.Status.Failures))
	require.Equal(t, first.Summary+"; it is restarted (restart 1 of 3)", condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
}

// Where each replica restarts alone, too, the root of the last failure may be heard of when the job is over.
func TestARootOfAReplicaThatRestartsAloneIsHeardOfAfterTheEnd(t *testing.T) {
	job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(0), kt.Begun)
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[2] = kt.Pod(job, "worker", 2, crashed(0, 1, parted))
	d := plan(t, job, kt.At(65*time.Second), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	job = after(job, d)
	pods[1] = kt.Pod(job, "worker", 1, crashed(4, 3, "step 3"), kt.Deleted(kt.At(65*time.Second), 2*time.Second))
	d = plan(t, job, kt.At(66*time.Second), pods...)
	require.Equal(t, nameOf(job, 1), d.Status.FirstFailure.Pod)
	require.False(t, d.Status.FirstFailure.Probable)
}

// A job that fails deletes what still runs. Such a pod may be the one whose failure the others followed from.
func TestAPodThatMayBeTheCauseIsDeletedAndNotReleased(t *testing.T) {
	job := world4(kt.BackoffLimit(0), cleanUp(v1beta1.CleanUpUnfinished))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
	pods[3] = kt.Pod(job, "worker", 3)
	d := plan(t, job, kt.At(65*time.Second), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.True(t, d.Status.FirstFailure.Probable)
	of := func(verb string, ranks ...int) (list []string) {
		for _, rank := range ranks {
			list = append(list, fmt.Sprintf("%s worker-%d", verb, rank))
		}
		return list
	}
	require.ElementsMatch(t, slices.Concat(of("ReleasePod", 0, 3), of("DeletePod", 1, 2, 3)), did(d), "what has ended, or never began, tells nothing more")
	require.Equal(t, time.Minute, d.RequeueAfter)

	job = after(job, d)
	pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted), kt.Released)
	for rank := 1; rank < 3; rank++ {
		pods[rank] = kt.Pod(job, "worker", rank, kt.Running, kt.Deleted(kt.At(65*time.Second), 30*time.Second))
	}
	pods = pods[:3]
	d = plan(t, job, kt.At(66*time.Second), pods...)
	require.Empty(t, did(d))
	require.Equal(t, 59*time.Second, d.RequeueAfter)
	require.ElementsMatch(t, of("ReleasePod", 1, 2), did(plan(t, job, kt.At(125*time.Second), pods...)), "after a minute nobody waits for their ends")
	require.Empty(t, did(plan(t, job, kt.At(20*time.Second), pods...)), "two operators have two clocks")
	require.ElementsMatch(t, of("ReleasePod", 1, 2), did(plan(t, job, kt.At(-time.Hour), pods...)), "nor does somebody whose clock was set back")

	pods[2] = kt.Pod(job, "worker", 2, crashed(6, 1, nan), kt.Deleted(kt.At(65*time.Second), 30*time.Second))
	d = plan(t, job, kt.At(67*time.Second), pods...)
	require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
	require.ElementsMatch(t, of("ReleasePod", 1, 2), did(d), "the cause is known")
}

// That holds for each policy that deletes, in both restart scopes; not for what has only served the others.
func TestWhoMayBeTheCause(t *testing.T) {
	for _, policy := range []v1beta1.CleanUpPolicy{v1beta1.CleanUpUnfinished, v1beta1.CleanUpAll} {
		for scope, option := range map[string]kt.JobOption{"Job": kt.JobScope, "Replica": func(*v1beta1.GenericJob) {}} {
			t.Run(string(policy)+" "+scope, func(t *testing.T) {
				job := kt.Job(kt.Type("worker", 2, kt.Policy(onFailure, -1)), kt.Type("store", 1, auxiliary), option, kt.BackoffLimit(0), cleanUp(policy), kt.Begun)
				pods := append(kt.Pods(job, "worker", 2, kt.Running), kt.Pod(job, "store", 0, kt.Running))
				pods[0] = kt.Pod(job, "worker", 0, crashed(1, 1, parted))
				d := plan(t, job, kt.At(65*time.Second), pods...)
				require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
				require.Contains(t, did(d), "DeletePod worker-1")
				require.NotContains(t, did(d), "ReleasePod worker-1")
				require.Subset(t, did(d), []string{"ReleasePod worker-0", "ReleasePod store-0", "DeletePod store-0"})
			})
		}
	}
}

// Where replicas restart alone, and none is left to any, several fail for good at once. What had ended first was told, whatever it followed from.
func TestOfFinalFailuresTheFirstIsTold(t *testing.T) {
	job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(0), kt.Begun)
	pods := kt.Pods(job, "worker", 4, kt.Running)
	pods[1] = kt.Pod(job, "worker", 1, crashed(0, 1, parted))
	pods[2] = kt.Pod(job, "worker", 2, crashed(2, 1, nan))
	d := plan(t, job, kt.At(63*time.Second), pods...)
	require.Equal(t, nameOf(job, 2), d.Status.FirstFailure.Pod)
	for _, said := range []string{
		condition(d.Status, v1beta1.ConditionFailed).Message, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, d.Events[0].Message, d.Events[1].Message,
	} {
		require.Contains(t, said, d.Status.FirstFailure.Summary+"; no restarts are left")
		require.NotContains(t, said, "closed by peer")
	}
}

// Hundreds of ends that follow from the first failure may be heard of after it. Each of them was a write of its own, of a status with as many rows.
func TestWhoFollowedIsCountedOnceASecond(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"of a job that has failed": {kt.BackoffLimit(0)}, "of a job that restarts": nil} {
		t.Run(name, func(t *testing.T) {
			begun := world4(options...)
			pods := kt.Pods(begun, "worker", 4, kt.Running)
			pods[0] = kt.Pod(begun, "worker", 0, crashed(1, 1, nan))
			job := after(begun, plan(t, begun, kt.At(65*time.Second), pods...))
			said := condition(job.Status, v1beta1.ConditionReplicaFailure).Message
			for rank := 1; rank < 3; rank++ {
				pods[rank] = kt.Pod(begun, "worker", rank, crashed(1, 1, parted))
				d := plan(t, job, kt.At(65*time.Second+time.Duration(rank)*10*time.Millisecond), pods...)
				require.Equal(t, job.Status.FirstFailure, d.Status.FirstFailure)
				require.NotZero(t, d.RequeueAfter)
			}
			d := plan(t, job, kt.At(66*time.Second), pods...)
			first := d.Status.FirstFailure
			require.EqualValues(t, 2, first.Others)
			require.Equal(t, strings.Replace(said, job.Status.FirstFailure.Summary, first.Summary, 1), condition(d.Status, v1beta1.ConditionReplicaFailure).Message)
			require.Empty(t, d.Events)
			job = after(job, d)

			pods[3] = kt.Pod(begun, "worker", 3, crashed(0, 139, ""))
			d = plan(t, job, kt.At(66*time.Second), pods...)
			require.Equal(t, nameOf(job, 3), d.Status.FirstFailure.Pod, "a cause does not wait")
		})
	}
}
