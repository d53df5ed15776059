package suite_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// causes are the words by which a fault is known, in whatever sentence.
var causes = map[string]*regexp.Regexp{
	raiseFault:  regexp.MustCompile(`ValueError: loss is nan at step 3 in shard 17`),
	killFault:   regexp.MustCompile(`(?i)SIGKILL|code"?:? ?137\b`),
	exitFault:   regexp.MustCompile(`(?i)code"?:? ?3\b`),
	memoryFault: regexp.MustCompile(`OOMKilled|out of memory`),
	hangFault:   regexp.MustCompile(`/data/crash\.py:\d+, in wait_for_data|exit code 124, "heartbeat: no line of output matched for 150 s`), // the former of its stack
	importFault: regexp.MustCompile(`ModuleNotFoundError: No module named 'no_such_module'`),
}

// unknowable is a kind of run whose cause cannot be known.
type unknowable struct {
	reason string
	of     func(crash) bool
	words  string // a regular expression; RANK is that of the rank that ended
}

func (e unknowable) match(c crash) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(e.words, "RANK", fmt.Sprint(c.Victim)))
}

// undecidable are the runs of which the cause cannot be known, why, and the words that they get. They stand here before any run.
var undecidable = []unknowable{
	{
		"torchrun ends with 1 whatever its process ended with. Without a wrapper the kubelet keeps 2 KiB of the log, all of them torchrun's own " +
			"words; and without @record these have no exception. So rank and code are told, and no words",
		func(c crash) bool {
			return c.Shape != plainShape && !c.InPlace && !c.Record && c.Fault == raiseFault || c.Shape != plainShape && !c.InPlace && c.Fault == importFault
		},
		`rank RANK exited with code 1`,
	},
	{
		"where the kernel ends the process alone that is out of memory (cgroup v1, or singleProcessOOMKill), and a wrapper or torchrun is the container's first, " +
			"the kubelet says nothing of memory. So rank and signal are told",
		func(c crash) bool { return c.Fault == memoryFault && (c.Shape != plainShape || c.InPlace) },
		`was killed by SIGKILL|error code 137|"exitCode":137|"workerSignal":"SIGKILL"`,
	},
}

// healed is why nothing is told of a run.
const healed = "torchrun's own restart in an elastic job ends no pod: nothing is counted, and nothing is told but by the log"

// judgement is what became of a run.
type judgement struct {
	wrong  []string // what was said that is not so, or not said
	listed string   // why the cause cannot be known
	told   statements
	counts string
	brief  string // what was told first
}

func (v judgement) word() string {
	switch {
	case len(v.wrong) > 0:
		return "WRONG"
	case v.listed != "":
		return "listed"
	default:
		return "right"
	}
}

func (v judgement) String() string {
	return fmt.Sprintf("%s: %s; %s\n", v.word(), v.counts, cmp.Or(strings.Join(v.wrong, "; "), v.listed, "all agree"))
}

// judge compares what was said with what was done.
func (o *observed) judge() judgement {
	v := judgement{told: o.told, counts: fmt.Sprintf("%s, %d restarts, %d disruptions", o.phase, o.restarts, o.disruptions)}
	v.wrong = append(v.wrong, o.miscounted()...)
	v.wrong = append(v.wrong, o.missing()...)
	if o.isHealed() {
		v.listed = healed
		if len(o.events) > 0 {
			v.wrong = append(v.wrong, "an event of a failure: "+o.events[0].Text)
		}
		return v
	}
	if len(o.events) > 0 && !slices.ContainsFunc(o.events, func(s statement) bool { return !hedged.MatchString(s.Text) }) {
		v.wrong = append(v.wrong, "no event tells the cause")
	}
	for _, source := range []string{"firstFailure", "event", "why at once", "why at the end"} {
		if !slices.ContainsFunc(o.told, func(s statement) bool { return strings.HasPrefix(s.Source, source) }) {
			v.wrong = append(v.wrong, source+" says nothing")
		}
	}
	for _, s := range o.told {
		if hedged.MatchString(s.Text) && (strings.HasPrefix(s.Source, "event") || s.Source == "why at once" && o.wasHedged()) {
			continue // it says that it does not know; a later event has the cause, and the status and "why at the end"
		}
		problem, listed := o.isTrue(s.Text)
		if problem != "" {
			v.wrong = append(v.wrong, s.Source+" "+problem)
		}
		v.listed = cmp.Or(v.listed, listed)
	}
	if len(o.events) > 0 {
		v.brief = o.events[0].Text
	}
	return v
}

// wasHedged reports whether an event said, too, that the cause was not known yet.
func (o *observed) wasHedged() bool {
	return slices.ContainsFunc(o.events, func(s statement) bool { return hedged.MatchString(s.Text) })
}

// isHealed reports whether torchrun has started the training processes again, so that no pod has ended. Where memory is out, that depends on
// whether the kernel ends the process alone.
func (o *observed) isHealed() bool {
	return o.heals() || o.Shape == elasticShape && o.Fault == memoryFault && !o.Final && len(o.events) == 0 && o.restarts == 0
}

var (
	// aRank is a rank that is named, by its number or by its pod.
	aRank = regexp.MustCompile(`\b(?:node-|rank |processRank":)(\d+)`)
	// hedged is what is said of what follows from the end of another, as long as that is not known.
	hedged = regexp.MustCompile(`probably because .*: whose failure came first is not known`)
	// tied names those that may have been first as well.
	tied = regexp.MustCompile(`or first was|"orElse":`)
	// followers begins what is said of those that did not fail first.
	followers = regexp.MustCompile(`(?i)\b(?:others?|followed|followers?|heard of late)\b`)
	// cascade is what ranks say and do that end because another has ended.
	cascade = regexp.MustCompile(`closed by peer|reset by peer|Broken pipe|Connection refused|DistNetworkError|DistStoreError|RendezvousClosedError|` +
		`code"?:? ?143\b|SIGTERM|got signal: 15|={10}|waiting for an order`)
)

// isTrue says what is wrong with a statement about the failure. A statement may say less than it could, for a cause that is listed: then
// isTrue returns that cause.
func (c crash) isTrue(text string) (problem, listed string) {
	cause := text
	if _, crash, is := strings.Cut(text, "The last crash: "); is { // before that stands what it waits for now
		cause = crash
	}
	if at := followers.FindStringIndex(cause); at != nil {
		cause = cause[:at[0]]
	}
	var ranks []string
	for _, m := range aRank.FindAllStringSubmatch(cause, -1) {
		if !slices.Contains(ranks, m[1]) {
			ranks = append(ranks, m[1])
		}
	}
	what := c.cannotBeKnown(cause)
	switch victim := fmt.Sprint(c.Victim); {
	case cascade.MatchString(cause):
		return fmt.Sprintf("takes what followed for the cause: %s", cascade.FindString(cause)), ""
	case tied.MatchString(cause) && slices.Contains(ranks, victim):
		return "", "two ended within the same second, as kubelets tell time, and both told a cause: both are named"
	case !slices.Equal(ranks, []string{victim}):
		return fmt.Sprintf("names ranks %v, and it was %s", ranks, victim), ""
	case causes[c.Fault].MatchString(cause):
		return "", ""
	case what != "":
		return "", what
	default:
		return "has neither the cause nor the words of a listed case", ""
	}
}

// words are those by which a text tells the cause.
func (c crash) words(text string) string {
	if words := causes[c.Fault].FindString(text); words != "" {
		return words
	}
	for _, u := range undecidable {
		if words := u.match(c).FindString(text); u.of(c) && words != "" {
			return words
		}
	}
	return ""
}

// cannotBeKnown is why the cause of a run cannot be known, if a text has the words that such a run gets.
func (c crash) cannotBeKnown(text string) string {
	for _, u := range undecidable {
		if u.of(c) && u.match(c).MatchString(text) {
			return u.reason
		}
	}
	return ""
}

// miscounted says what is not counted as documented.
func (o *observed) miscounted() (wrong []string) {
	want, phase := int32(1), v1beta1.JobSucceeded
	switch {
	case o.Final:
		want, phase = 0, v1beta1.JobFailed
	case o.isHealed():
		want = 0
	}
	if o.restarts != want {
		wrong = append(wrong, fmt.Sprintf("%d restarts are counted, and not %d", o.restarts, want))
	}
	if o.disruptions != 0 {
		wrong = append(wrong, fmt.Sprintf("%d disruptions are counted", o.disruptions))
	}
	if o.phase != phase && (!o.Final || o.Shape != elasticShape) {
		wrong = append(wrong, fmt.Sprintf("the job is %s, and not %s", o.phase, phase))
	}
	return wrong
}

// missing says what the followed logs do not have of what the ranks have written.
func (o *observed) missing() (wrong []string) {
	for rank, text := range o.written {
		want := strings.Split(strings.TrimSpace(text), "\n")
		var got []string
		for line := range strings.Lines(o.logs) {
			if name, words, _ := strings.Cut(line, "] "); name == fmt.Sprintf("[node-%d", rank) {
				if at := strings.Index(words, fmt.Sprintf("crash %d start", rank)); at >= 0 {
					got = append(got, strings.TrimSpace(words[at:]))
				}
			}
		}
		have := slices.DeleteFunc(slices.Clone(got), func(line string) bool { return !slices.Contains(want, line) }) // it may have been killed before it wrote
		if !slices.Equal(want, have) {
			if len(have) > len(want) {
				wrong = append(wrong, fmt.Sprintf("logs -f has lines of rank %d twice: %d, and it wrote %d", rank, len(have), len(want)))
				continue
			}
			lost := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) })
			wrong = append(wrong, fmt.Sprintf("logs -f has %d of the %d lines of rank %d; it lacks %.2000q, and has %.4000q", len(have), len(want), rank, lost, got))
		}
	}
	if !o.logsEnded && o.phase.IsFinal() {
		wrong = append(wrong, "logs -f does not end")
	}
	return wrong
}
