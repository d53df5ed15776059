package podstate

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
	"github.com/genericjob/genericjob/kernel/text"
)

// MaxFailure is how many bytes the sentence that says what failed may have. A status repeats it word for word.
const MaxFailure = 640

// FailureSentence says which pod failed, which of its containers, how, and its last words.
func (p Pod) FailureSentence() string { return text.Cut(p.failure(), MaxFailure) }

func (p Pod) failure() string {
	e := p.exit()
	switch {
	case p.endedByLimit():
		return fmt.Sprintf("Pod[%s] was evicted because it went over a limit of its own: %s Raise that limit, or write less",
			p.Name, strings.TrimSpace(p.Status.Message))
	case e == nil:
		return fmt.Sprintf("Pod[%s] failed: %s %s", p.Name, p.Status.Reason, p.Status.Message)
	case e.reason == oomKilled && e.code == killed:
		return fmt.Sprintf("Pod[%s] exited with error code %d: container %s ran out of memory (OOMKilled); raise its memory limit",
			p.Name, e.code, e.container)
	}
	r := p.Failure()
	where := " in container " + e.container
	if len(p.Template.Spec.Containers) == 1 && p.Template.Spec.Containers[0].Name == e.container {
		where = ""
	}
	return fmt.Sprintf("Pod[%s] exited with error code %s%s%s", p.Name, Code(e.code), where, e.quote(&r)) + inBrackets(Unstartable(r)) + e.outOfMemory()
}

// outOfMemory tells that some process of the container ran out of memory, though the main process ended in another way. The main process may have
// ended because of that; for example, because a worker of a data loader was killed. Or it may not: containerd keeps the reason as long as the
// container runs.
func (e *exit) outOfMemory() string {
	if e.reason != oomKilled {
		return ""
	}
	return fmt.Sprintf(" (a process in container %s ran out of memory, OOMKilled: raise its memory limit)", e.container)
}

// maxQuoted is how many bytes of a container's last words a sentence quotes.
const maxQuoted = 160

// quote says which process ended and how, and where in the user's code, by the container's last words. If they do not say it, it quotes their last
// line with a letter or number in it. mpirun, for example, draws lines of dashes below its help.
func (e *exit) quote(r *v1beta1.ReplicaFailure) string {
	said := output.Read(e.words)
	if sentence := said.Sentence(); sentence != "" {
		return fmt.Sprintf(": %q", text.Cut(sentence, maxQuoted)) + at(said)
	}
	for _, line := range slices.Backward(strings.Split(lastWords(said), "\n")) {
		if strings.ContainsFunc(line, isOfWord) {
			before := ": "
			if IsJustOutput(r) {
				before = ", last output: "
			}
			return before + fmt.Sprintf("%q", text.Tail(strings.TrimFunc(line, isBlank), maxQuoted)) + at(said)
		}
	}
	return ""
}

// IsJustOutput reports whether the message of a failure is only the last output of the code, in which nothing says why the code ended. Such output
// may have nothing to do with the end.
func IsJustOutput(r *v1beta1.ReplicaFailure) bool {
	switch {
	case r.ExitCode == nil, !slices.Contains([]string{"", "Error", oomKilled}, r.Reason), IsHang(r), Unstartable(*r) != "":
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
	return strings.TrimFunc(said.Output, isBlank)
}

// isBlank reports whether a character cannot be seen. mpirun writes a NUL after its help.
func isBlank(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// isOfWord reports whether a character can be part of a word.
func isOfWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }

// DisruptionSentence says which pod was disrupted and by what.
func (p Pod) DisruptionSentence() string {
	if IsDebug(p.Pod) && p.HasEnded() {
		return fmt.Sprintf("Pod[%s] ended in debug mode", p.Name)
	}
	if c := disruptionTarget(p.Pod); c != nil {
		return fmt.Sprintf("Pod[%s] was disrupted: %s", p.Name, c.Reason)
	}
	switch {
	case !p.HasEnded() && p.DeletionGracePeriodSeconds != nil && *p.DeletionGracePeriodSeconds > 0:
		return fmt.Sprintf("Pod[%s] is Terminating and its node %s does not answer", p.Name, p.Spec.NodeName)
	case p.Status.Reason != "":
		return fmt.Sprintf("Pod[%s] was disrupted: %s", p.Name, p.Status.Reason)
	case p.DeletionTimestamp != nil:
		return fmt.Sprintf("Pod[%s] was deleted", p.Name)
	default:
		return fmt.Sprintf("Pod[%s] ended without an exit code of its own", p.Name)
	}
}
