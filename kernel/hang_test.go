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
