package main

import (
	"fmt"
	"html"
	"strings"
)

const (
	charWidth  = 7.2 // of 12 px monospace
	lineHeight = 17
	margin     = 12
	longest    = 2.5 // seconds for which nothing happens; a longer wait is shortened to it
	last       = 4.0 // seconds for which the last frame stays
	shortest   = 0.3 // seconds; a frame that stays for less is left out
)

// colours by the number of the terminal's.
var colours = map[int]string{0: "#d0d7de", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 90: "#8b949e"}

// shorten makes long waits short, and leaves out what nobody could read.
func shorten(frames []frame) []frame {
	var out []frame
	now := 0.0
	for i, f := range frames {
		stay := last
		if i < len(frames)-1 {
			stay = min(longest, frames[i+1].at-f.at)
		}
		if stay < shortest || len(f.lines) == 0 {
			continue
		}
		out = append(out, frame{now, f.lines})
		now += stay
	}
	return append(out, frame{at: now}) // the end
}

// draw draws frames one after the other, again and again. The last of them, which has no lines, is the end.
func draw(title string, frames []frame) string {
	width, height := len("$ "+title), 0
	for _, f := range frames {
		height = max(height, len(f.lines))
		for _, line := range f.lines {
			width = max(width, len(line))
		}
	}
	total := frames[len(frames)-1].at
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%.0f" height="%d" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" xml:space="preserve">`+"\n",
		float64(width)*charWidth+2*margin, (height+1)*lineHeight+2*margin)
	fmt.Fprintf(&svg, "<title>%s</title>\n<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"#0d1117\"/>\n", html.EscapeString(title))
	fmt.Fprintf(&svg, "<style>g { visibility: hidden; animation-duration: %.1fs; animation-iteration-count: infinite; animation-timing-function: step-end }\n", total)
	for i, f := range frames[:len(frames)-1] {
		from, to := 100*f.at/total, 100*frames[i+1].at/total
		fmt.Fprintf(&svg, "@keyframes f%d { 0%% { visibility: %s } %.2f%% { visibility: visible } %.2f%% { visibility: %s } }\n",
			i, visible(i == 0), from, to, visible(i == len(frames)-2))
		fmt.Fprintf(&svg, "#f%d { animation-name: f%d }\n", i, i)
	}
	// Where nothing moves the last frame is the picture.
	fmt.Fprintf(&svg, "#f%d { visibility: visible }\n@media (prefers-reduced-motion) { g { animation: none !important } }</style>\n", len(frames)-2)
	text(&svg, 0, []cell{}, "$ "+title)
	for i, f := range frames[:len(frames)-1] {
		fmt.Fprintf(&svg, "<g id=\"f%d\">\n", i)
		for row, line := range f.lines {
			text(&svg, row+1, line, "")
		}
		svg.WriteString("</g>\n")
	}
	svg.WriteString("</svg>\n")
	return svg.String()
}

func visible(is bool) string {
	if is {
		return "visible"
	}
	return "hidden"
}

// text draws a line: the plain text, or cells in their colours.
func text(svg *strings.Builder, row int, line []cell, plain string) {
	for _, char := range plain {
		line = append(line, cell{char: char})
	}
	y := margin + (row+1)*lineHeight - 4
	for from := 0; from < len(line); {
		to := from
		var run strings.Builder
		for ; to < len(line) && line[to].colour == line[from].colour; to++ {
			run.WriteRune(line[to].char)
		}
		if strings.TrimSpace(run.String()) != "" {
			fmt.Fprintf(svg, "<text x=\"%.1f\" y=\"%d\" fill=\"%s\" textLength=\"%.1f\">%s</text>\n",
				margin+float64(from)*charWidth, y, colours[line[from].colour], float64(to-from)*charWidth, html.EscapeString(run.String()))
		}
		from = to
	}
}
