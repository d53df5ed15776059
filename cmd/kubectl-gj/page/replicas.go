package page

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/tree"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// replica is one replica over the time of its job.
type replica struct {
	name, of  string // as in worker-3, and its type
	rank      int
	now, node string // its phase as `tree` has it, and its node
	why       string
	spans     []span
	symbols   []symbol
}

// replicas returns the replicas of the job, by type and rank. What their pods do not tell is what the row of the job does: it is productive only while all run.
func (in *Input) replicas(jobRow []span, from, to time.Time) []replica {
	f := in.Family
	if f.GenericJob == nil {
		return nil
	}
	ran := in.ran(jobRow)
	pods := map[string]*corev1.Pod{}
	for _, pod := range f.Pods {
		pods[jobs.Replica(pod)] = pod
	}
	symbols := in.symbols()
	var out []replica
	for _, b := range branches(tree.Of(f, in.Now)) {
		at := strings.LastIndexByte(b.Replica, '-')
		rank, err := strconv.Atoi(b.Replica[at+1:])
		if err != nil || b.ScaledDown {
			continue
		}
		r := replica{name: b.Replica, of: b.Replica[:at], rank: rank, now: b.Phase, node: b.Node, why: b.Why, symbols: symbols[b.Replica]}
		layers := slices.Clone(ran)
		if pod := pods[b.Replica]; pod != nil {
			layers = append(layers, in.pod(pod, from, to)...)
		}
		r.spans = paint(layers, from, to)
		out = append(out, r)
	}
	return out
}

// branches returns the lines of a tree that are of replicas.
func branches(b tree.Branch) (out []tree.Branch) {
	for _, child := range b.Branches {
		out = append(out, branches(child)...)
		if child.Replica != "" {
			out = append(out, child)
		}
	}
	return out
}

// ran returns the spans in which the time spent says that all replicas ran, or had finished. Before the job had the size that it has now, nobody
// knows of which replicas that is true.
func (in *Input) ran(jobRow []span) (out []span) {
	var sized time.Time
	if in.History != nil {
		for _, e := range in.History.Entries {
			if e.Kind == v1beta1.HistoryScale {
				sized = e.Begin.Time
			}
		}
		if earlier := in.History.Earlier; sized.IsZero() && slices.ContainsFunc(earlier, func(s v1beta1.HistorySum) bool { return s.Kind == v1beta1.HistoryScale }) {
			sized = listedFrom(in.History, in.Now)
		}
	}
	for _, s := range jobRow {
		if s.is == state(v1beta1.TimeProductive) && s.to.After(sized) {
			out = append(out, span{later(s.from, sized), s.to, stateRan})
		}
	}
	return out
}

// pod returns the layers of a replica's pod. What was before it is covered only where it was known.
func (in *Input) pod(pod *corev1.Pod, from, to time.Time) []span {
	created := later(pod.CreationTimestamp.Time, from)
	layers := []span{{created, to, statePending}}
	over := podstate.IsOver(pod)
	status := containerOf(pod)
	if pod.Status.StartTime != nil && status != nil && status.RestartCount > 1 { // of its earlier runs only the last has its times
		if last := status.LastTerminationState.Terminated; last != nil {
			layers = append(layers, span{pod.Status.StartTime.Time, last.StartedAt.Time, stateEarlier})
		}
	}
	end := created
	for _, run := range runsOf(pod, status, to) {
		layers = append(layers, run)
		end = later(end, run.to)
	}
	if over { // nothing is known of it after its end
		layers = append(layers, span{end, to, ""})
	}
	layers = append(layers, in.barrier(pod, created, to)...)
	if asked := stoppedAt(pod); !over && !asked.IsZero() {
		layers = append(layers, span{asked, to, stateStopping})
	}
	if lost := (podstate.Judge{Now: in.Now}).NotReadyNode(podstate.Pod{Pod: pod, Template: &corev1.PodTemplateSpec{Spec: pod.Spec}}); lost != nil && !over {
		layers = append(layers, span{lost.Since, to, stateLost})
	}
	return layers
}

// containerOf returns the status of the container that matters; nil if the kubelet has not reported any.
func containerOf(pod *corev1.Pod) *corev1.ContainerStatus {
	name := logs.Main(pod)
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == name {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// runsOf returns the runs of a container that its pod still tells: the present one, and the one before.
func runsOf(pod *corev1.Pod, c *corev1.ContainerStatus, to time.Time) (runs []span) {
	if c == nil {
		return nil
	}
	begun := time.Time{}
	if pod.Status.StartTime != nil {
		begun = pod.Status.StartTime.Time
	}
	add := func(t *corev1.ContainerStateTerminated) {
		if t != nil && !t.FinishedAt.IsZero() {
			runs = append(runs, span{later(t.StartedAt.Time, begun), t.FinishedAt.Time, stateRunning})
		}
	}
	add(c.LastTerminationState.Terminated)
	add(c.State.Terminated)
	if c.State.Running != nil {
		runs = append(runs, span{later(c.State.Running.StartedAt.Time, begun), to, stateRunning})
	}
	return runs
}

// barrier returns the time in which a replica that restarts in place last waited for the others, its container running.
func (in *Input) barrier(pod *corev1.Pod, created, to time.Time) []span {
	s := in.Family.GenericJob.Status.InPlace
	if s == nil || s.BarrierTime == nil || s.BarrierTime.Time.Before(pod.CreationTimestamp.Time) && !barrier.IsClosed(in.Family.GenericJob) || podstate.IsOver(pod) {
		return nil
	}
	until := to
	if !barrier.IsClosed(in.Family.GenericJob) {
		if s.RestartTime == nil || s.RestartTime.Time.Before(s.BarrierTime.Time) {
			return nil
		}
		until = s.RestartTime.Time
	}
	return []span{{later(s.BarrierTime.Time, created), until, stateBarrier}}
}

// stoppedAt returns when somebody asked a pod to go; zero if nobody did.
func stoppedAt(pod *corev1.Pod) time.Time {
	if pod.DeletionTimestamp == nil {
		return time.Time{}
	}
	grace := time.Duration(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	return pod.DeletionTimestamp.Add(-grace)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
