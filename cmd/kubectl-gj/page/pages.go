package page

// HTML returns the page of a job.
func (p *Page) HTML() string {
	m := &markup{}
	return m.page(&p.Frame, func() {
		m.head(p)
		m.put("<h2>Life</h2>\n")
		if p.Timeline != nil {
			m.timeline(p.Timeline)
		} else {
			m.put("<p>The job has no GenericJob yet: nothing of it was started.</p>\n")
		}
		m.put("<h2>What the time was spent on</h2>\n")
		if p.TimeSpent != nil {
			m.timeSpent(p.TimeSpent)
		} else {
			m.put("<p>The status does not say what the time was spent on.</p>\n")
		}
		if p.Between != nil {
			m.between(p.Between)
		}
		m.failures(p)
		m.progress(&p.Progress)
		if len(p.Events) > 0 {
			m.events(p.Events)
		}
	})
}

func (m *markup) head(p *Page) {
	m.put("<h1>%s</h1>\n<p class=\"soft\">in namespace %s</p>\n<p><span class=\"phase\">%s</span></p>\n<dl class=\"facts\">", p.Job, p.Namespace, p.Phase)
	for _, f := range p.Facts {
		m.put("<div><dt>%s</dt><dd>%s</dd></div>", f.Name, f.Value)
	}
	m.put("</dl>\n<p class=\"box\">%s", p.Why)
	m.putIf("<br><b>What to do:</b> %s", p.Do)
	m.put("</p>\n\n")
}

func (m *markup) between(b *Between) {
	m.put("<h2>What came between</h2>\n")
	m.table("", "what", "began", "#took", "#restarts", "replica", "cause", "words")
	for _, r := range b.Rows {
		goesOn := ""
		if r.Open {
			goesOn = ", goes on"
		}
		m.put("<tr><td class=\"t\">")
		m.swatch(string(r.Is))
		m.put("%s</td><td class=\"t\">%s</td><td class=\"n\">%s%s</td><td class=\"n\">%s</td><td class=\"t\">%s", r.What, r.Begin, r.Took, goesOn, r.Restarts, r.Replica)
		m.putIf("<br><span class=\"soft\">%s</span>", r.Node)
		m.put("</td><td class=\"t\">%s", r.Cause)
		m.putIf("<br><span class=\"soft\">exit code %s</span>", r.Exit)
		m.put("</td><td class=\"w\">%s</td></tr>\n", r.Words)
	}
	m.endTable()
	for i, e := range b.Earlier {
		m.put([]string{"<p class=\"soft\">Before these: %s", "; %s"}[min(i, 1)], e)
	}
	if len(b.Earlier) > 0 {
		m.put(".</p>\n")
	}
}

func (m *markup) failures(p *Page) {
	m.put("<h2>Failures</h2>\n")
	if f := p.First; f != nil {
		probably := ""
		if f.Probable {
			probably = ", probably"
		}
		m.put("<div class=\"box first\"><b>%s failed first%s</b>", f.Replica, probably)
		m.putIf(" at %s", f.Time)
		m.putIf(", on %s", f.Node)
		m.put("<p>%s</p>\n", f.Summary)
		m.putIf("<p><b>Exception:</b> %s</p>", join(f.Exception, f.Frame))
		m.putIf("<pre>%s</pre>", f.Words)
		m.put("</div>\n")
	}
	if len(p.Failures) == 0 {
		if p.First == nil {
			m.put("<p>No replica has failed, as far as the status knows.</p>\n")
		}
		return
	}
	m.table("The last failures of replicas, the newest first. The status keeps five.", "replica", "ended", "exit", "cause", "words")
	for i := range p.Failures {
		m.failure(&p.Failures[i])
	}
	m.endTable()
}

func (m *markup) failure(f *FailureRow) {
	m.put("<tr><td class=\"t\">%s", f.Replica)
	m.putIf("<br>process %s", f.ProcessRank)
	m.put("</td><td class=\"t\">%s", f.Time)
	m.putIf("<br><span class=\"soft\">%s</span>", f.Node)
	m.put("</td><td>%s", f.Exit)
	m.putIf("<br>worker: %s", f.Worker)
	m.put("</td><td>%s", f.Kind)
	m.putIf(" (%s)", f.Codes)
	m.putIf("<br><span class=\"soft\">%s</span>", f.Role)
	m.putIf("<br><span class=\"soft\">follows: %s</span>", f.Follows)
	m.put("</td><td class=\"w\">%s", f.Exception)
	m.putIf("<br><span class=\"soft\">%s</span>", f.Frame)
	m.putIf("<pre>%s</pre>", f.Words)
	m.put("</td></tr>\n")
}

func (m *markup) progress(p *Progress) {
	m.put("<h2>Progress</h2>\n<p>")
	m.putIf("Step <b>%s</b>. ", p.Step)
	m.putIf("Loss <b>%s</b>. ", p.Loss)
	m.putIf("Reported at %s.", p.Told)
	if p.Step+p.Loss == "" {
		m.put("The status has neither a step nor a loss.")
	}
	m.put("</p>\n")
	if len(p.Charts) == 0 {
		m.put("<p class=\"soft\">%s</p>\n", p.Note)
		return
	}
	m.put("<div class=\"charts\">")
	for _, c := range p.Charts {
		m.chart(c)
	}
	m.put("</div><p class=\"soft\">%s</p>\n", p.Source)
}

func (m *markup) events(list []EventRow) {
	m.put("<h2>Events</h2>\n")
	m.table("The last events about the job, the newest first. A cluster keeps them for an hour, unless it is set up otherwise.", "time", "type", "reason", "#times", "message")
	for _, e := range list {
		m.put("<tr><td class=\"t\">%s</td><td>%s</td><td>%s</td><td class=\"n\">%s</td><td class=\"w\">%s</td></tr>\n", e.Time, e.Type, e.Reason, e.Count, e.Message)
	}
	m.endTable()
}

// HTML returns the page.
func (l *List) HTML() string {
	m := &markup{}
	return m.page(&l.Frame, func() {
		m.put("<h1>%s</h1>\n<p class=\"soft\">%s", l.Title, l.Count)
		for _, f := range l.Same {
			m.put(", %s=%s", f.Name, f.Value)
		}
		m.put("</p>\n<div class=\"wide\"><table>\n<tr>")
		if l.Namespaces {
			m.put("<th scope=\"col\">namespace</th>")
		}
		m.put("<th scope=\"col\">job</th>")
		for _, key := range l.Labels {
			m.put("<th scope=\"col\">%s</th>", key)
		}
		m.put("<th scope=\"col\">phase</th><th scope=\"col\" class=\"n\">duration</th><th scope=\"col\" class=\"n\">restarts</th><th scope=\"col\" class=\"n\">step</th>" +
			"<th scope=\"col\" class=\"n\">loss</th><th scope=\"col\">cause</th><th scope=\"col\">last failure</th></tr>\n")
		for i := range l.Rows {
			m.job(&l.Rows[i], l.Namespaces)
		}
		m.endTable()
		m.putIf("<p class=\"soft\">%s</p>\n", l.More)
	})
}

// job writes the row of a job.
func (m *markup) job(r *ListRow, namespaces bool) {
	m.put("<tr>")
	if namespaces {
		m.put("<td>%s</td>", r.Namespace)
	}
	m.put("<td>%s</td>", r.Name)
	for _, value := range r.Labels {
		m.put("<td>%s</td>", value)
	}
	m.put("<td><span class=\"phase\">%s</span></td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td><td class=\"n\">%s</td>", r.Phase, r.Duration, r.Restarts, r.Step, r.Loss)
	m.put("<td>%s</td><td class=\"w\">%s</td></tr>\n", r.Cause, r.LastFailure)
}
