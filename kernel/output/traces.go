package output

import (
	"slices"
	"strings"
)

// trace is a traceback that has come to its exception.
type trace struct {
	processRank string // of the process that printed it; "" if it does not say
	exception   string
	last, own   string // its last frame, and the last in the user's own code
	follows     string // by which signature it, or one that it was raised from, follows from the end of another
	weak        bool   // no traceback stands above the exception: the line may be of anything
}

// frame returns the last frame of the user's own code, or else the last of all.
func (t *trace) frame() string {
	if t.own != "" {
		return t.own
	}
	return t.last
}

// reader reads the tracebacks of one process, whose lines may stand between those of others.
type reader struct {
	now     trace
	within  bool // frames, or the head of a traceback, have been seen
	chained bool // the next traceback is of an exception that was raised because of the one before
	ignored bool // the next is of an exception that ends nothing
}

// traces returns the tracebacks in some lines, of each process the last one: that ended it. Those of launchers are none.
func traces(lines []string) []trace {
	readers := map[string]*reader{}
	var done []trace
	last := map[string]int{} // by prefix, in done
	for _, line := range lines {
		line = strings.TrimRight(line, "\r \t")
		p := ""
		if strings.HasPrefix(line, "[") { // to ask a regular expression of each line takes longer than all the rest
			p = prefix.FindString(line)
		}
		if readers[p] == nil {
			readers[p] = &reader{}
		}
		t, ok := readers[p].read(line[len(p):])
		if !ok || strings.HasSuffix(t.name(), childError) {
			continue
		}
		if m := namesProcess.FindStringSubmatch(p); m != nil {
			t.processRank = m[1]
		}
		if j, had := last[p]; had {
			if t.weak && !done[j].weak {
				continue
			}
			done[j].exception = "" // another came later
		}
		last[p] = len(done)
		done = append(done, t)
	}
	return slices.DeleteFunc(done, func(t trace) bool { return t.exception == "" })
}

func (t *trace) name() string {
	name, _, _ := strings.Cut(t.exception, ": ")
	return strings.TrimSuffix(name, ":")
}

// read reads the next line of a process, and returns the traceback that it ends.
func (r *reader) read(line string) (done trace, ok bool) {
	if strings.Contains(line, `File "`) {
		if f := frame.FindStringSubmatch(line); f != nil {
			r.within = true
			r.step(f)
			return trace{}, false
		}
	}
	switch {
	case line == traceback:
		r.within, r.now.last, r.now.own = true, "", ""
		if !r.chained {
			r.now.follows = ""
		}
	case strings.HasPrefix(line, "Exception ignored in"), strings.HasPrefix(line, "Exception in thread"):
		r.ignored = true
	case strings.HasPrefix(line, "During handling of the above exception"), strings.HasPrefix(line, "The above exception was the direct cause"):
		r.chained = true
	case line == "", strings.HasPrefix(line, " "), strings.HasPrefix(line, "\t"):
	case r.within && raised.MatchString(line), exception.MatchString(line):
		return r.end(line)
	}
	return trace{}, false
}

// step notes a frame.
func (r *reader) step(f []string) {
	at := f[1] + ":" + f[2]
	if f[3] != "" {
		at += ", in " + f[3]
	}
	r.now.last = at
	if !elsewhere.MatchString(f[1]) {
		r.now.own = at
	}
}

// end ends a traceback with its exception.
func (r *reader) end(line string) (trace, bool) {
	t, ignored := r.now, r.ignored
	t.exception, t.weak = line, !r.within
	if f := follows(line); f != "" {
		t.follows = f
	}
	r.now, r.within, r.chained, r.ignored = trace{follows: t.follows}, false, false, false
	return t, !ignored
}

// cause returns the first of some tracebacks that does not follow from the end of another process, else the first of all; nil without any.
func cause(all []trace) *trace {
	pick := func(is func(*trace) bool) *trace {
		for i := range all {
			if is(&all[i]) {
				return &all[i]
			}
		}
		return nil
	}
	for _, matches := range []func(*trace) bool{
		func(t *trace) bool { return !t.weak && t.follows == "" }, func(t *trace) bool { return !t.weak }, func(t *trace) bool { return t.follows == "" },
		func(*trace) bool { return true },
	} {
		if t := pick(matches); t != nil {
			return t
		}
	}
	return nil
}
