package calls

import (
	"cmp"

	"github.com/genericjob/genericjob/kernel"
)

// mostStanding is how many refusals may stand of a line of creates before nothing is asked for that has not been refused yet: until
// something of the line is accepted, or fewer stand. What asks again after each refusal would ask for one more replica each time.
const mostStanding = 50

// Plans is how many pods of a type a reconcile plans that carries out so many actions, 0 for as many as usual: beside those, as many as
// may be planned in vain, for they are refused and not asked for yet.
func (m *Refusals) Plans(most int) int {
	inVain := 0
	for _, n := range m.standing() {
		inVain = max(inVain, n)
	}
	return cmp.Or(most, mostActions) + inVain
}

// standing is how many refusals of creates stand, by line.
func (m *Refusals) standing() map[string]int {
	n := map[string]int{}
	for _, s := range m.refused {
		if s.Action.Verb.Creates() {
			n[s.line]++
		}
	}
	return n
}

// more are the lines in which pods of these types stand that are asked for once those before them are created.
func (m *Refusals) more(types []string) map[string]bool {
	lines := map[string]bool{}
	for _, t := range types {
		line := lineOf(kernel.Action{Verb: kernel.CreatePod, Type: t})
		lines[line] = !m.full[line]
	}
	return lines
}

// sizes are those of the pods that lines create, one for each line.
func (d *Doer) sizes(lines []line) (bytes []int) {
	for _, l := range lines {
		if l.verb == kernel.CreatePod && len(l.actions) > 0 {
			bytes = append(bytes, d.Builder.Pod(l.actions[0]).Size())
		}
	}
	return bytes
}
