package page

// Drawings, as SVG within a page.

func (m *markup) swatch(is string) {
	m.put(`<svg width="22" height="12" aria-hidden="true"><path class="s %s" d="M0 0H22V12H0z"/></svg>`, is)
}

func (m *markup) symbol(is string) {
	m.put(`<svg width="16" height="14" aria-hidden="true"><circle class="symbol %s" cx="8" cy="7" r="6.5"/><text class="letter" x="8" y="10.5">%s</text></svg>`, is, is)
}

// drawing begins a drawing, with what it is and what it shows for those who do not see it.
func (m *markup) drawing(id string, width, height px, title, desc string) {
	m.put("<svg class=\"drawing\" xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" role=\"img\" aria-labelledby=\"%s-title %s-desc\">\n", width, height, id, id)
	m.put("<title id=\"%s-title\">%s</title><desc id=\"%s-desc\">%s</desc>\n", id, title, id, desc)
}

func (m *markup) timeline(t *Timeline) {
	m.put("<figure>\n")
	m.drawing("timeline", t.Width, t.Height, "The job and its replicas over time", t.Desc)
	m.life(t)
	m.put("</svg>\n<figcaption>From %s, which is 0, to %s. %s</figcaption>\n<ul class=\"legend\">", t.Begin, t.End, t.Note)
	for _, k := range t.States {
		m.put("<li>")
		m.swatch(k.Is)
		m.put("%s</li>", k.Words)
	}
	for _, k := range t.Letters {
		m.put("<li>")
		m.symbol(k.Is)
		m.put("%s</li>", k.Words)
	}
	m.put("</ul>\n</figure>\n")
}

// life draws a timeline.
func (m *markup) life(t *Timeline) {
	for _, at := range t.Ticks {
		m.put("<path class=\"grid\" d=\"M%s 6V%s\"/><text class=\"small mid\" x=\"%s\" y=\"%s\">%s</text>\n", at.At, t.Bottom, at.At, t.Foot, at.Text)
	}
	m.row(&t.JobRow)
	for i := range t.Rows {
		m.row(&t.Rows[i])
	}
	for _, x := range t.Cuts {
		m.put("<path class=\"cut\" d=\"M%s 6V%s\"/>\n", x, t.Bottom)
	}
	for _, r := range t.Rows {
		for _, k := range r.Symbols {
			m.put("<circle class=\"symbol %s\" cx=\"%s\" cy=\"%s\" r=\"6.5\"><title>%s</title></circle>", k.Letter, k.X, k.Y, k.Title)
			m.put("<text class=\"letter\" x=\"%s\" y=\"%s\">%s<title>%s</title></text>\n", k.X, k.Text, k.Letter, k.Title)
		}
	}
}

func (m *markup) row(r *Row) {
	m.put("<text class=\"end\" x=\"%s\" y=\"%s\">%s<title>%s</title></text>\n", lineLeft-8, r.Text, r.Name, r.Title)
	for _, s := range r.Shapes {
		m.put("<path class=\"s %s\" d=\"%s\"><title>%s</title></path>\n", s.Is, s.D, s.Title)
	}
	m.put("<text class=\"small\" x=\"%s\" y=\"%s\">%s<title>%s</title></text>\n", lineLeft+lineWidth+8, r.Text, r.Now, r.Title)
}

func (m *markup) timeSpent(a *TimeSpent) {
	m.put("<figure>\n")
	m.drawing("time-spent", a.Bar.Width, a.Bar.Height, "What the time was spent on", a.Desc)
	m.bar(a)
	m.put("</svg>\n</figure>\n<p class=\"soft\">%s in all; goodput %s", a.Total, a.Goodput)
	m.putIf(", %s of the training was spent on steps that had been done before", a.Recomputed)
	if a.Unknown {
		m.put(", how many steps were done again is not known")
	}
	m.putIf(". %s", a.Basis)
	m.put(".</p>\n")
	columns := []string{"spent on", "#time", "#share"}
	if a.Devices {
		columns = append(columns, "#device hours")
	}
	m.table("", columns...)
	for _, p := range a.Parts {
		m.put("<tr><td>")
		m.swatch(string(p.Is))
		m.put("%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>", p.Words, p.Time, p.Share)
		m.putIf("<td class=\"n\">%s</td>", p.Devices)
		m.put("</tr>\n")
	}
	m.endTable()
}

// bar draws what time was spent on.
func (m *markup) bar(a *TimeSpent) {
	for _, p := range a.Parts {
		m.put("<path class=\"s %s\" d=\"M%s %sh%sv%sh-%sz\"><title>%s</title></path>\n", p.Is, p.X, a.Bar.Top, p.Width, a.Bar.Tall, p.Width, p.Title)
	}
	for _, p := range a.Parts {
		if p.Label != "" {
			m.put("<text class=\"in\" x=\"%s\" y=\"%s\">%s</text>\n", p.Middle, a.Bar.Text, p.Label)
		}
	}
}

func (m *markup) chart(c *Chart) {
	m.put("<figure>\n<figcaption>%s</figcaption>\n", c.Title)
	m.drawing(c.ID, c.Width, c.Height, c.Title, c.Desc)
	for _, at := range c.YTicks {
		m.put("<path class=\"grid\" d=\"M%s %sH%s\"/><text class=\"small end\" x=\"%s\" y=\"%s\" dy=\"4\">%s</text>\n", c.Left, at.At, c.Right, c.Left-6, at.At, at.Text)
	}
	for _, at := range c.XTicks {
		m.put("<path class=\"grid\" d=\"M%s %sV%s\"/><text class=\"small mid\" x=\"%s\" y=\"%s\" dy=\"15\">%s</text>\n", at.At, c.Top, c.Bottom, at.At, c.Bottom, at.Text)
	}
	for _, l := range c.Lines {
		m.put("<path class=\"curve %s\" d=\"%s\"><title>%s</title></path>", l.Is, l.D, l.Title)
		for _, d := range l.Dots {
			m.put("<circle class=\"spot\" cx=\"%s\" cy=\"%s\" r=\"3\"/>", d.X, d.Y)
		}
		m.put("\n")
	}
	m.put("<text class=\"small mid\" x=\"%s\" y=\"%s\" dy=\"34\">%s</text>\n</svg>\n</figure>\n", c.Middle, c.Bottom, c.XName)
}

// SVG returns the picture of a job of which is known what its time was spent on. It stands by itself.
func (p *Page) SVG() string {
	m, t := &markup{}, p.Timeline
	type key struct {
		Key
		draw func(string)
	}
	var legend []key
	for _, k := range t.States {
		legend = append(legend, key{k, m.swatch})
	}
	for _, k := range t.Letters {
		legend = append(legend, key{k, m.symbol})
	}
	top := t.Height + 8
	bar := top + px((len(legend)+2)/3)*18 + 6
	m.drawing("picture", pageWidth+20, bar+p.TimeSpent.Bar.Height+6, p.Title, t.Desc+" "+p.TimeSpent.Desc)
	m.put("<style>")
	m.WriteString(stylesheet)
	m.put("</style>\n")
	m.WriteString(patterns)
	m.put("<rect class=\"bg\" width=\"100%%\" height=\"100%%\"/>\n<svg x=\"10\" y=\"6\" width=\"%s\" height=\"%s\">", t.Width, t.Height)
	m.life(t)
	m.put("</svg>\n")
	for i, k := range legend {
		m.put("<svg x=\"%s\" y=\"%s\" width=\"330\" height=\"16\">", 10+px(i%3)*335, top+px(i/3)*18)
		k.draw(k.Is)
		m.put("<text class=\"small\" x=\"28\" y=\"10.5\">%s</text></svg>\n", k.Words)
	}
	m.put("<svg x=\"10\" y=\"%s\" width=\"%s\" height=\"%s\">", bar, p.TimeSpent.Bar.Width, p.TimeSpent.Bar.Height)
	m.bar(p.TimeSpent)
	m.put("</svg>\n</svg>\n")
	return m.whole()
}
