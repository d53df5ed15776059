package podstate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
)

// MaxFailure is how many bytes the sentence that says what failed may have. A status repeats it word for word.
const MaxFailure = 640

// FailureSentence says which pod failed, which of its containers, how, and its last words.
func (p Pod) FailureSentence() string { return text.Cut(p.failure(), MaxFailure) }

func (p Pod) failure() string {
	e := p.exit()
	switch {
	case p.overItsLimit():
		return fmt.Sprintf("Pod[%s] was evicted because it went over a limit of its own: %s Raise that limit, or write less",
			p.Name, strings.TrimSpace(p.Status.Message))
	case e == nil:
		return fmt.Sprintf("Pod[%s] failed: %s %s", p.Name, p.Status.Reason, p.Status.Message)
	case e.reason == oomKilled && e.code == killed:
		return fmt.Sprintf("Pod[%s] exited with error code %d: container %s ran out of memory (OOMKilled); raise its memory limit",
			p.Name, e.code, e.container)
	}
	r := p.Record()
	where := " in container " + e.container
	if len(p.Template.Spec.Containers) == 1 && p.Template.Spec.Containers[0].Name == e.container {
		where = ""
	}
	return fmt.Sprintf("Pod[%s] exited with error code %s%s%s", p.Name, Code(e.code), where, e.quote(&r)) + inBrackets(Unstartable(r)) + e.outOfMemory()
}

// outOfMemory tells that some process of the container ran out of memory, though the main process ended in another way. The main process may have ended
// because of that; for example, because a worker of a data loader was killed. Or it may not: containerd keeps the reason as long as the container runs.
func (e *exit) outOfMemory() string {
	if e.reason != oomKilled {
		return ""
	}
	return fmt.Sprintf(" (a process in container %s ran out of memory, OOMKilled: raise its memory limit)", e.container)
}

// Code prints an exit code, with the signal that it stands for.
func Code(code int32) string {
	if signal := output.SignalOf(code); signal != "" {
		return fmt.Sprintf("%d (%s)", code, signal)
	}
	return strconv.Itoa(int(code))
}

// maxQuoted is how many bytes of a container's last words a sentence quotes.
const maxQuoted = 160

// quote says which process ended and how, and where in the user's code, by the container's last words. If they do not say it, it quotes their last line with
// a letter or number in it. mpirun, for example, draws lines of dashes below its help.
func (e *exit) quote(r *v1beta1.ReplicaFailure) string {
	said := output.Read(e.words)
	if sentence := said.Sentence(); sentence != "" {
		return fmt.Sprintf(": %q", text.Cut(sentence, maxQuoted)) + at(said)
	}
	for _, line := range slices.Backward(strings.Split(lastWords(said), "\n")) {
		if strings.ContainsFunc(line, speaks) {
			before := ": "
			if JustOutput(r) {
				before = ", last output: "
			}
			return before + fmt.Sprintf("%q", text.Tail(strings.TrimFunc(line, blank), maxQuoted)) + at(said)
		}
	}
	return ""
}

// JustOutput reports whether the message of a failure is only the last output of the code, in which nothing says why the code ended. Such output may have
// nothing to do with the end.
func JustOutput(r *v1beta1.ReplicaFailure) bool {
	switch {
	case r.ExitCode == nil, !slices.Contains([]string{"", "Error", oomKilled}, r.Reason), Hung(r), Unstartable(*r) != "":
		return false
	case r.Exception != "", r.WorkerExitCode != nil, r.WorkerSignal != "":
		return false
	default:
		return r.Follows == "" || *r.ExitCode == ExitSIGTERM
	}
}

// at says where in the user's code a process ended; "" if that is not known.
func at(said output.Failure) string {
	if said.Frame == "" {
		return ""
	}
	return " at " + said.Frame
}

// lastWords returns what a container said last. The last words of a launcher are shortened to one sentence.
func lastWords(said output.Failure) string {
	if said.ByLauncher() {
		return said.Sentence()
	}
	return strings.TrimFunc(said.Output, blank)
}

// blank reports whether a character cannot be seen. mpirun writes a NUL after its help.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// speaks reports whether a character can be part of a word.
func speaks(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// Record returns what a status keeps of a failure, without its cause, which takes longer to find.
func (p Pod) Record() v1beta1.ReplicaFailure {
	r := v1beta1.ReplicaFailure{Pod: p.Name, Node: p.Spec.NodeName, Reason: text.Cut(p.Status.Reason, text.MaxReason), Message: text.Cut(p.Status.Message, text.MaxWords)}
	if t := p.EndedAt(); !t.IsZero() {
		r.Time = &metav1.Time{Time: t}
	}
	if e := p.exit(); e != nil && !p.overItsLimit() {
		said := output.Read(e.words)
		r.ExitCode, r.Container, r.Reason, r.Message = &e.code, e.container, text.Cut(e.reason, text.MaxReason), text.Tail(lastWords(said), text.MaxWords)
		e.describe(&r, said)
	}
	return r
}

// describe writes into a record what the container's last words say of its end.
func (e *exit) describe(r *v1beta1.ReplicaFailure, said output.Failure) {
	r.Exception, r.Frame, r.WorkerSignal, r.Follows = text.Cut(said.Exception, text.MaxWords), said.Frame, said.Signal, said.Follows
	r.ProcessRank, r.WorkerExitCode = number(said.ProcessRank), number(said.Code)
	if r.Follows == "" && r.Exception == "" && !said.ByLauncher() && e.code == ExitSIGTERM {
		r.Follows = "it was told to end"
	}
}

// ExitSIGTERM is the exit code of code that SIGTERM has ended: somebody has told it to end.
const ExitSIGTERM = 143

// killed is the exit code of code that SIGKILL has ended.
const killed = 137

// number reads a number; nil if the text is none.
func number(text string) *int32 {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return nil
	}
	return ptr.To(int32(n))
}

// DisruptionSentence says which pod was disrupted and by what.
func (p Pod) DisruptionSentence() string {
	if IsDebug(p.Pod) && p.Ended() {
		return fmt.Sprintf("Pod[%s] ended in debug mode", p.Name)
	}
	if c := disruptionTarget(p.Pod); c != nil {
		return fmt.Sprintf("Pod[%s] was disrupted: %s", p.Name, c.Reason)
	}
	switch {
	case !p.Ended() && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds > 0:
		return fmt.Sprintf("Pod[%s] is Terminating and its node %s does not answer", p.Name, p.Spec.NodeName)
	case p.Status.Reason != "":
		return fmt.Sprintf("Pod[%s] was disrupted: %s", p.Name, p.Status.Reason)
	case p.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod[%s] was deleted", p.Name)
	default:
		return fmt.Sprintf("Pod[%s] ended without an exit code of its own", p.Name)
	}
}

// Scheduled reports whether a pod has a node.
func Scheduled(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return true
	}
	c := condition(pod, corev1.PodScheduled)
	return c != nil && c.Status == corev1.ConditionTrue
}

// Unheard returns the first pod that waits for a node, if the scheduler has said nothing of any pod that waits. Otherwise it returns nil. It skips nil
// pods, and pods with ResourceClaims.
func Unheard(pods []*corev1.Pod) *corev1.Pod {
	var first *corev1.Pod
	for _, pod := range pods {
		switch {
		case pod == nil, pod.DeletionTimestamp != nil, pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "", Scheduled(pod):
		case len(pod.Spec.ResourceClaims) > 0: // a scheduler may say nothing of it before they are there
		case condition(pod, corev1.PodScheduled) != nil:
			return nil
		case first == nil:
			first = pod
		}
	}
	return first
}

// Gated reports whether scheduling gates keep a pod from the scheduler. It is false for nil.
func Gated(pod *corev1.Pod) bool {
	return pod != nil && pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) > 0
}

// gatesOf says what keeps a pod from the scheduler, if its condition says that it has scheduling gates. They may be gone: the condition stays until a
// scheduler sets another.
func gatesOf(pod *corev1.Pod) (reason, message string) {
	var names []string
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	switch {
	case len(names) == 0:
		return "", "its scheduling gates are gone, and no scheduler has said anything of it since"
	case slices.Equal(names, []string{spec.TopologyGate}):
		return "", "Kueue has not chosen its node yet"
	default:
		return corev1.PodReasonSchedulingGated, fmt.Sprintf("%s: no scheduler looks at it before these scheduling gates are removed, by whom they are for: %s",
			corev1.PodReasonSchedulingGated, strings.Join(names, ", "))
	}
}

func condition(pod *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == t })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// onItsWay are the kubelet's reasons for a container that it is about to start. Users are not told of these. With other reasons the kubelet starts the
// container later; for example, after a back-off, or when it can pull the image again. It gives such a reason even if the pod has lost its sandbox.
var onItsWay = []string{"", "ContainerCreating", "PodInitializing"}

// Waiting says why a pod does not run; pod may be nil. The reason is empty if the pod will start by itself soon.
func (j Judge) Waiting(pod *corev1.Pod) (reason, message string) {
	switch {
	case pod == nil:
		return "", "its pod is not there yet"
	case j.IsStuckTerminating(pod) && !j.Overdue(pod):
		return "", fmt.Sprintf("its pod is Terminating for longer than its grace period, but node %s answers, so it may still run: find out what keeps it there, or delete it with --grace-period=0 --force if you know that it does not", pod.Spec.NodeName)
	case pod.DeletionTimestamp != nil:
		return "", "its pod is Terminating" + j.onLostNode(pod)
	}
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && !slices.Contains(onItsWay, w.Reason) {
			return settledReason(w.Reason), fmt.Sprintf("container %s: %s: %s%s", c.Name, w.Reason, w.Message, advised(w.Reason, w.Message))
		}
	}
	return unplaced(pod)
}

// unplaced says why a pod has no node.
func unplaced(pod *corev1.Pod) (reason, message string) {
	switch c := condition(pod, corev1.PodScheduled); {
	case c == nil && !Scheduled(pod) && len(pod.Spec.ResourceClaims) > 0:
		return "", "the scheduler has not looked at its pod, which it does once " + claim(pod)
	case c == nil || c.Status != corev1.ConditionFalse:
	case c.Reason == corev1.PodReasonSchedulingGated:
		return gatesOf(pod)
	default:
		return c.Reason, fmt.Sprintf("%s: %s%s", c.Reason, c.Message, advised(c.Reason, c.Message))
	}
	return "", fmt.Sprintf("its pod is %s", pod.Status.Phase)
}

// claim says of the first ResourceClaim that a pod needs and may lack that it must be there, and what to check. A scheduler says nothing of a pod before all
// its claims exist.
func claim(pod *corev1.Pod) string {
	first := pod.Spec.ResourceClaims[0]
	for _, c := range pod.Spec.ResourceClaims {
		made := slices.ContainsFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool { return s.Name == c.Name })
		if c.ResourceClaimTemplateName != nil && !made {
			return fmt.Sprintf("a ResourceClaim of the ResourceClaimTemplate %q is there; check that the namespace of the job has this template", *c.ResourceClaimTemplateName)
		}
		if c.ResourceClaimName != nil && first.ResourceClaimName == nil {
			first = c
		}
	}
	if first.ResourceClaimName == nil {
		return fmt.Sprintf("its ResourceClaim %q is there", first.Name)
	}
	return fmt.Sprintf("the ResourceClaim %q is there; check that the namespace of the job has it", *first.ResourceClaimName)
}

// settledReason returns one reason for the two between which the kubelet alternates. Each change would be an event.
func settledReason(reason string) string {
	if reason == "ErrImagePull" {
		return "ImagePullBackOff"
	}
	return reason
}
