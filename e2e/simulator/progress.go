package simulator

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/output"
)

// Some jobs tell steps, and end where they make no progress. How far code comes depends on the job's attempt alone. It comes farther in each attempt,
// in every second one, or in none. What it had told before any code of the attempt failed is less.

// drawNoProgress has a job end that makes no progress.
func drawNoProgress(t *Tape, s *v1beta1.GenericJobSpec) {
	if !t.spare(2, 2) || s.RestartScope != v1beta1.RestartScopeJob && (len(s.ReplicaSpecs) > 1 || replicasOf(&s.ReplicaSpecs[0]) > 1) {
		return
	}
	noProgress(int32(2 + t.spareOf(4, 2)))(s)
	for i := range s.ReplicaSpecs {
		if r := &s.ReplicaSpecs[i]; !r.Auxiliary {
			r.RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure}
		}
	}
}

// noProgress has a job tell steps, and end after so many failures without a later one.
func noProgress(rounds int32) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) {
		s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step (?P<step>[0-9]+)"}
		s.FailurePolicy = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: rounds}}
		s.BackoffLimit = new(int32(6))
	}
}

// stuckStride is the stride of code that comes no farther.
const stuckStride = 2

// stepOf is the highest step that code of an attempt of the job tells before it fails. Where only one replica begins again, its attempts are the
// job's.
func (l *Life) stepOf(attempt int) int64 {
	return 100 + 10*int64([]int{attempt, attempt / 2, 0}[l.stride])
}

// stepIn is the highest step that the code of a pod tells before it fails.
func (l *Life) stepIn(p *corev1.Pod) int64 {
	if job, _, _ := l.truth.of(p); job != nil && job.Spec.RestartScope != v1beta1.RestartScopeJob {
		return l.stepOf(l.truth.attemptOf(p))
	}
	return l.stepOf(int(l.truth.madeIn[p.UID]))
}

// tellsSteps reports whether a pod's code tells steps to a wrapper.
func tellsSteps(p *corev1.Pod) bool {
	for _, arg := range p.Spec.Containers[0].Command {
		if strings.HasPrefix(arg, "-beat-line=") {
			return true
		}
	}
	return false
}

// withStep adds to the last words of code the highest step that it has told, if its wrapper is still there to say it.
func (l *Life) withStep(p *corev1.Pod, message string) string {
	if !tellsSteps(p) || l.stepless(p) {
		return message
	}
	if l.isAlike() {
		message = lastWords[0]
	}
	said := output.Read(message)
	said.Classify()
	said.Step = strconv.FormatInt(l.stepIn(p), 10)
	return said.Text(inplace.MaxMessage)
}

// isAlike reports whether code fails now by the one cause that it mostly has, if it tells steps.
func (l *Life) isAlike() bool { return l.stride == stuckStride || l.now.Unix()%4 != 0 }

// mostlyAlike is the exit code of code that fails: mostly one and the same, if it tells steps.
func (l *Life) mostlyAlike(p *corev1.Pod, code int32) int32 {
	if tellsSteps(p) && l.isAlike() {
		return 1
	}
	return code
}

// stepless reports whether the wrapper of a pod is killed, with its code or while it waits. Then nobody says how far the code had come.
func (l *Life) stepless(p *corev1.Pod) bool {
	if w := l.wraps(p); w != nil && w.mute {
		return true
	}
	return l.stride != stuckStride && int(p.UID[len(p.UID)-1])%5 == 0
}

// sayStep has the end of a container that has just come tell the highest step.
func (l *Life) sayStep(p *corev1.Pod) {
	s := &p.Status.ContainerStatuses[0]
	for _, end := range []*corev1.ContainerStateTerminated{s.State.Terminated, s.LastTerminationState.Terminated} {
		if end != nil && end.ExitCode != 0 && end.Reason == "" && output.Read(end.Message).Step == "" {
			end.Message = l.withStep(p, end.Message)
		}
	}
}

// furthest is what a wrapper answers whose code runs: less than in the end, as long as no code of the attempt has failed. Code fails whether or not
// its failure must be counted. A job whose rules name a rank keeps it, though a user has scaled it away.
func (l *Life) furthest(p *corev1.Pod) string {
	if !tellsSteps(p) {
		return ""
	}
	_, rec, _ := l.truth.of(p)
	step := l.stepIn(p)
	if !rec.endedIn[l.truth.madeIn[p.UID]] {
		step -= 50
	}
	return strconv.FormatInt(step, 10)
}

// answers is what the wrapper of a pod reports whose order does not change; nil if it cannot be reached.
func (l *Life) answers(p *corev1.Pod) *inplace.Report {
	now, ok := l.api.get(keyOf(p)).(*corev1.Pod)
	if !ok || now.UID != p.UID || l.lost[now.Spec.NodeName] || now.Status.Phase != corev1.PodRunning || codeEnd(now) != nil {
		return nil
	}
	return &inplace.Report{Pod: string(p.UID), Attempt: told(now), Step: l.furthest(now), Furthest: l.furthest(now)}
}

// noProgressWritten checks that a job which moves is not ended for want of progress. Each attempt of the series must have ended by a failure.
func (t *truth) noProgressWritten(was, is *v1beta1.GenericJob) {
	series := is.Status.NoProgress
	if series == nil || was.Status.CompletionTime != nil || series.Rounds < 2 {
		return
	}
	first := int(series.Attempt - series.Rounds + 1)
	if first < 0 || t.life.stepOf(int(series.Attempt)) > t.life.stepOf(first) {
		t.violated("a job that moves is taken for one that does not", "%d rounds in attempt %d, from step %d to %d", series.Rounds, series.Attempt, t.life.stepOf(first), t.life.stepOf(int(series.Attempt)))
	}
	t.seriesFailed(is, first, int(series.Attempt))
	if p := is.Spec.FailurePolicy; is.Status.CompletionTime != nil && p != nil && p.NoProgress != nil && series.Rounds >= p.NoProgress.Rounds {
		t.life.shown[stuck]++
	}
}

// seriesFailed checks that code has failed in each attempt of a series. Whose failures need not be counted counts here, too.
func (t *truth) seriesFailed(is *v1beta1.GenericJob, first, last int) {
	rec := t.recordOf(is.UID)
	for a := first; a <= last && is.Spec.RestartScope == v1beta1.RestartScopeJob && !rec.unsettled; a++ {
		if !rec.endedIn[int32(a)] {
			t.violated("a job that moves is taken for one that does not", "no code has failed in attempt %d of a series up to %d", a, last)
		}
	}
}

// stuck is how lives are counted in which a job ends for want of progress.
const stuck = "a job makes no progress"
