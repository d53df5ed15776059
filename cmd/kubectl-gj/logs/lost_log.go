package logs

import (
	"bufio"
	"errors"
	"regexp"
	"strings"
)

// ErrGone is what is said of a log that its node no longer has.
var ErrGone = errors.New("its node no longer has this log: what was said last may be missing")

// noLog are the words of a kubelet that no longer has the log of a container. They are all that it answers, or the end of it, for it has said
// that all is well before it looks. https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/kuberuntime_container.go#L1322
// and ReadLogs of k8s.io/cri-client/pkg/logs have them.
var noLog = regexp.MustCompile(`^(?:unable to retrieve container logs for [a-z0-9-]+://[0-9a-f]+` +
	`|failed to try resolving symlinks in path "/[^"]+\.log": lstat /.+: no such file or directory` +
	`|failed to open log file "/[^"]+\.log": open /.+: no such file or directory)$`)

// isLostLog reports whether a line is a kubelet's word that the log is gone. Nothing comes after that. Where times were
// asked for, what code says has one before it; else more may follow.
func isLostLog(line string, rest *bufio.Reader) bool {
	if !noLog.MatchString(strings.TrimRight(line, "\r\n")) {
		return false
	}
	_, err := rest.Peek(1)
	return err != nil
}
