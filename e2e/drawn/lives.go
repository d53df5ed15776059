package drawn

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// saidLine is a line of code.
var saidLine = regexp.MustCompile(`drawn ([a-z]+-\d+) attempt (\d+) line (\d+): (.*)$`)

// ReadLogs are the lines of code in what `kubectl gj logs` has printed: each begins with its replica in brackets.
func ReadLogs(text string) (lines []Line) {
	for line := range strings.Lines(text) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), "] ")
		if said := saidLine.FindString(words); said != "" {
			lines = append(lines, Line{strings.TrimPrefix(name, "["), said})
		}
	}
	return lines
}

// life is what a replica said in one attempt, without the numbers of its lines.
type life struct {
	attempt int
	said    []string
}

func (l *life) has(line string) bool { return slices.Contains(l.said, line) }

// livesOf are the lives of a replica, by what it has written. A problem is a line that is not as code writes it.
func livesOf(replica string, written []string) (lives []life, problem string) {
	for _, line := range written {
		m := saidLine.FindStringSubmatch(line)
		if m == nil || m[1] != replica {
			return nil, fmt.Sprintf("it has written %q", line)
		}
		attempt, _ := strconv.Atoi(m[2])
		n, _ := strconv.Atoi(m[3])
		if n == 1 {
			lives = append(lives, life{attempt: attempt})
		}
		last := len(lives) - 1
		if last < 0 || lives[last].attempt != attempt || n != len(lives[last].said)+1 {
			return nil, fmt.Sprintf("a line is missing before %q", line)
		}
		lives[last].said = append(lives[last].said, m[4])
	}
	return lives, ""
}

// whole is what is said in a life that nothing ends.
func (j *Job) whole() []string {
	said := []string{"begins"}
	for step := range j.Steps {
		said = append(said, fmt.Sprintf("step %d of %d", step+1, j.Steps))
	}
	return append(said, "done")
}

// stopped is what is said by code that is asked to stop.
func (j *Job) stopped() (said []string) {
	for n := range j.Saves {
		said = append(said, fmt.Sprintf("saves %d of %d", n+1, j.Saves))
	}
	return append(said, "saved")
}

// isPlausible reports whether a life is one of the replica's. That is all of it, or the fault, or a part and perhaps what code says when it
// is stopped.
func (j *Job) isPlausible(l *life, victim, auxiliary bool) bool {
	all := j.whole()
	if auxiliary {
		all = all[:1]
	}
	n := 0
	for n < len(all) && n < len(l.said) && l.said[n] == all[n] {
		n++
	}
	rest := l.said[n:]
	if len(rest) > 0 && rest[0] == j.FaultLine() && victim && n == j.Fault.At+1 && l.attempt < j.Fault.Times {
		rest = rest[1:]
		if j.Fault.Kind != Delete { // nothing stops code that has ended
			return len(rest) == 0
		}
	}
	stop := j.stopped()
	return len(rest) <= len(stop) && slices.Equal(rest, stop[:len(rest)])
}

// judgeLives looks at what ran: by what each replica has written.
func (j *Job) judgeLives(d *disagreements, e Expected, s *Seen) {
	for _, t := range j.Types {
		for rank := range max(t.Replicas, j.replicasAfter(&t)) {
			replica := Replica(t.Name, rank)
			what := "lives of " + replica
			lives, problem := livesOf(replica, s.Written[replica])
			if problem != "" {
				d.add(what, "%s", problem)
				continue
			}
			for i := range lives {
				if !j.isPlausible(&lives[i], replica == j.Victim(), t.Auxiliary) {
					d.add(what, "attempt %d said %q", lives[i].attempt, lives[i].said)
				}
			}
			if problem := j.judgeReplica(e, &t, rank, lives); problem != "" {
				d.add(what, "%s; they were %v", problem, lives)
			}
		}
	}
}

func (j *Job) replicasAfter(t *Type) int {
	if j.Fault.Kind == Scale && j.Fault.Type == t.Name {
		return j.Fault.To
	}
	return t.Replicas
}

// judgeReplica says what is wrong with the lives of a replica, if something is.
func (j *Job) judgeReplica(e Expected, t *Type, rank int, lives []life) string {
	switch replica := Replica(t.Name, rank); {
	case t.Auxiliary:
		return ""
	case j.Torchrun == Elastic: // torchrun begins anew with each change of its members
		if n := len(lives); n == 0 || !lives[n-1].has("done") {
			return "it is not done at the end"
		}
		return ""
	case replica == j.Victim():
		return j.judgeVictim(e, lives)
	case rank >= j.replicasAfter(t): // it was scaled away
		return needs(len(lives) == 1 && lives[0].has("saved"), "it was to be stopped once")
	case j.WholeJob && !j.isAlways():
		return j.judgePeer(e, t, lives)
	default:
		return j.judgeOther(e, t, lives)
	}
}

func needs(is bool, problem string) string {
	if is {
		return ""
	}
	return problem
}

// judgeVictim looks at the lives of the victim: those with the fault, and then one without, unless it has failed for good.
func (j *Job) judgeVictim(e Expected, lives []life) string {
	faults := e.Failures
	if j.Fault.Kind == Delete {
		faults = 1
	}
	n := faults
	if !e.Final {
		n++
	}
	if n != len(lives) {
		return fmt.Sprintf("there are %d, and must be %d", len(lives), n)
	}
	for i := range lives {
		switch l := &lives[i]; {
		case l.attempt < i || l.attempt > i && !j.skipsAttempts():
			return fmt.Sprintf("life %d is attempt %d", i, l.attempt)
		case i < faults && !l.has(j.FaultLine()):
			return fmt.Sprintf("attempt %d has no fault", i)
		case i >= faults && !l.has("done"):
			return fmt.Sprintf("attempt %d is not done", i)
		}
	}
	return ""
}

// skipsAttempts reports whether the victim may skip an attempt. In place all are told to begin the next one, and then the victim has no pod to do it
// in.
func (j *Job) skipsAttempts() bool { return j.InPlace && j.Fault.Kind == Delete }

// mayBeCut reports whether the job may end before a replica of a type has.
func (j *Job) mayBeCut(e Expected, t *Type) bool {
	return e.Phase != v1beta1.JobSucceeded || j.SuccessOf != "" && j.SuccessOf != t.Name
}

// staysDone reports whether a replica whose code is done does not run again with the others. A torchrun waits for the other one.
func (j *Job) staysDone() bool { return j.InPlace && j.Torchrun == "" }

// judgePeer looks at the lives of a replica that restarts with the victim. One that has succeeded stays so in place, and runs again in a new pod.
func (j *Job) judgePeer(e Expected, t *Type, lives []life) string {
	for i := range lives {
		if lives[i].attempt > int(e.JobAttempt) || i > 0 && lives[i].attempt <= lives[i-1].attempt {
			return fmt.Sprintf("life %d is attempt %d, and the job has come to %d", i, lives[i].attempt, e.JobAttempt)
		}
	}
	if j.mayBeCut(e, t) {
		return ""
	}
	i := slices.IndexFunc(lives, func(l life) bool { return l.has("done") })
	switch {
	case i < 0:
		return "it is not done at the end"
	case j.staysDone() && i < len(lives)-1:
		return "it ran again after it was done"
	case !j.staysDone() && (lives[len(lives)-1].attempt != int(e.JobAttempt) || !lives[len(lives)-1].has("done")):
		return "it is not done in the last attempt"
	}
	return ""
}

// judgeOther looks at the lives of a replica that no fault is about: one, or as many as its policy Always wants.
func (j *Job) judgeOther(e Expected, t *Type, lives []life) string {
	n := 1
	if j.isAlways() && t.Name == j.Fault.Type {
		n += int(*t.Policy.Limit)
	}
	mayBeCut := j.mayBeCut(e, t)
	for i := range lives {
		if lives[i].attempt != i {
			return fmt.Sprintf("life %d is attempt %d", i, lives[i].attempt)
		}
		if !mayBeCut && !lives[i].has("done") {
			return fmt.Sprintf("attempt %d is not done", i)
		}
	}
	if len(lives) > n || !mayBeCut && len(lives) < n {
		return fmt.Sprintf("there are %d, and must be %d", len(lives), n)
	}
	return ""
}
