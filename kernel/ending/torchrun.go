package ending

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// What torchrun prints when it gives up (torch/distributed/elastic/multiprocessing/errors/__init__.py, PyTorch 1.10 to 2.15). Its agent ends with 1
// whatever its process ended with, and its last line is a border of equals signs.
const (
	rootCause  = "Root Cause (first observed failure):"
	noTrace    = "To enable traceback see"
	childError = "ChildFailedError"
)

var (
	rootRank  = regexp.MustCompile(`(?m)^\s+rank\s+: (\d+) `)
	rootCode  = regexp.MustCompile(`(?m)^\s+exitcode\s+: (-?\d+) `)
	rootTrace = regexp.MustCompile(`(?ms)^\s+traceback : (.*?)(?:^=+\s*$|\z)`)
	// exception is the line with which Python ends a traceback. torchrun puts its process in front of it, or two
	// spaces in its own block, and PyTorch the rank.
	exception = regexp.MustCompile(`(?m)^(?:  )?(?:\[[a-z]+\d+\]: ?)*((?:\w+\.)*\w*(?:Error|Exception|Interrupt|Exit|Iteration)(?:: .*)?)$`)
)

// torchrunSays is which rank's end made torchrun give up, and how that one ended, from torchrun's last words; "" if they are not torchrun's.
func torchrunSays(words string) string {
	before, root, found := strings.Cut(words, rootCause)
	rank := rootRank.FindStringSubmatch(root)
	code := rootCode.FindStringSubmatch(root)
	if !found || rank == nil || code == nil {
		return ""
	}
	if said := raised(before, root); said != "" {
		return "rank " + rank[1] + ": " + said
	}
	if signal, killed := strings.CutPrefix(code[1], "-"); killed {
		return fmt.Sprintf("rank %s was killed by %s", rank[1], cmp.Or(signalNames[signal], "signal "+signal))
	}
	return fmt.Sprintf("rank %s exited with code %s", rank[1], code[1])
}

// signalNames are those by which programs die that fail.
var signalNames = map[string]string{
	"4": "SIGILL", "6": "SIGABRT", "7": "SIGBUS", "8": "SIGFPE", "9": "SIGKILL", "11": "SIGSEGV", "15": "SIGTERM",
}

// raised is the exception of the process: torchrun has it if the program's main function is marked with @record. Else it may stand above
// what torchrun itself prints.
func raised(before, root string) string {
	if trace := rootTrace.FindStringSubmatch(root); trace != nil && !strings.HasPrefix(trace[1], noTrace) {
		return lastException(trace[1])
	}
	own, _, _ := strings.Cut(before, childError)
	return lastException(own)
}

func lastException(text string) string {
	all := exception.FindAllStringSubmatch(text, -1)
	if all == nil {
		return ""
	}
	return all[len(all)-1][1]
}
