package suite_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// What a user sees, without what differs from run to run. This is taken away or replaced:
//
//   - times, UIDs, resource versions, addresses, the namespace, and the hash in the names of pods;
//   - how old things are: the column AGE is <age>, and events have no age and no count; the seconds of a pause;
//   - the order of events, which have the same second, and how often each came. They are sorted by object, reason and
//     message, and each stands once. So a golden says what was told, and not when, nor how often;
//   - events about pods, which are the scheduler's and the kubelet's, but for those of an image that cannot be pulled;
//   - the event Started of a job that has an event Running: it comes only if the pods take more than two seconds to start;
//   - which of ErrImagePull and ImagePullBackOff the kubelet says, for it goes to and fro between them, in other words each time;
//   - what the event Resuming of a training job says of its pods: that is as far as they have come when the operator looks;
//   - the containers of a replica whose pod was deleted: the row keeps what was seen last, which may be that they ran;
//   - history, recovery and time in `describe`: they are seconds, and which of them there are differs, too;
//   - the spec in `describe`, which is what the manifest says, and how it aligns values.

// varying is what differs from run to run wherever it stands.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "<uid>"},
	{regexp.MustCompile(`(Resource Version: +)\d+`), "$1<version>"},
	{regexp.MustCompile(`(: )(?:ErrImagePull|ImagePullBackOff): .*( \(correct the image's name)`), "$1<ErrImagePull or ImagePullBackOff, in the kubelet's words>$2"},
	{regexp.MustCompile(`\b10(\.\d{1,3}){3}\b`), "<address>"},
	{regexp.MustCompile(`-[0-9a-z]{5}-((?:master|chief|worker)-\d)`), "-<hash>-$1"},
	{regexp.MustCompile(`(this pod was on node )\S+`), "$1<node>"},
}

// The value in a line of `describe`, what the time was spent on, and the rows of pods that were deleted.
var (
	spent             = regexp.MustCompile(`(?m)^  (?:History|Recovery|Time):\n(?:    .*\n)*`)
	aligned           = regexp.MustCompile(`^( *[A-Z][A-Za-z ]*:) +`)
	deletedContainers = regexp.MustCompile(`(?m)^      Containers:\n(?:        .*\n)*(      Name: .*\n      Phase: Deleted\n)`)
)

func (l *life) same(text string) string {
	text = strings.ReplaceAll(text, l.ns, "<namespace>")
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.instead)
	}
	return text
}

// list is what `kubectl get` prints: a table for each kind.
func (l *life) list(text string) string {
	var tables []string
	for _, table := range strings.Split(strings.TrimSpace(text), "\n\n") {
		rows := l.cells(table)
		if age := slices.Index(rows[0], "AGE"); age >= 0 {
			for _, row := range rows[1:] {
				row[age] = "<age>"
			}
		}
		tables = append(tables, printed(rows))
	}
	return strings.Join(tables, "\n")
}

// events is what `kubectl events` prints.
func (l *life) events(text string) string {
	rows := l.cells(strings.TrimSpace(text))
	if len(rows) == 1 { // "No events found"
		return text
	}
	return printed(distinct(without(rows, "LAST SEEN"), "OBJECT", "REASON", "MESSAGE"))
}

// description is what `kubectl describe` prints.
func (l *life) description(text string) string {
	text, events, are := strings.Cut(strings.TrimSpace(text), "\nEvents:\n")
	var lines []string
	inSpec := false
	for line := range strings.Lines(text) {
		line = l.same(strings.TrimRight(line, " \n"))
		switch {
		case line == "Spec:":
			inSpec = true
			lines = append(lines, "Spec:", "  ...")
		case strings.HasPrefix(line, "  Paused Seconds:"): // there is none in a pause of less than one
		case !inSpec || !strings.HasPrefix(line, " "):
			inSpec = false
			lines = append(lines, aligned.ReplaceAllString(line, "$1 "))
		}
	}
	text = spent.ReplaceAllString(strings.Join(lines, "\n")+"\n", "")
	text = deletedContainers.ReplaceAllString(text, "$1")
	if !are {
		return text
	}
	rows := slices.DeleteFunc(l.cells(events), func(row []string) bool { return strings.HasPrefix(row[0], "---") })
	return text + "Events:\n" + indented(printed(distinct(without(rows, "Age"), "Reason", "Message")))
}

// cells cuts a table of kubectl's where its header has its columns.
func (l *life) cells(table string) [][]string {
	lines := strings.Split(table, "\n")
	var starts []int
	for _, at := range regexp.MustCompile(`\S+( \S+)*`).FindAllStringIndex(lines[0], -1) {
		starts = append(starts, at[0])
	}
	var rows [][]string
	for _, line := range lines {
		var row []string
		for i, start := range starts {
			end := len(line)
			if i+1 < len(starts) {
				end = min(end, starts[i+1])
			}
			row = append(row, l.same(strings.TrimSpace(line[min(start, end):end])))
		}
		rows = append(rows, row)
	}
	return rows
}

// without is a table without a column.
func without(rows [][]string, column string) [][]string {
	i := slices.Index(rows[0], column)
	var out [][]string
	for _, row := range rows {
		out = append(out, slices.Delete(row, i, i+1))
	}
	return out
}

// distinct are the events to keep, each once, sorted by these columns.
func distinct(rows [][]string, by ...string) [][]string {
	header, events := rows[0], rows[1:]
	cell := func(row []string, column string) string {
		if i := slices.IndexFunc(header, func(name string) bool { return strings.EqualFold(name, column) }); i >= 0 {
			return row[i]
		}
		return ""
	}
	has := func(object, reason string) bool {
		return slices.ContainsFunc(events, func(row []string) bool { return cell(row, "object") == object && cell(row, "reason") == reason })
	}
	var kept [][]string
	for _, row := range events {
		object, reason := cell(row, "object"), cell(row, "reason")
		routine := strings.HasPrefix(object, "Pod/") && reason != "Failed" && reason != "BackOff"
		passing := reason == "Started" && has(object, "Running")
		if reason == "Resuming" {
			row[len(row)-1] = "..."
		}
		if !routine && !passing {
			kept = append(kept, row)
		}
	}
	slices.SortFunc(kept, func(a, b []string) int {
		for _, column := range by {
			if c := strings.Compare(cell(a, column), cell(b, column)); c != 0 {
				return c
			}
		}
		return slices.Compare(a, b)
	})
	kept = slices.CompactFunc(kept, slices.Equal)
	return append([][]string{header}, kept...)
}

// printed lays out a table as kubectl does.
func printed(rows [][]string) string {
	out := &bytes.Buffer{}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		_, _ = w.Write([]byte(strings.Join(row, "\t") + "\n"))
	}
	_ = w.Flush()
	return regexp.MustCompile(` +\n`).ReplaceAllString(out.String(), "\n")
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
