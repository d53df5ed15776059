package output

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// Kinds of failure, as a status has them. Failure.Kind is "" where no words tell one.
const (
	Exception         = "Exception"
	OutOfMemory       = "OutOfMemory"
	DeviceOutOfMemory = "DeviceOutOfMemory"
	Hardware          = "Hardware"
	Network           = "Network"
	Storage           = "Storage"
	Timeout           = "Timeout"
	Hang              = "Hang"
	Config            = "Config"
	NotANumber        = "NotANumber"
	Teardown          = "Teardown"
	Unknown           = "Unknown"
)

// Kinds are all kinds.
var Kinds = []string{Exception, OutOfMemory, DeviceOutOfMemory, Hardware, Network, Storage, Timeout, Hang, Config, NotANumber, Teardown, Unknown}

// kindSignature is how words of code tell the kind of its failure.
type kindSignature struct {
	kind string
	// words stand in one line, in this order. They are in lower case, as the line is when it is compared.
	words []string
	// source is where the words come from.
	source string
}

// driverError is a line of NVIDIA's driver, with the number of its error. https://docs.nvidia.com/deploy/xid-errors
var driverError = regexp.MustCompile(`\bXid(?: \([^)]*\))?:? (\d{1,3})\b`)

// applicationErrors are numbers of the driver's that code brings about itself, as by an index out of range. The source is that of driverError.
var applicationErrors = []string{"13", "31", "43", "45", "68"}

// Classify finds the kind of a failure, and codes that can be looked up, unless Read has found them in a text of Failure.Text. An exception goes
// before the lines around it. Errors of the driver go before both, because code sees a broken device as an error of its own. Classify takes ten
// times as long as Read.
func (s *Failure) Classify() {
	if s.Kind != "" || s.Codes != "" {
		return
	}
	lines := strings.Split(s.Output, "\n")
	if before, _, launched := strings.Cut(s.Output, rootCause); launched && s.ByLauncher() {
		lines = strings.Split(before, "\n")
	}
	lines = lines[max(0, len(lines)-recent):]
	broken := s.readDriverErrors(lines)
	lines = s.own(lines)
	switch {
	case broken:
		s.Kind = Hardware
	case s.Follows != "":
		s.Kind = kindOfFollowing(s.Follows)
	case s.Exception != "":
		s.Kind = cmp.Or(kindOf(s.Exception), kindOfLast(below(lines, s.Exception)))
	default:
		s.Kind = kindOfLast(lines)
	}
}

// own returns the lines of the process that failed: those without a process rank, or with its own. If a launcher tells how the process ended,
// without an exception, only lines with its rank count.
func (s *Failure) own(lines []string) []string {
	if s.ProcessRank == "" {
		return lines
	}
	needsProcessRank := s.ByLauncher() && s.Exception == ""
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool {
		m := namesProcess.FindStringSubmatch(line)
		return m == nil && needsProcessRank || m != nil && m[1] != s.ProcessRank
	})
}

// readDriverErrors notes the numbers of the driver's errors, and reports whether one of them is of a device that does not work.
func (s *Failure) readDriverErrors(lines []string) (broken bool) {
	var codes []string
	for _, line := range lines {
		if !strings.Contains(line, "Xid") {
			continue
		}
		for _, m := range driverError.FindAllStringSubmatch(line, -1) {
			if code := "Xid " + m[1]; !slices.Contains(codes, code) && len(codes) < maxCodes {
				codes = append(codes, code)
			}
			broken = broken || !slices.Contains(applicationErrors, m[1])
		}
	}
	s.Codes = strings.Join(codes, betweenCodes)
	return broken
}

const (
	// maxCodes is how many codes of the driver's are kept.
	maxCodes = 3
	// betweenCodes separates two codes.
	betweenCodes = ", "
)

// kindOf returns the kind that a line tells; "" if it tells none.
func kindOf(line string) string {
	line = strings.ToLower(line)
	for i := range kindSignatures {
		if isIn(kindSignatures[i].words, line) {
			return kindSignatures[i].kind
		}
	}
	return ""
}

// below returns the lines below an exception, because its text may have several lines.
func below(lines []string, exception string) []string {
	for i, line := range slices.Backward(lines) {
		if strings.Contains(line, exception) {
			return lines[i+1:]
		}
	}
	return nil
}

// kindOfLast returns the kind that the lines tell; the last line that tells one decides.
func kindOfLast(lines []string) string {
	for _, line := range slices.Backward(lines) {
		if kind := kindOf(line); kind != "" {
			return kind
		}
	}
	return ""
}

// kindOfFollowing returns the kind of a failure that follows from the end of another process.
func kindOfFollowing(follows string) string {
	for i := range signatures {
		if signatures[i].follows == follows {
			return signatures[i].kind
		}
	}
	return ""
}

// CodeList returns Codes as a list. Each is short enough for a status: code may print anything that looks like codes.
func (s Failure) CodeList() (list []string) {
	for _, code := range strings.Split(s.Codes, betweenCodes) {
		if code = strings.TrimSpace(head(code, maxNumber)); code != "" && len(list) < maxCodes {
			list = append(list, code)
		}
	}
	return list
}
