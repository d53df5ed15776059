package simulator

// calmDown ends all trouble. One operator stays, or comes.
func (l *Life) calmDown() {
	l.powerFailure()
	l.say("calm: no more trouble")
	l.unbuild()
	l.trouble = false
	l.tape.calmDown()
	for _, call := range l.late {
		call()
	}
	for len(l.operators) > 1 {
		l.dismiss(l.operators[1])
	}
	if len(l.operators) == 0 {
		l.hire()
	}
	l.operators[0].skew = 0
	if l.framework != nil && l.framework.editions != nil {
		l.operators[0].define(l.edition)
	}
	for _, node := range nodes {
		l.lost[node], l.flaps[node] = false, false
		delete(l.wakes, node)
		l.giveReadyBack(node)
	}
}

// nap comes to rest with the modes as users left them, while no code ends of its own accord.
func (l *Life) nap() {
	l.napping = true
	l.settle()
	l.truth.rested()
	l.napping = false
}

// settle lets the calm go on until nothing has happened for long.
func (l *Life) settle() {
	for quiet, step := 0, 0; quiet < quietSteps && step < calmSteps; quiet, step = quiet+1, step+1 {
		before := l.api.version
		l.pass(calmStep)
		l.podsCalm()
		l.kueueCalm()
		for range 100 {
			if !l.api.collect() {
				break
			}
		}
		l.drain()
		if l.api.version != before {
			quiet = 0
		}
	}
}

// drain lets the operator see everything and do all that is due. That may be several retries of several calls for each of some pods, but no end of
// them.
func (l *Life) drain() {
	o := l.operators[0]
	for range 400 {
		for _, kind := range l.kinds {
			o.sync(kind, len(l.api.trails[kind]))
		}
		o.begin()
		if len(o.reconciles) == 0 && !l.waitFor(o) {
			return
		}
		for len(o.reconciles) > 0 {
			o.step(o.reconciles[0])
		}
	}
	l.truth.violated("a hot loop", "the operator works without end, in the same moment")
}

// waitFor lets the time pass until the operator's next reconcile is due, if that is soon.
func (l *Life) waitFor(o *operator) bool {
	next := l.now.Add(soon)
	for _, at := range o.queue {
		if at.Before(next) {
			next = at
		}
	}
	waited := next.Before(l.now.Add(soon))
	if waited {
		l.now = next
	}
	return waited
}

// beQuiet looks whether the operator, at rest, writes when it looks at everything again, and when pods change in what it
// has no use for.
func (l *Life) beQuiet() {
	for _, p := range l.api.pods() {
		l.touch(p)
	}
	before, o := l.api.version, l.operators[0]
	for kind := range o.reconcilers {
		o.add(request{kind, jobName}, 0)
	}
	l.drain()
	if l.api.version != before {
		l.truth.violated("axis 2026-02 a quiet job is written", "%d writes", l.api.version-before)
	}
}
