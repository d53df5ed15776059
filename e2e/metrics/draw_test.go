package metrics

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// panel is a panel of the dashboard, with what its queries have found.
type panel struct {
	Title       string
	FieldConfig struct {
		Defaults struct {
			Unit   string
			Custom struct{ Stacking struct{ Mode string } }
		}
	}
	Targets []struct {
		Expr, LegendFormat string
		found              []series
	}
}

// curve is a series with its name and its values by the second of the run; NaN where there is none.
type curve struct {
	name   string
	values []float64
}

// The measures of the drawing, in pixels: of a panel, and of the room for its curves within.
const (
	columns       = 3
	width, height = 400, 230
	left, top     = 46, 30
	plotW, plotH  = width - left - 14, 120
	maxNames      = 6
	maxName       = 30 // characters
)

var colours = []string{"#3274d9", "#e0752d", "#56a64b", "#a352cc", "#e02f44", "#e5a50a", "#1f9c9c", "#7b7b7b"}

// draw draws panels as SVG. It is no picture of Grafana: it shows what the queries find.
func draw(panels []panel) []byte {
	first, last := math.Inf(1), math.Inf(-1)
	for _, p := range panels {
		for _, target := range p.Targets {
			for _, s := range target.found {
				for _, v := range s.Values {
					at, _ := v[0].(float64)
					first, last = min(first, at), max(last, at)
				}
			}
		}
	}
	rows := (len(panels) + columns - 1) / columns
	out := &bytes.Buffer{}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="10">`+"\n", columns*width, rows*height)
	fmt.Fprintf(out, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", columns*width, rows*height)
	for i, p := range panels {
		fmt.Fprintf(out, `<g transform="translate(%d %d)">`+"\n", i%columns*width, i/columns*height)
		p.draw(out, first, int(last-first)+1)
		fmt.Fprintln(out, "</g>")
	}
	fmt.Fprintln(out, "</svg>")
	return out.Bytes()
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

// curves are the series of a panel; stacked upon each other where the panel says so.
func (p panel) curves(first float64, seconds int) []curve {
	var list []curve
	for _, target := range p.Targets {
		for _, s := range target.found {
			c := curve{values: slices.Repeat([]float64{math.NaN()}, seconds)}
			c.name = placeholder.ReplaceAllStringFunc(target.LegendFormat, func(m string) string { return s.Metric[strings.Trim(m, "{}")] })
			for _, v := range s.Values {
				at, _ := v[0].(float64)
				c.values[int(at-first)] = number(v[1])
			}
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b curve) int { return strings.Compare(a.name, b.name) })
	if p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal" {
		below := make([]float64, seconds)
		for _, c := range list {
			for t, v := range c.values {
				below[t] += zero(v)
				c.values[t] = below[t]
			}
		}
	}
	return list
}

func short(name string) string {
	if len(name) > maxName {
		return name[:maxName-3] + "..."
	}
	return name
}

func zero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

func (p panel) draw(out *bytes.Buffer, first float64, seconds int) {
	list, most := p.curves(first, seconds), 0.0
	for _, c := range list {
		for _, v := range c.values {
			most = max(most, zero(v))
		}
	}
	if most == 0 {
		most = 1
	}
	fmt.Fprintf(out, `<text x="8" y="16" font-size="12" font-weight="bold">%s</text>`+"\n", html.EscapeString(p.Title))
	for _, part := range []float64{0, 0.5, 1} {
		y := top + plotH*(1-part)
		fmt.Fprintf(out, `<path d="M%d %.0fh%d" stroke="#ddd"/><text x="%d" y="%.0f" text-anchor="end" fill="#555">%s</text>`+"\n",
			left, y, plotW, left-4, y+3, p.words(most*part))
	}
	for at := 0; at < seconds; at += 30 {
		fmt.Fprintf(out, `<text x="%.0f" y="%d" text-anchor="middle" fill="#555">%d:%02d</text>`+"\n", left+float64(at)*plotW/float64(seconds), top+plotH+13, at/60, at%60)
	}
	stacked := p.FieldConfig.Defaults.Custom.Stacking.Mode == "normal"
	for i := len(list) - 1; i >= 0; i-- {
		list[i].draw(out, colours[i%len(colours)], most, stacked)
	}
	for i, c := range list[:min(len(list), maxNames)] {
		x, y := 8+i%2*(width/2-4), top+plotH+30+i/2*14
		fmt.Fprintf(out, `<rect x="%d" y="%d" width="9" height="9" fill="%s"/><text x="%d" y="%d">%s</text>`+"\n", x, y-8, colours[i%len(colours)], x+13, y, html.EscapeString(short(c.name)))
	}
	if more := len(list) - maxNames; more > 0 {
		fmt.Fprintf(out, `<text x="8" y="%d" fill="#555">and %d more</text>`+"\n", top+plotH+30+maxNames/2*14, more)
	}
}

// draw draws a curve, in one piece for each time that it has values; a stacked one with all that is below it.
func (c curve) draw(out *bytes.Buffer, colour string, most float64, stacked bool) {
	line := &strings.Builder{}
	x := func(t int) string {
		return strconv.FormatFloat(left+float64(t)*plotW/float64(len(c.values)), 'f', 1, 64)
	}
	for t, v := range c.values {
		if math.IsNaN(v) {
			continue
		}
		step := "L"
		if t == 0 || math.IsNaN(c.values[t-1]) {
			step = "M"
		}
		fmt.Fprintf(line, "%s%s %s", step, x(t), strconv.FormatFloat(top+plotH*(1-v/most), 'f', 1, 64))
	}
	fill := "none"
	if stacked && line.Len() > 0 {
		fill = colour
		fmt.Fprintf(line, "L%s %dL%d %dZ", x(len(c.values)-1), top+plotH, left, top+plotH)
	}
	fmt.Fprintf(out, `<path d="%s" fill="%s" fill-opacity="0.35" stroke="%s" stroke-width="1.2"/>`+"\n", line, fill, colour)
}

// words are a value in the panel's unit.
func (p panel) words(v float64) string {
	switch p.FieldConfig.Defaults.Unit {
	case "bytes":
		return strconv.FormatFloat(v/(1<<20), 'f', 0, 64) + " MiB"
	case "s":
		return strconv.FormatFloat(v, 'g', 3, 64) + " s"
	default:
		if v >= 100 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
}
