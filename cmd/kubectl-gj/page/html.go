package page

import (
	"crypto/sha256"
	_ "embed" // for the style sheet and the patterns
	"encoding/base64"
	"fmt"
	"html"
	"strings"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

var (
	//go:embed pages/style.css
	stylesheet string
	//go:embed pages/patterns.svg
	patterns string
)

// Frame is what all pages have.
type Frame struct {
	Title, Made string
	// Policy allows the style sheet by its hash. Nothing else may be loaded, run or sent, whatever stands in the page.
	Policy string
}

func frame(title string, now time.Time) Frame {
	sum := sha256.Sum256([]byte(stylesheet))
	return Frame{Title: title, Made: stamp(now),
		Policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))}
}

// markup is HTML, or SVG, that is being written.
type markup struct{ strings.Builder }

// put writes markup of ours, in which each %s stands for a value, as text or within a quoted attribute. Values are escaped, whatever they are.
func (m *markup) put(format string, values ...any) {
	escaped := make([]any, len(values))
	for i, v := range values {
		escaped[i] = html.EscapeString(fmt.Sprint(v))
	}
	fmt.Fprintf(m, format, escaped...)
}

// putIf writes markup around a value, unless that is empty.
func (m *markup) putIf(format, value string) {
	if value != "" {
		m.put(format, value)
	}
}

// whole returns all that was written. Control characters in what tenants wrote are shown, as everywhere in this program: SVG may not have them.
func (m *markup) whole() string { return plain.Text(m.String()) }

// page writes what all pages have around their contents.
func (m *markup) page(f *Frame, contents func()) string {
	m.put("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n", f.Policy)
	m.put("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>%s</title>\n<style>", f.Title)
	m.WriteString(stylesheet)
	m.put("</style>\n</head>\n<body>\n<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\">")
	m.WriteString(patterns)
	m.put("</svg>\n<main>\n")
	contents()
	m.put("</main>\n<p class=\"soft\">Made by kubectl gj at %s. This file needs no network and has no script.</p>\n</body>\n</html>\n", f.Made)
	return m.whole()
}

// table begins a table with the names of its columns. Those that begin with # have numbers.
func (m *markup) table(caption string, columns ...string) {
	m.put("<div class=\"wide\"><table>\n")
	m.putIf("<caption>%s</caption>\n", caption)
	m.put("<tr>")
	for _, name := range columns {
		if number, ok := strings.CutPrefix(name, "#"); ok {
			m.put("<th scope=\"col\" class=\"n\">%s</th>", number)
		} else {
			m.put("<th scope=\"col\">%s</th>", name)
		}
	}
	m.put("</tr>\n")
}

func (m *markup) endTable() { m.put("</table></div>\n") }
