// Package output reads what code printed last before it failed. It finds which process failed, by which exception or signal, and where in the user's
// code. It also finds whether that only followed from the end of another process. Users need not write anything for it: it knows the words of
// Python, PyTorch, torchrun and others (see signatures.go).
//
// The wrapper reads the last words in the pod, where it has the whole output. The operator reads the last 2 KiB, which a kubelet keeps.
//
// Begin with Read.
package output

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Failure is what the last words of code say of its end. What they do not say is empty.
type Failure struct {
	// ProcessRank is the rank of the process, as its framework counts.
	ProcessRank string
	// Exception is the type and the text of the exception, in one line.
	Exception string
	// Frame is the last frame of the user's own code in its traceback, as in "/train.py:12, in main".
	Frame string
	// Code is the exit code of the process, and Signal the signal that killed it, as its launcher tells. The launcher ends with a code of its own.
	Code, Signal string
	// Follows says what makes it likely that the process ended because another had; "" if nothing does.
	Follows string
	// Kind is one of Kinds, if a signature tells it, and Codes are numbers of the driver's that stand in the words. Classify finds both.
	Kind, Codes string
	// Step is the highest step that the code had told, NoStep if it had told none, and "" if nobody knows it for certain.
	Step string
	// Output is the end of what was said.
	Output string
}

const (
	// maxText is how many bytes are kept of an exception, and maxFrame of a frame.
	maxText, maxFrame = 256, 160
	// maxNumber is how many bytes are kept of a process rank, a code or a signal, and maxFollows of Follows; see ReplicaFailure.
	maxNumber, maxFollows = 16, 64
	// maxKind is how many bytes are kept of a kind, and of all codes.
	maxKind = 32
	// maxStep is how many bytes are kept of a step: each integer of 64 bits has at most as many.
	maxStep = 20
	// recent is how many of the last lines are searched for anything but an exception.
	recent = 30
)

// NoStep stands for the step of code that has told none.
const NoStep = "none"

// Read reads the last words of code. It also reads what Failure.Text has written.
func Read(text string) Failure {
	s, ok := readBack(text)
	if !ok {
		s = read(text)
	}
	s.bound()
	return s
}

// bound shortens all fields to what a status can hold, and removes control characters: code may print a text that looks like one of Failure.Text.
func (s *Failure) bound() {
	for _, f := range []struct {
		text *string
		most int
	}{{&s.ProcessRank, maxNumber}, {&s.Exception, maxText}, {&s.Frame, maxFrame}, {&s.Code, maxNumber}, {&s.Signal, maxNumber}, {&s.Follows, maxFollows}, {&s.Codes, maxKind}, {&s.Step, maxStep}} {
		*f.text = head(strings.Map(seen, *f.text), f.most)
	}
	if !slices.Contains(Kinds, s.Kind) {
		s.Kind = ""
	}
}

// seen returns a character if it is visible, else a space.
func seen(r rune) rune {
	if unicode.IsControl(r) {
		return ' '
	}
	return r
}

func read(text string) Failure {
	s := Failure{Output: strings.TrimSpace(text)}
	if trace, ok := errorFile(text); ok {
		text = trace
	}
	lines := strings.Split(text, "\n")
	before, root, launched := strings.Cut(text, rootCause)
	if launched && s.launched(root) {
		s.raisedUnder(root, before)
	} else if t := cause(traces(lines)); t != nil && !t.weak {
		s.take(t)
	} else {
		s.Follows = lastFollows(lines, "")
	}
	return s
}

// launched reads torchrun's block, and reports whether it is one.
func (s *Failure) launched(root string) bool {
	processRank, code := rootProcessRank.FindStringSubmatch(root), rootCode.FindStringSubmatch(root)
	if processRank == nil || code == nil {
		return false
	}
	s.ProcessRank, s.Code = processRank[1], code[1]
	if number, killed := strings.CutPrefix(code[1], "-"); killed {
		n, _ := strconv.Atoi(number)
		s.Code, s.Signal = "", cmp.Or(signals[n], "signal "+number)
	}
	return true
}

// raisedUnder finds the exception of the process that torchrun names. That process prints it itself if the program's main function is marked with
// @record; else it may stand above what torchrun prints. An exception ends Python with 1, so with another code there was none.
func (s *Failure) raisedUnder(root, before string) {
	if block := rootTrace.FindStringSubmatch(root); block != nil && !strings.HasPrefix(block[1], noTrace) {
		if t := cause(traces(strings.Split(strings.ReplaceAll(block[1], "\n  ", "\n"), "\n"))); t != nil {
			s.take(t)
			return
		}
	}
	lines := strings.Split(before, "\n")
	switch {
	case s.Signal == "SIGTERM":
		s.Follows = toldToEnd
	case s.Code != "1":
		s.Follows = lastFollows(lines, s.ProcessRank)
	default:
		all := traces(lines)
		own := slices.DeleteFunc(slices.Clone(all), func(t trace) bool { return t.processRank != s.ProcessRank })
		if len(own) == 0 {
			own = slices.DeleteFunc(all, func(t trace) bool { return t.processRank != "" })
		}
		if t := cause(own); t != nil {
			s.take(t)
		}
	}
}

func (s *Failure) take(t *trace) {
	s.Exception, s.Frame, s.Follows, s.ProcessRank = t.exception, t.frame(), t.follows, cmp.Or(s.ProcessRank, t.processRank)
}

// lastFollows returns what makes it likely, by one of the last lines, that the failure follows from the end of another process. It is "" if no line
// does. If a process rank is given, only its lines count.
func lastFollows(lines []string, processRank string) string {
	for _, line := range lines[max(0, len(lines)-recent):] {
		if processRank != "" && !strings.Contains(line, "[rank"+processRank+"]") && !strings.Contains(line, "[Rank "+processRank+"]") {
			continue
		}
		if f := follows(line); f != "" {
			return f
		}
	}
	return ""
}

// Sentence says in one line which process ended and how; "" if the words do not say that.
func (s Failure) Sentence() string {
	process := "the process"
	if s.ProcessRank != "" {
		process = "rank " + s.ProcessRank
	}
	switch {
	case s.Exception != "" && s.ProcessRank != "":
		return process + ": " + s.Exception
	case s.Exception != "":
		return s.Exception
	case s.Signal != "":
		return process + " was killed by " + s.Signal
	case s.Code != "":
		return process + " exited with code " + s.Code
	default:
		return ""
	}
}

// ByLauncher reports whether a launcher told how its process ended. Then the container's exit code is the launcher's.
func (s Failure) ByLauncher() bool { return s.Code != "" || s.Signal != "" }

// Text returns a text of at most this many bytes that Read can read again. It has what is known, and then the end of the output.
func (s Failure) Text(most int) string {
	var b strings.Builder
	for _, f := range s.fields() {
		if *f.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", f.name, *f.value)
		}
	}
	if b.Len() == 0 {
		return tail(s.Output, most)
	}
	b.WriteString(outputFollows + "\n")
	return b.String() + tail(s.Output, most-b.Len())
}

// outputFollows stands between what is known and the end of the output.
const outputFollows = "output:"

type field struct {
	name  string
	value *string
}

func (s *Failure) fields() []field {
	return []field{{"rank", &s.ProcessRank}, {"exception", &s.Exception}, {"at", &s.Frame}, {"exit code", &s.Code}, {"signal", &s.Signal}, {"follows", &s.Follows},
		{"kind", &s.Kind}, {"codes", &s.Codes}, {"step", &s.Step}}
}

// readBack reads a text of Failure.Text, and reports whether it is one.
func readBack(text string) (s Failure, ok bool) {
	known := s.fields()
	for line, rest, _ := strings.Cut(text, "\n"); ; line, rest, _ = strings.Cut(rest, "\n") {
		if line == outputFollows {
			s.Output = strings.TrimSpace(rest)
			return s, ok
		}
		if !set(known, line) {
			return Failure{}, false
		}
		ok = true
	}
}

// set sets the field that a line tells, and reports whether it tells one.
func set(known []field, line string) bool {
	for _, f := range known {
		if value, ok := strings.CutPrefix(line, f.name+": "); ok {
			*f.value = value
			return true
		}
	}
	return false
}

// head returns the beginning of a text, up to a number of bytes, without splitting a character.
func head(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

// tail returns the end of a text, up to a number of bytes, without splitting a character.
func tail(text string, most int) string {
	if len(text) > most {
		text = text[len(text)-max(0, most):]
	}
	return strings.ToValidUTF8(text, "")
}
