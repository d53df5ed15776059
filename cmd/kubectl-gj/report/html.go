package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

//go:embed pages
var files embed.FS

// pages are the templates of all pages.
var pages = template.Must(template.ParseFS(files, "pages/*.html", "pages/*.svg"))

// Frame is what all pages have.
type Frame struct {
	Title, Made string
	// Style is the style sheet, and Policy allows it by its hash. Nothing else may be loaded, run or sent, whatever stands in the page.
	Style  template.CSS
	Policy string
}

func frame(title string, now time.Time) Frame {
	style := stylesheet()
	sum := sha256.Sum256([]byte(style))
	return Frame{Title: title, Made: stamp(now), Style: style,
		Policy: fmt.Sprintf("default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'", base64.StdEncoding.EncodeToString(sum[:]))}
}

func stylesheet() template.CSS {
	text, err := files.ReadFile("pages/style.css")
	if err != nil {
		panic(err) // it is built in
	}
	return template.CSS(strings.TrimSpace(string(text))) //nolint:gosec // it is ours
}

// HTML is the page of a job.
func (p *Page) HTML() (string, error) { return render("job", p) }

// render fills in a template. Control characters in what tenants wrote are shown, as everywhere in this program: SVG may not have them.
func render(name string, data any) (string, error) {
	var out strings.Builder
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		return "", fmt.Errorf("fill in the page: %w", err)
	}
	return plain.Text(out.String()), nil
}

// Picture is a drawing of a job that stands by itself.
type Picture struct {
	Frame
	Width, Height, BarY px
	Timeline            *Timeline
	Account             *Account
	Legend              []PictureKey
}

// PictureKey is a line of its legend.
type PictureKey struct {
	Key
	X, Y   px
	IsMark bool
}

// SVG is the picture of a job whose time has an account.
func (p *Page) SVG() (string, error) {
	pic := Picture{Frame: p.Frame, Width: pageWidth + 20, Timeline: p.Timeline, Account: p.Account}
	y := p.Timeline.Height + 8
	add := func(list []Key, marks bool) {
		for _, k := range list {
			n := px(len(pic.Legend))
			pic.Legend = append(pic.Legend, PictureKey{k, 10 + px(int(n)%3)*335, y + px(int(n)/3)*18, marks})
		}
	}
	add(p.Timeline.States, false)
	add(p.Timeline.Letters, true)
	pic.BarY = y + px((len(pic.Legend)+2)/3)*18 + 6
	pic.Height = pic.BarY + p.Account.Bar.Height + 6
	return render("picture", pic)
}
