package kernel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

const (
	silent   = `heartbeat: no line of output matched for 30 s (steadySeconds), last: "step 3"`
	inData   = "at: /train.py:57, in wait_for_data\noutput:\n" + silent
	inReduce = "at: /train.py:67, in main\nfollows: it waits for a peer\noutput:\n" + silent
)

// hung is a job whose replicas restart alone, and of which each code that hangs ends.
func hung(options ...kt.JobOption) *v1beta1.GenericJob {
	beat := kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step", StartupSeconds: ptr.To[int32](600), SteadySeconds: ptr.To[int32](30)}
	})
	return kt.Job(append(append([]kt.JobOption{kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(3), beat}, options...), kt.Begun)...)
}

// ended is how a container ends, so many seconds after a minute from its start.
func ended(began, second int, words string) kt.PodOption {
	return func(p *corev1.Pod) {
		crashed(second, 124, words)(p)
		p.Status.ContainerStatuses[0].State.Terminated.StartedAt.Time = kt.At(time.Duration(began) * time.Second)
	}
}

// One rank hung, its peers waited for it, and each wrapper found that: a hang had spent all restarts.
func TestAHangIsCountedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		ends     map[int]kt.PodOption
		restarts int32
		first    int
	}{
		"all within a second":                  {map[int]kt.PodOption{0: ended(0, 0, inReduce), 1: ended(0, 0, inReduce), 2: ended(0, 1, inData), 3: ended(0, 0, inReduce)}, 1, 2},
		"one alone":                            {map[int]kt.PodOption{2: ended(0, 0, inData)}, 1, 2},
		"as far apart as a step may take":      {map[int]kt.PodOption{0: ended(0, 0, inReduce), 2: ended(0, 29, inData)}, 1, 2},
		"who has made a step since hangs anew": {map[int]kt.PodOption{1: ended(0, 0, inData), 2: ended(0, 30, inData)}, 2, 1},
		"so does code that has begun since":    {map[int]kt.PodOption{1: ended(0, 0, inData), 2: ended(61, 20, inData)}, 2, -1},
		"another failure is counted":           {map[int]kt.PodOption{0: ended(0, 0, inReduce), 2: ended(0, 0, inData), 3: crashed(0, 1, nan)}, 2, 2},
		"a code that is the program's own is":  {map[int]kt.PodOption{0: crashed(0, 124, "timeout"), 2: crashed(0, 124, "timeout")}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for how, together := range map[string]bool{"one by one": false, "all at once": true} {
				job := hung()
				pods := kt.Pods(job, "worker", 4, kt.Running)
				for rank := range pods {
					if end := tc.ends[rank]; end != nil {
						pods[rank] = kt.Pod(job, "worker", rank, end)
						if !together {
							job.Status = plan(t, job, kt.At(2*time.Minute), pods...).Status
						}
					}
				}
				d := plan(t, job, kt.At(2*time.Minute), pods...)
				require.Equal(t, tc.restarts, d.Status.BackoffCount, how)
				if together && tc.restarts == 1 {
					require.Contains(t, d.Events[0].Message, "Pod["+nameOf(job, tc.first)+"] exited with error code 124")
					require.True(t, d.Events[0].Warning, "the first is the one that is counted")
				}
				if tc.first >= 0 { // else it depends on what was seen when
					require.Equal(t, nameOf(job, tc.first), d.Status.FirstFailure.Pod, how)
				}
				require.Len(t, d.Status.Ledger[0].Replicas, len(tc.ends), how)
				for _, r := range d.Status.Ledger[0].Replicas {
					require.EqualValues(t, 1, r.Attempt, "each is run again: %d, %s", r.Rank, how)
				}
			}
		})
	}
}

// A hang was counted again for each replica that was found more than four seconds later, if another failure was the first.
func TestAHangIsCountedOnceWhateverFailureCameFirst(t *testing.T) {
	const closed = "RuntimeError: Connection closed by peer [10.0.0.1]:29500"
	type step struct {
		replicaType string
		rank        int
		ends        kt.PodOption
	}
	for name, tc := range map[string]struct {
		ends     []step // in the order in which they are heard of
		restarts int32
	}{
		"a crash":                {[]step{{"worker", 3, crashed(0, 1, nan)}, {"worker", 0, ended(0, 30, inData)}, {"worker", 1, ended(0, 36, inReduce)}, {"worker", 2, ended(0, 50, inReduce)}}, 2},
		"... told after it":      {[]step{{"worker", 0, ended(0, 10, inData)}, {"worker", 3, crashed(5, 1, nan)}, {"worker", 1, ended(0, 20, inReduce)}}, 2},
		"the hang of a peer":     {[]step{{"worker", 0, ended(0, 0, inReduce)}, {"worker", 1, ended(0, 20, inData)}, {"worker", 2, ended(0, 29, inReduce)}}, 1},
		"... and not after that": {[]step{{"worker", 0, ended(0, 0, inReduce)}, {"worker", 1, ended(0, 20, inData)}, {"worker", 2, ended(0, 35, inReduce)}}, 2},
		"it, and many follow": {[]step{
			{"worker", 0, ended(0, 0, inData)}, {"peer", 0, crashed(1, 1, closed)}, {"peer", 1, crashed(1, 1, closed)}, {"peer", 2, crashed(2, 1, closed)},
			{"peer", 3, crashed(2, 1, closed)}, {"peer", 4, crashed(2, 1, closed)}, {"peer", 5, crashed(3, 1, closed)}, {"worker", 1, ended(0, 20, inReduce)},
		}, 7},
	} {
		t.Run(name, func(t *testing.T) {
			job := hung(kt.Type("peer", 6, kt.Policy(onFailure, -1)), kt.BackoffLimit(20))
			pods := map[string][]*corev1.Pod{"worker": kt.Pods(job, "worker", 4, kt.Running), "peer": kt.Pods(job, "peer", 6, kt.Running)}
			for _, e := range tc.ends {
				pods[e.replicaType][e.rank] = kt.Pod(job, e.replicaType, e.rank, e.ends)
				job.Status = plan(t, job, kt.At(2*time.Minute), slices.Concat(pods["worker"], pods["peer"])...).Status
			}
			require.Equal(t, tc.restarts, job.Status.BackoffCount)
		})
	}
}

// A hang is no disruption. A policy that does not restart code that hangs is named as it is.
func TestWhoHangsWithOthersMayFailByItsOwnPolicy(t *testing.T) {
	for _, policy := range []v1beta1.RestartPolicyType{never, exitCode} {
		job := hung(kt.Type("launcher", 1, kt.Policy(policy, -1)))
		pods := append(kt.Pods(job, "worker", 4, kt.Running), kt.Pod(job, "launcher", 0, ended(0, 1, inReduce)))
		pods[0] = kt.Pod(job, "worker", 0, ended(0, 0, inData))
		d := plan(t, job, kt.At(2*time.Minute), pods...)
		require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
		message := condition(d.Status, v1beta1.ConditionFailed).Message
		require.Contains(t, message, fmt.Sprintf("restart policy %s does not restart it", policy))
		require.NotContains(t, message, v1beta1.ReasonDisrupted)
	}
}

// Who hangs with a replica that no restart is left for is not run again either: it would wait for ever.
func TestAHangThatNoRestartIsLeftForEndsAll(t *testing.T) {
	job := hung(kt.BackoffLimit(0))
	pods := kt.Pods(job, "worker", 4, kt.Running)
	for rank := range pods {
		pods[rank] = kt.Pod(job, "worker", rank, ended(0, 0, inReduce))
	}
	d := plan(t, job, kt.At(2*time.Minute), pods...)
	require.Equal(t, v1beta1.JobFailed, d.Status.Phase)
	require.Equal(t, "0-3", d.Status.Ledger[0].Failed)

	job = hung(kt.BackoffLimit(1))
	pods[0] = kt.Pod(job, "worker", 0, ended(0, 0, inReduce))
	d = plan(t, job, kt.At(2*time.Minute), pods...)
	require.EqualValues(t, 1, d.Status.BackoffCount, "the last restart is for all of the hang")
	require.Empty(t, d.Status.Ledger[0].Failed)
}

// A rule did not count the hang of one type, which came first. Then no hang that came with it was counted, and the job hung for ever.
func TestAHangThatARuleDoesNotCountExcusesNoOther(t *testing.T) {
	rule := uncounted(on(restarts, 124))
	rule.Match.Types = []string{"loader"}
	type step struct {
		pod  string
		rank int
		at   int // seconds after the first
	}
	for name, tc := range map[string]struct {
		ends               []step
		restarts, excepted int32
	}{
		"it hangs first":                 {[]step{{"loader", 0, 0}, {"worker", 0, 2}}, 1, 1},
		"... and two workers":            {[]step{{"loader", 0, 0}, {"worker", 0, 2}, {"worker", 1, 20}}, 1, 1},
		"... and both of its own":        {[]step{{"loader", 0, 0}, {"loader", 1, 1}, {"worker", 0, 2}, {"worker", 1, 3}}, 1, 1},
		"... and a worker hangs anew":    {[]step{{"loader", 0, 0}, {"worker", 0, 2}, {"worker", 1, 40}}, 2, 1},
		"it hangs alone":                 {[]step{{"loader", 0, 0}, {"loader", 1, 5}}, 0, 1},
		"it hangs after one that counts": {[]step{{"worker", 0, 0}, {"loader", 0, 2}, {"worker", 1, 3}}, 1, 0},
	} {
		for how, options := range map[string][]kt.JobOption{"new pods": nil, "in place": {kt.InPlace}} {
			for _, policy := range []v1beta1.RestartPolicyType{never, onFailure} {
				for when, together := range map[string]bool{"one by one": false, "the operator was down": true} {
					t.Run(fmt.Sprintf("%s, %s, %s, %s", name, how, policy, when), func(t *testing.T) {
						job := hung(append(options, kt.Type("loader", 2, kt.Policy(policy, -1)), failureRules(rule))...)
						pods := map[string][]*corev1.Pod{"worker": kt.Pods(job, "worker", 4, kt.Running), "loader": kt.Pods(job, "loader", 2, kt.Running)}
						for _, e := range tc.ends {
							pods[e.pod][e.rank] = kt.Pod(job, e.pod, e.rank, ended(0, e.at, inData))
							if !together {
								job.Status = stored(t, plan(t, job, kt.At(2*time.Minute), slices.Concat(pods["worker"], pods["loader"])...).Status)
							}
						}
						job.Status = plan(t, job, kt.At(2*time.Minute), slices.Concat(pods["worker"], pods["loader"])...).Status
						require.Equal(t, []int32{tc.restarts, tc.excepted}, []int32{job.Status.BackoffCount, job.Status.ExceptedCount})
						require.Empty(t, ledger(job.Status, "worker").Failed)
						require.Empty(t, ledger(job.Status, "loader").Failed)
					})
				}
			}
		}
	}
}

// The hang of the type that is not counted comes again and again. The limit of the others ends the job.
func TestHangsThatComeWithOneThatIsNotCountedEndTheJob(t *testing.T) {
	rule := uncounted(on(restarts, 124))
	rule.Match.Types = []string{"loader"}
	job := hung(kt.Type("loader", 1, kt.Policy(onFailure, -1)), failureRules(rule), kt.BackoffLimit(2))
	for n := range 3 {
		hour := 3600 * n
		pods := kt.Pods(job, "worker", 4, kt.Running)
		loader := kt.Pod(job, "loader", 0, ended(hour, hour+600, inData))
		job.Status = stored(t, plan(t, job, kt.At(time.Duration(hour+660)*time.Second), append(pods, loader)...).Status)
		pods[0] = kt.Pod(job, "worker", 0, ended(hour, hour+605, inReduce))
		job.Status = stored(t, plan(t, job, kt.At(time.Duration(hour+670)*time.Second), append(pods, loader)...).Status)
		require.Equal(t, n == 2, job.Status.Phase == v1beta1.JobFailed, n)
	}
}

// Of many failures in one reconcile the status keeps the hang that counts, and not one that a rule excepts.
func TestTheHangThatCountsIsKeptAmongManyFailures(t *testing.T) {
	rule := uncounted(on(restarts, 124))
	rule.Match.Types = []string{"loader"}
	job := hung(kt.Type("peer", 6, kt.Policy(onFailure, -1)), kt.Type("loader", 1, kt.Policy(onFailure, -1)), kt.BackoffLimit(20), failureRules(rule))
	pods := append(kt.Pods(job, "worker", 4, kt.Running), kt.Pods(job, "peer", 6, kt.Running)...)
	for rank := range 6 {
		pods[4+rank] = kt.Pod(job, "peer", rank, crashed(rank/3, 1, nan))
	}
	pods[0] = kt.Pod(job, "worker", 0, ended(0, 5, inData))
	pods = append(pods, kt.Pod(job, "loader", 0, ended(66, 7, inData)))
	job.Status = stored(t, plan(t, job, kt.At(2*time.Minute), pods...).Status)
	require.Equal(t, []int32{7, 1}, []int32{job.Status.BackoffCount, job.Status.ExceptedCount})
	pods[1] = kt.Pod(job, "worker", 1, ended(0, 20, inReduce))
	require.EqualValues(t, 7, plan(t, job, kt.At(2*time.Minute), pods...).Status.BackoffCount)
}

// A replica that was scaled away after it hung excused those that hang with it from every limit, though nothing had counted its hang.
func TestAHangOfWhoWasScaledAwayExcusesNobody(t *testing.T) {
	rule := uncounted(on(restarts, 124))
	rule.Match.Types = []string{"loader"}
	job := hung(kt.Type("loader", 2, kt.Policy(onFailure, -1)), failureRules(rule))
	pods := append(kt.Pods(job, "worker", 4, kt.Running), kt.Pod(job, "loader", 0, kt.Running), kt.Pod(job, "loader", 1, ended(0, 0, inData)))
	job.Status = stored(t, plan(t, job, kt.At(2*time.Minute), pods...).Status)
	require.EqualValues(t, 1, job.Status.ExceptedCount)

	job = kt.Edited(job, kt.Replicas("loader", 1))
	pods[0] = kt.Pod(job, "worker", 0, ended(0, 10, inReduce))
	d := plan(t, job, kt.At(2*time.Minute), pods[:5]...)
	require.EqualValues(t, 1, d.Status.BackoffCount)
}
