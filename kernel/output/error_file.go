package output

import (
	"encoding/json"
	"regexp"
	"strings"
)

// Error files. PyTorch's @record writes the exception of a process into the file that TORCHELASTIC_ERROR_FILE names, as JSON. Torchrun
// copies there that of the process that failed first. Somebody may name /dev/termination-log. A kubelet keeps the end of what is written
// there. https://github.com/pytorch/pytorch/blob/v2.6.0/torch/distributed/elastic/multiprocessing/errors/error_handler.py

// afterCallStack ends the traceback in an error file.
var afterCallStack = regexp.MustCompile(`", "timestamp": "\d+"`)

const (
	// beforeValue begins a text in JSON. Within a text a quote has a backslash in front.
	beforeValue = `": "`
	// longestEscape is how many bytes JSON takes for a character that it does not write as it is.
	longestEscape = 6
)

// errorFile returns the traceback in an error file, of which the beginning may be missing; and whether a text is one.
func errorFile(text string) (trace string, ok bool) {
	end := afterCallStack.FindStringIndex(text)
	if end == nil {
		return "", false
	}
	text = text[:end[0]]
	if i := strings.LastIndex(text, beforeValue); i >= 0 {
		text = text[i+len(beforeValue):]
	}
	for cut := 0; cut <= min(longestEscape, len(text)); cut++ { // it may begin within an escape
		if json.Unmarshal([]byte(`"`+text[cut:]+`"`), &trace) == nil {
			return trace, true
		}
	}
	return "", false
}
