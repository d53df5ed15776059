package kernel

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// situation is a replica whose pod has ended as a row of the table above endOf says.
type situation struct {
	job   []func(*v1beta1.GenericJob)
	pod   []func(*corev1.Pod)
	exits int // that are counted
	// policies are those with which the row holds; nil if it holds with each of ordinary.
	policies []v1beta1.RestartPolicy
}

var (
	noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	// ordinary are policies: the first allows a restart after code 1, the second does not, and the last has no restart left.
	ordinary = []v1beta1.RestartPolicy{
		{Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](3)}, {Policy: v1beta1.RestartExitCode, ExitCodes: []int32{42}, Limit: ptr.To[int32](3)},
		{Policy: v1beta1.RestartNever}, {Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](0)},
	}
	neverPolicy = []v1beta1.RestartPolicy{{Policy: v1beta1.RestartNever}}
	stateNames  = map[podstate.State]string{
		podstate.Alive: "Alive", podstate.Terminating: "Terminating", podstate.Superseded: "Superseded", podstate.Succeeded: "Succeeded",
		podstate.Failed: "Failed", podstate.Disrupted: "Disrupted", podstate.Lost: "Lost", podstate.Unwanted: "Unwanted", podstate.Behind: "Behind",
		podstate.FailedInPod: "FailedInPod", podstate.Stranded: "Stranded", podstate.AwaitingPhase: "AwaitingPhase",
	}
	countNames = map[ledger.Count]string{ledger.Restart: "Restart", ledger.Disruption: "Disruption", ledger.Uncounted: "Uncounted", ledger.Excepted: "Excepted"}
)

func auxiliary(job *v1beta1.GenericJob) { job.Spec.ReplicaSpecs[0].Auxiliary = true }

func inItsPod(job *v1beta1.GenericJob) { job.Spec.RestartStrategy = v1beta1.RestartInPlace }

func together(job *v1beta1.GenericJob) { job.Spec.RestartScope = v1beta1.RestartScopeJob }

func stopsTogether(job *v1beta1.GenericJob) { job.Spec.StopTogether = true }

// debugs has the job be in debug mode.
func debugs(job *v1beta1.GenericJob) {
	job.Spec.RunMode = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}
}

// hasMovedOn has the ledger be at the next attempt.
func hasMovedOn(job *v1beta1.GenericJob) {
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Attempt: 1, Restarts: 1}}}}
}

// container has the pod be in a phase, and its container in a state, after so many restarts and another end.
func container(phase corev1.PodPhase, state corev1.ContainerState, restarts int32, last *corev1.ContainerStateTerminated) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = phase
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", State: state, RestartCount: restarts, LastTerminationState: corev1.ContainerState{Terminated: last},
		}}
	}
}

// ends is a container that ended ten minutes ago.
func ends(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(noon.Add(-10 * time.Minute))}}
}

func working() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
}

func lostByNode() corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "ContainerStatusUnknown"}}
}

// deletedAgo has somebody have asked for the deletion of the pod, with a grace period of 30 seconds.
func deletedAgo(ago time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: noon.Add(30*time.Second - ago)}, ptr.To[int64](30)
	}
}

func annotated(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		if p.Annotations == nil {
			p.Annotations = map[string]string{}
		}
		p.Annotations[key] = "yes"
	}
}

func drained(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue})
}

func evicted(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted" }

// options are those of a job, or of a pod.
func options[T any](list ...func(T)) []func(T) { return list }

// situations are those of each row of the table, by its state and the column "and".
func situations() map[string][]situation {
	type job = *v1beta1.GenericJob
	const going, succeeded, failed = corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed
	always := func(limit int32) []v1beta1.RestartPolicy {
		return []v1beta1.RestartPolicy{{Policy: v1beta1.RestartAlways, Limit: &limit}}
	}
	alive, done, code1 := container(going, working(), 0, nil), container(succeeded, ends(0), 0, nil), container(failed, ends(1), 0, nil)
	waits := container(going, ends(1), 0, nil)
	marked, told := annotated(v1beta1.AnnotationDisrupted), annotated(v1beta1.AnnotationStopped)
	inPlace, inPlaceJob, stopJob := options[job](inItsPod), options[job](inItsPod, together), options[job](together, stopsTogether)
	return map[string][]situation{
		"Succeeded, it is auxiliary":                               {{job: options[job](auxiliary), pod: options(done)}},
		"Succeeded, its policy is Always, and the limits allow it": {{pod: options(done), policies: always(3)}},
		"Succeeded, otherwise":                                     {{pod: options(done)}, {pod: options(done), policies: always(0)}},
		"Failed, it is auxiliary":                                  {{job: options[job](auxiliary), pod: options(code1)}},
		"Failed, the failure is counted, and the pod removed":      {{job: inPlace, pod: options(code1, deletedAgo(time.Second)), exits: 1}},
		"Failed, the failure is counted":                           {{job: inPlace, pod: options(code1), exits: 1}, {job: inPlaceJob, pod: options(code1), exits: 1}},
		"Failed, otherwise":                                        {{pod: options(code1)}, {job: inPlace, pod: options(code1)}},
		"FailedInPod, lost by its node after a new failure, alone": {{job: inPlace, pod: options(container(going, lostByNode(), 2, ends(1).Terminated))}},
		"FailedInPod, lost by its node": {
			{job: inPlace, pod: options(container(going, lostByNode(), 1, nil))},
			{job: inPlaceJob, pod: options(container(going, lostByNode(), 2, ends(1).Terminated))},
		},
		"FailedInPod, otherwise":                   {{job: inPlace, pod: options(container(going, working(), 1, ends(1).Terminated))}, {job: inPlace, pod: options(waits)}},
		"Stranded, its last end is counted, alone": {{job: inPlace, pod: options(waits), exits: 1}},
		"Stranded, otherwise": {
			{job: inPlace, pod: options(container(going, ends(137), 0, nil))}, {job: inPlaceJob, pod: options(waits), exits: 1},
		},
		"Disrupted, in debug mode":            {{job: options[job](debugs), pod: options(code1)}},
		"Lost, in debug mode":                 {{job: options[job](debugs), pod: options(alive, deletedAgo(time.Hour))}},
		"Disrupted, its code has not started": {{pod: options(evicted)}},
		"Lost, its code has not started":      {{pod: options(deletedAgo(time.Hour))}},
		"Disrupted, otherwise":                {{pod: options(container(failed, ends(137), 0, nil), drained)}},
		"Lost, otherwise":                     {{pod: options(alive, deletedAgo(time.Hour))}},
		"Terminating, all others stop with it": {
			{job: stopJob, pod: options(alive, deletedAgo(time.Second), marked), policies: slices.Delete(slices.Clone(ordinary), 2, 3)},
		},
		"Terminating, otherwise": {
			{pod: options(alive, deletedAgo(time.Second), marked)},
			{job: stopJob, pod: options(alive, deletedAgo(time.Second))},
			{job: stopJob, pod: options(alive, deletedAgo(time.Second), marked), policies: neverPolicy},
		},
		"Alive, -":         {{pod: options(alive)}},
		"Behind, -":        {{job: options[job](inItsPod, hasMovedOn), pod: options(alive)}},
		"AwaitingPhase, -": {{pod: options(container(going, ends(0), 0, nil), told)}},
		"Superseded, -":    {{job: options[job](hasMovedOn), pod: options(code1)}},
		"Unwanted, -":      {{pod: options(alive, told)}},
	}
}

// replica returns the ledger and the replica of a situation with a policy, and the state of its pod.
func (s situation) replica(t *testing.T, policy v1beta1.RestartPolicy) (*ledger.Ledger, *roster.Type, podstate.State) {
	t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Status.LedgerVersion, job.Status.Phase = v1beta1.LedgerVersion, v1beta1.JobRunning
	worker := v1beta1.ReplicaSpec{Type: "worker", Replicas: ptr.To[int32](1), RestartPolicy: &policy}
	worker.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image", Command: []string{"train"}}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{worker}
	for _, edit := range s.job {
		edit(job)
	}
	pod := NewPodBuilder(job, Settings{WrapperImage: "operator"}).Pod(Action{Verb: CreatePod, Type: "worker"})
	pod.UID, pod.Spec.NodeName, pod.Status.Phase = "pod", "node", corev1.PodPending
	for _, edit := range s.pod {
		edit(pod)
	}
	draft, err := ledger.Load(job)
	require.NoError(t, err)
	draft.NoteExits(draft.Accounts()[0], 0, pod.UID, s.exits)
	replicas := roster.Of(job, draft.Ledger, []*corev1.Pod{pod}, podstate.Judge{Now: noon, ForceReplaceAfter: 5 * time.Minute})
	return draft.Ledger, &replicas.Types[0], replicas.State(&replicas.Types[0], 0)
}

// by calls the function that a row names.
func by(t *testing.T, function string, l *ledger.Ledger, of *roster.Type, state podstate.State) (end, bool) {
	t.Helper()
	e := end{account: of.Account, pod: of.Pod(0), state: state}
	switch function {
	case "endOf":
		return endOf(l, of, 0, state)
	case "endOfCounted":
		return endOfCounted(e), true
	case "endOfExit":
		return endOfExit(l, e), true
	case "endOfStranded":
		return endOfStranded(l, e), true
	case "endByDisruption":
		return endByDisruption(e), true
	case "earlyDisruption":
		return earlyDisruption(l, e)
	default:
		require.Fail(t, "no function", function)
		return e, false
	}
}

// mayRunAgain says what the last column of the table means for a policy, after code 1.
func mayRunAgain(cell string, policy v1beta1.RestartPolicy) bool {
	switch cell {
	case "yes":
		return true
	case "unless Never":
		return policy.Policy != v1beta1.RestartNever
	default:
		return cell == "by policy" && policy.Policy == v1beta1.RestartOnFailure && *policy.Limit > 0
	}
}

// TestTheTableOfEndsIsTrue compares the table above endOf with the code, for each state of a pod, and with each policy.
func TestTheTableOfEndsIsTrue(t *testing.T) {
	text, err := os.ReadFile("ruling.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "//\tthe pod is  ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\nfunc ")
	all, seen := situations(), map[string]bool{}
	for _, row := range strings.Split(table, "\n")[1:] {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimPrefix(row, "//\t"), -1)
		require.Len(t, cells, 5, row)
		for _, state := range strings.Split(cells[0], ", ") {
			seen[state] = true
			list := all[state+", "+cells[1]]
			require.NotEmpty(t, list, row)
			delete(all, state+", "+cells[1])
			for i, s := range list {
				policies := s.policies
				if policies == nil {
					policies = ordinary
				}
				for _, policy := range policies {
					l, of, is := s.replica(t, policy)
					require.Equal(t, state, stateNames[is], "%s: situation %d, %v", row, i, policy)
					e, ended := endOf(l, of, 0, is)
					counts := "no end"
					if ended {
						counts = countNames[e.countsAs]
					}
					require.Equal(t, cells[3], counts, "%s: situation %d, %v", row, i, policy)
					require.Equal(t, mayRunAgain(cells[4], policy), e.mayRunAgain, "%s: situation %d, %v", row, i, policy)
					named, namedEnded := by(t, cells[2], l, of, is)
					require.Equal(t, e, named, row)
					require.Equal(t, ended, namedEnded, row)
				}
			}
		}
	}
	require.Empty(t, slices.Collect(maps.Keys(all)), "no row is about these")
	for state := podstate.Alive; state <= podstate.AwaitingPhase; state++ {
		require.True(t, seen[stateNames[state]], "no row has the state %d", state)
	}
}
