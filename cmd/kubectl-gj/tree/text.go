package tree

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

// Colours of a terminal, by phase.
const (
	red    = "31"
	green  = "32"
	yellow = "33"
	grey   = "90"
)

// Style says how a tree is drawn.
type Style struct {
	// Colours are for terminals.
	Colours bool
	// Width is the number of columns beyond which a line is cut; 0: none is.
	Width int
}

// line is a line before it is padded.
type line struct {
	cells  [4]string // name, phase, node, restarts
	why    string
	colour string
}

// Lines draw a tree.
func (s Style) Lines(root Branch) []string {
	rows := []line{{cells: [4]string{"NAME", "PHASE", "NODE", "RESTARTS"}, why: "WHY"}}
	rows = appendBranch(rows, root, "", "")
	var widths [4]int
	for _, row := range rows {
		for i, cell := range row.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var out []string
	for _, row := range rows {
		out = append(out, s.draw(row, widths))
	}
	if root.Time != "" {
		text := []rune("Time: " + root.Time)
		if s.Width > 0 && len(text) > s.Width {
			text = append(text[:s.Width-1], '…')
		}
		out = append(out, string(text))
	}
	return out
}

// appendBranch adds the lines of a branch: first begins its own, rest those of what hangs from it.
func appendBranch(rows []line, b Branch, first, rest string) []line {
	phase := b.Phase
	if b.Running != "" {
		phase += " " + b.Running
	}
	rows = append(rows, line{
		[4]string{first + plain.Text(b.Name), plain.Text(phase), plain.Text(b.Node), b.counts()},
		plain.Text(strings.Join(strings.Fields(b.words()), " ")), colourOf(b.Phase),
	})
	for i, child := range b.Branches {
		if i < len(b.Branches)-1 {
			rows = appendBranch(rows, child, rest+"├─ ", rest+"│  ")
		} else {
			rows = appendBranch(rows, child, rest+"└─ ", rest+"   ")
		}
	}
	return rows
}

// counts returns the restarts that a limit counts, and those beyond them.
func (b Branch) counts() string {
	text := fmt.Sprint(b.Restarts)
	if b.WithJob > 0 {
		text += fmt.Sprintf(" (+%d with the job)", b.WithJob)
	}
	if b.Uncounted > 0 {
		text += fmt.Sprintf(" (+%d not counted)", b.Uncounted)
	}
	switch words := MoreWords(b.More, b.PerhapsMore); {
	case b.More > 0:
		text += " (+" + words + ")"
	case words != "":
		text += " (" + words + ")"
	}
	var ofJob []string
	if b.Disruptions > 0 {
		ofJob = append(ofJob, fmt.Sprintf("+%d disrupted", b.Disruptions))
	}
	if b.Excepted > 0 {
		ofJob = append(ofJob, fmt.Sprintf("+%d excepted by rules", b.Excepted))
	}
	if len(ofJob) > 0 {
		text += " (" + strings.Join(ofJob, ", ") + ")"
	}
	return text
}

// MoreWords says how many starts there were of which the status does not tell what they were; "" if there were none.
func MoreWords(n int32, perhapsMore bool) string {
	switch {
	case n > 0 && perhapsMore:
		return fmt.Sprintf("%d or more", n)
	case n > 0:
		return fmt.Sprintf("%d more", n)
	case perhapsMore:
		return "perhaps more"
	default:
		return ""
	}
}

// words returns how far a job has come, and why it is not as it should be.
func (b Branch) words() string {
	var words []string
	if b.Step != nil {
		words = append(words, fmt.Sprintf("step %d", *b.Step))
	}
	if b.Loss != "" {
		words = append(words, "loss "+b.Loss)
	}
	progress := strings.Join(words, ", ")
	if b.Early != "" {
		progress += " (" + b.Early + " before the end)"
	}
	if progress != "" && b.Why != "" {
		progress += "; "
	}
	return progress + b.Why
}

func (s Style) draw(row line, widths [4]int) string {
	var text strings.Builder
	for i, cell := range row.cells {
		text.WriteString(cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
	}
	plain := []rune(strings.TrimRight(text.String()+row.why, " "))
	if s.Width > 0 && len(plain) > s.Width {
		plain = append(plain[:s.Width-1], '…')
	}
	from, to := widths[0]+2, widths[0]+2+utf8.RuneCountInString(row.cells[1])
	if !s.Colours || row.colour == "" || to > len(plain) {
		return string(plain)
	}
	return string(plain[:from]) + "\x1b[" + row.colour + "m" + string(plain[from:to]) + "\x1b[0m" + string(plain[to:])
}

func colourOf(phase string) string {
	switch phase {
	case "Running", "Succeeded":
		return green
	case "Failed", "Unknown", "Terminating":
		return red
	case "Pending", "Creating", "Resuming", "Unseen":
		return yellow
	case "Paused", "Deleted":
		return grey
	default:
		return ""
	}
}
