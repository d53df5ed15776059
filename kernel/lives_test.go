package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// living is a job whose replica 0 has had three short lives in a row. Its pods start and fail at minutes after the beginning.
type living struct {
	t    *testing.T
	job  *v1beta1.GenericJob
	pods map[int]*corev1.Pod
}

// livesOf has a job of some workers, whose pods are there and wait for nodes.
func livesOf(t *testing.T, n int32, options ...kt.JobOption) *living {
	t.Helper()
	job := kt.Job(append(append([]kt.JobOption{kt.Type("worker", n, kt.Policy(v1beta1.RestartOnFailure, -1)), kt.BackoffLimit(99)}, options...), kt.Begun)...)
	l := &living{t, job, map[int]*corev1.Pod{}}
	l.job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 3}}}}
	return l
}

// minutes is the time so many minutes after the beginning.
func minutes(n float64) time.Time { return kt.At(time.Duration(n * float64(time.Minute))) }

// starts has the code of a replica start, in a pod that the kubelet has had for half an hour, because its image is large.
func (l *living) starts(rank int, at float64) *living {
	l.pods[rank] = kt.Pod(l.job, "worker", rank, startedAt(minutes(at).Sub(kt.Start)), kt.StartedAt(minutes(at-30)), withIP)
	return l
}

// fails has the code that runs end. In place, the kubelet starts its container again.
func (l *living) fails(rank int, at float64) *living {
	p := l.pods[rank].DeepCopy()
	s := &p.Status.ContainerStatuses[0]
	e := &corev1.ContainerStateTerminated{ExitCode: 1, StartedAt: s.State.Running.StartedAt, FinishedAt: metav1.NewTime(minutes(at))}
	if l.job.Spec.RestartStrategy == v1beta1.RestartInPlace {
		s.RestartCount++
		s.LastTerminationState = corev1.ContainerState{Terminated: e}
		s.State.Running.StartedAt = e.FinishedAt
	} else {
		s.State, p.Status.Phase = corev1.ContainerState{Terminated: e}, corev1.PodFailed
	}
	l.pods[rank] = p
	return l
}

// sees has the operator look at the pods that have started.
func (l *living) sees(at float64) *living {
	l.t.Helper()
	var pods []*corev1.Pod
	for _, p := range l.pods {
		pods = append(pods, p)
	}
	l.job = look(l.t, l.job, minutes(at).Sub(kt.Start), pods...)
	return l
}

// scales has a user change the number of replicas.
func (l *living) scales(n int32) *living {
	l.job = kt.Edited(l.job, kt.Replicas("worker", n))
	return l
}

// streak is the longest one that a replica has now: 1 if a long life has ended the one before.
func (l *living) streak() (longest int32) {
	for _, r := range ledger(l.job.Status, "worker").Replicas {
		longest = max(longest, r.Streak)
	}
	return longest
}

func minMember(n int32) kt.JobOption {
	return kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}, MinMember: ptr.To(n)}
	})
}

// Replicas that restart together live together: from when enough of them run until the first ends. Ten minutes of that end a streak.
func TestReplicasThatRestartTogetherLiveTogether(t *testing.T) {
	const short, long = 4, 1
	for name, c := range map[string]struct {
		n       int32
		options []kt.JobOption
		lives   func(*living) *living
		want    int32
	}{
		"all run for ten minutes":         {2, nil, func(l *living) *living { return l.starts(0, 1).starts(1, 1).sees(2).fails(1, 11).sees(11) }, long},
		"... and nobody looks meanwhile":  {2, nil, func(l *living) *living { return l.starts(0, 1).starts(1, 1).fails(1, 11).sees(12) }, long},
		"... a second less":               {2, nil, func(l *living) *living { return l.starts(0, 1).starts(1, 1).sees(2).fails(1, 10.98).sees(11) }, short},
		"one has never run":               {2, nil, func(l *living) *living { return l.starts(0, 0).sees(1).fails(0, 60).sees(60) }, short},
		"one has come late":               {2, nil, func(l *living) *living { return l.starts(0, 0).sees(1).starts(1, 55).sees(56).fails(0, 60).sees(60) }, short},
		"... and nobody looks meanwhile ": {2, nil, func(l *living) *living { return l.starts(0, 0).starts(1, 55).fails(0, 60).sees(60) }, short},
		"one has come late, but long ago": {2, nil, func(l *living) *living { return l.starts(0, 0).sees(1).starts(1, 40).sees(41).fails(1, 60).sees(60) }, long},
		"enough run for ten minutes":      {3, []kt.JobOption{minMember(2)}, func(l *living) *living { return l.starts(0, 1).starts(2, 1).sees(2).fails(0, 11).sees(11) }, long},
		"too few do":                      {3, []kt.JobOption{minMember(2)}, func(l *living) *living { return l.starts(0, 1).sees(2).fails(0, 60).sees(60) }, short},
		"enough run, and one more comes": {3, []kt.JobOption{minMember(2)}, func(l *living) *living {
			return l.starts(0, 1).starts(1, 1).sees(2).starts(2, 59).sees(59).fails(2, 60).sees(60)
		}, long},
		"... and nobody looks meanwhile  ": {3, []kt.JobOption{minMember(2)}, func(l *living) *living { return l.starts(0, 1).starts(1, 1).starts(2, 59).fails(2, 60).sees(60) }, long},
		"... and it is first seen with them": {3, []kt.JobOption{minMember(2)}, func(l *living) *living {
			return l.starts(0, 1).starts(1, 1).starts(2, 59).sees(59).fails(2, 60).sees(60)
		}, long},
		"a scale adds one in the middle": {2, nil, func(l *living) *living {
			return l.starts(0, 0).starts(1, 0).sees(1).scales(3).sees(58).starts(2, 59).sees(59).fails(2, 60).sees(60)
		}, long},
		"... which never runs": {2, nil, func(l *living) *living {
			return l.starts(0, 0).starts(1, 0).sees(1).scales(3).sees(58).fails(1, 60).sees(60)
		}, long},
		"a scale adds several, one by one": {2, nil, func(l *living) *living {
			l.starts(0, 0).starts(1, 0).sees(1)
			for n := range 30 {
				l.scales(int32(3+n)).sees(float64(2+n)).starts(2+n, float64(2+n))
			}
			return l.fails(1, 60).sees(60)
		}, long},
		"a scale comes before all have run": {2, nil, func(l *living) *living {
			return l.starts(0, 0).sees(1).scales(3).sees(2).starts(1, 3).sees(4).fails(1, 60).sees(60)
		}, short},
		"the operator is down when one fails": {2, nil, func(l *living) *living { return l.starts(0, 0).starts(1, 0).sees(1).fails(1, 2).sees(60) }, short},
		"... and the others run on":           {3, []kt.JobOption{minMember(2)}, func(l *living) *living { return l.starts(0, 0).starts(1, 0).starts(2, 0).sees(1).fails(1, 2).sees(60) }, short},
		"a life of less than a second":        {2, nil, func(l *living) *living { return l.starts(0, 0).starts(1, 0).fails(1, 0).sees(60) }, short},
		"... of all":                          {2, nil, func(l *living) *living { return l.starts(0, 0).starts(1, 0).fails(0, 0).fails(1, 0).sees(60) }, short},
	} {
		for kind, strategy := range map[string]kt.JobOption{"new pods": func(*v1beta1.GenericJob) {}, "in place": kt.InPlace} {
			t.Run(name+", "+kind, func(t *testing.T) {
				l := c.lives(livesOf(t, c.n, append([]kt.JobOption{kt.JobScope, strategy}, c.options...)...))
				require.Equal(t, c.want, l.streak())
				require.EqualValues(t, 1, l.job.Status.JobAttempt)
			})
		}
	}
}

// The second attempt begins anew: how long the first has lived says nothing of it.
func TestASecondFailureWhileTheFirstWaitsIsAShortLife(t *testing.T) {
	l := livesOf(t, 2, kt.JobScope).starts(0, 0).starts(1, 0).sees(1).fails(1, 60).sees(60)
	require.EqualValues(t, 1, l.streak())
	clear(l.pods)
	l.starts(0, 61).sees(62).fails(0, 90).sees(90) // its peer has no node
	require.EqualValues(t, 2, l.streak())
	require.EqualValues(t, 2, l.job.Status.JobAttempt)

	l = livesOf(t, 2, kt.JobScope, kt.InPlace).starts(0, 0).starts(1, 0).sees(1).fails(1, 60).sees(60)
	require.EqualValues(t, 1, l.streak())
	l.pods[1] = with([]*corev1.Pod{l.pods[1]}, goes(1, 1))[0]
	l.fails(1, 90).sees(90) // the barrier is closed, because its peer has not stopped
	require.EqualValues(t, 1, l.streak(), "what ends at the barrier is of the attempt before")
}

// A replica that restarts alone lives from when its code started until that ended.
func TestAReplicaThatRestartsAloneHasALifeOfItsOwn(t *testing.T) {
	const short, long = 4, 1
	for name, c := range map[string]struct {
		lives func(*living) *living
		want  int32
	}{
		"ten minutes":                   {func(l *living) *living { return l.starts(0, 1).sees(2).fails(0, 11).sees(11) }, long},
		"a second less":                 {func(l *living) *living { return l.starts(0, 1).sees(2).fails(0, 10.98).sees(11) }, short},
		"the operator is down":          {func(l *living) *living { return l.starts(0, 1).sees(2).fails(0, 3).sees(60) }, short},
		"less than a second":            {func(l *living) *living { return l.starts(0, 1).fails(0, 1).sees(60) }, short},
		"its peer has never run":        {func(l *living) *living { return l.starts(0, 1).sees(2).fails(0, 20).sees(20) }, long},
		"its peer has lived for longer": {func(l *living) *living { return l.starts(1, 1).starts(0, 50).sees(51).fails(0, 55).sees(55) }, short},
	} {
		for kind, strategy := range map[string]kt.JobOption{"new pods": func(*v1beta1.GenericJob) {}, "in place": kt.InPlace} {
			t.Run(name+", "+kind, func(t *testing.T) {
				require.Equal(t, c.want, c.lives(livesOf(t, 2, strategy)).streak())
			})
		}
	}
}

// The same after the first failure of a series, which no delay follows.
func TestCodeThatWaitsInItsPodWithoutDelayDoesNotLiveYet(t *testing.T) {
	for name, tc := range map[string]struct {
		seen, fails float64
		want        int32
	}{
		"the operator is there":                        {1, 12, 1},
		"it was down for 19 minutes":                   {20, 21, 2},
		"... and the code lives for long all the same": {20, 30, 1},
	} {
		job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, -1)), kt.BackoffLimit(99), kt.InPlace, kt.Begun)
		l := (&living{t, job, map[int]*corev1.Pod{}}).starts(0, 0).fails(0, 1).sees(tc.seen)
		require.EqualValues(t, 1, l.streak(), name)
		l.pods[0] = with([]*corev1.Pod{l.pods[0]}, goes(1, 0))[0]
		require.Equal(t, tc.want, l.fails(0, tc.fails).sees(tc.fails).streak(), name)
	}
}

// The operator was away. In place the kubelet has started the container again meanwhile, and the code waited in it: that is no part of its life.
func TestCodeThatWaitsInItsPodDoesNotLiveYet(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, -1)), kt.BackoffLimit(99), kt.InPlace, kt.Begun)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 1}}}}
	l := (&living{t, job, map[int]*corev1.Pod{}}).starts(0, 0).fails(0, 1).sees(20)
	require.EqualValues(t, 2, l.streak())
	l.pods[0] = with([]*corev1.Pod{l.pods[0]}, goes(1, 0))[0]
	require.EqualValues(t, 3, l.fails(0, 21).sees(21).streak(), "its container ran for 20 minutes, and its code for one")
}

// A kubelet that does not find a container any more knows neither when its code started nor when it ended. It has had the pod for twenty minutes.
func TestCodeOfUnknownStartLivesSinceTheKubeletHadItsPod(t *testing.T) {
	for name, options := range map[string][]kt.JobOption{"scope Job": {kt.JobScope}, "scope Replica": nil} {
		t.Run(name, func(t *testing.T) {
			for age, want := range map[time.Duration]int32{20 * minute: 1, 9 * minute: 4} {
				l := livesOf(t, 1, options...)
				l.pods[0] = kt.Pod(l.job, "worker", 0, kt.ExitedAt(137, time.Time{}), kt.StartedAt(minutes(60).Add(-age)), func(p *corev1.Pod) {
					s := &p.Status.ContainerStatuses[0]
					s.ContainerID, s.State.Terminated.Reason = "containerd://1", "ContainerStatusUnknown"
				})
				require.Equal(t, want, l.sees(60).streak())
				require.Equal(t, kt.At(60*minute), l.job.Status.Time.Open.Since.Time)
			}
		})
	}
}

// Of the pods that run together, one tells no start. It began at the earliest when its kubelet had it: before that, too few ran.
func TestAStartThatNobodyKnowsIsNoEarlierThanThePod(t *testing.T) {
	l := livesOf(t, 3, kt.JobScope, minMember(2)).starts(0, 1).starts(1, 59)
	l.pods[2] = kt.Pod(l.job, "worker", 2, kt.ExitedAt(137, time.Time{}), kt.StartedAt(minutes(55)), func(p *corev1.Pod) {
		s := &p.Status.ContainerStatuses[0]
		s.ContainerID, s.State.Terminated.Reason = "containerd://1", "ContainerStatusUnknown"
	})
	require.EqualValues(t, 4, l.sees(60).streak(), "two ran together for five minutes")
}
