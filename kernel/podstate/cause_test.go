package podstate

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
)

// logged is a failure with what a person says of it.
type logged struct {
	kind, role, codes string
	exit              int32
	log               string
}

// readLogged reads a file of testdata/failures: a head of "name: value", an empty line, and the end of a log.
func readLogged(t *testing.T, file string) (l logged) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	head, log, has := strings.Cut(string(data), "\n\n")
	require.True(t, has, "%s has no empty line between its head and the log", file)
	fields := map[string]string{}
	for line := range strings.Lines(head) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = strings.TrimSpace(value)
	}
	exit, err := strconv.Atoi(fields["exit"])
	require.NoError(t, err, file)
	if exit < 0 {
		exit = 128 - exit
	}
	return logged{fields["kind"], cmp.Or(fields["told"], fields["role"]), fields["codes"], int32(exit), log}
}

// told is what the operator says of such a failure, whose log a kubelet has.
func (l logged) told() *v1beta1.Cause {
	p := pod(exited(l.exit, noon))
	p.Status.ContainerStatuses[0].State.Terminated.Message = l.log[max(0, len(l.log)-2048):]
	p.Pod = Trim(p.Pod)
	return p.FailureWithCause().Cause
}

// Each file is a failure that somebody reported, written again after the report that it names; its head is what a person says of it. "told" is there
// where the operator says another role, as of a launcher that just repeats that something has failed.
func TestCausesOfLogs(t *testing.T) {
	files, err := filepath.Glob("testdata/failures/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 40)
	for _, file := range files {
		l := readLogged(t, file)
		got := l.told()
		require.Equal(t, l.kind, string(got.Kind), file)
		require.Equal(t, l.role, strings.ToLower(string(got.Role)), file)
		require.Equal(t, l.codes, strings.Join(got.Codes, ", "), file)
	}
}

// What is known beside the words decides, too.
func TestCausesWithoutWords(t *testing.T) {
	const traceback = "Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\nRuntimeError: x"
	for name, tc := range map[string]struct {
		pod  Pod
		want v1beta1.Cause
	}{
		"the kubelet saw it":   {pod(exited(137, noon), reasoned(oomKilled)), v1beta1.Cause{Kind: v1beta1.CauseOutOfMemory, Role: v1beta1.CauseRoot, Codes: []string{"SIGKILL"}}},
		"somebody killed it":   {pod(exited(137, noon)), v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot, Codes: []string{"SIGKILL"}}},
		"a fault":              {pod(exited(139, noon)), v1beta1.Cause{Kind: v1beta1.CauseException, Role: v1beta1.CauseRoot, Codes: []string{"SIGSEGV"}}},
		"it was told to end":   {pod(exited(143, noon)), v1beta1.Cause{Kind: v1beta1.CauseTeardown, Role: v1beta1.CauseCascade, Codes: []string{"SIGTERM"}}},
		"a code alone":         {pod(exited(3, noon)), v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot}},
		"no program":           {pod(exited(127, noon), saying(`exec: "pyhton": executable file not found in $PATH`)), v1beta1.Cause{Kind: v1beta1.CauseConfig, Role: v1beta1.CauseRoot}},
		"the pod's own limit":  {pod(exited(137, noon), func(p *corev1.Pod) { p.Status.Reason = deadlineExceeded }), v1beta1.Cause{Kind: v1beta1.CauseTimeout, Role: v1beta1.CauseRoot, Codes: []string{"SIGKILL"}}},
		"a hang":               {pod(exited(output.HangCode, noon), saying(output.HangBegins+" 10s")), v1beta1.Cause{Kind: v1beta1.CauseHang, Role: v1beta1.CauseRoot}},
		"a forged kind":        {pod(exited(1, noon), saying("kind: Nonsense\nexception: ValueError: x\noutput:\n")), v1beta1.Cause{Kind: v1beta1.CauseException, Role: v1beta1.CauseRoot}},
		"a forged code":        {pod(exited(1, noon), saying("codes: a code of more than 16 bytes\noutput:\n")), v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot, Codes: []string{"a code of more t"}}},
		"forged codes":         {pod(exited(1, noon), saying("codes: a, , b, c, d\noutput:\n")), v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot, Codes: []string{"a", "b", "c"}}},
		"an application's Xid": {pod(exited(1, noon), saying("NVRM: Xid (PCI:0000:1a:00): 31, pid=1\n"+traceback)), v1beta1.Cause{Kind: v1beta1.CauseException, Role: v1beta1.CauseRoot, Codes: []string{"Xid 31"}}},
		"a device's Xid":       {pod(exited(1, noon), saying("NVRM: Xid (PCI:0000:1a:00): 79, pid=1\n"+traceback)), v1beta1.Cause{Kind: v1beta1.CauseHardware, Role: v1beta1.CauseRoot, Codes: []string{"Xid 79"}}},
	} {
		require.Equal(t, tc.want, *tc.pod.FailureWithCause().Cause, name)
	}
}

func reasoned(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Reason = reason }
}

func saying(text string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = text }
}

// A kind that the CRD does not know would have every status refused that has it.
func TestKindsAreThoseOfTheCRD(t *testing.T) {
	crd, err := os.ReadFile("../../deploy/crd/batch.tensorstack.dev_genericjobs.yaml")
	require.NoError(t, err)
	var enum []string
	for _, kind := range output.Kinds {
		enum = append(enum, "- "+kind)
	}
	flat := strings.Join(strings.Fields(string(crd)), " ")
	require.Equal(t, 5, strings.Count(flat, "enum: "+strings.Join(enum, " ")+" type: string"), "of rules, of failures, of the first failure, of failures without progress, and of the history")
}
