package logs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func second(n int) *metav1.Time {
	return ptr.To(metav1.NewTime(noon.Add(time.Duration(n) * time.Second)))
}

// log is a log with a line for each half second.
func logOf(lines ...string) string {
	var text strings.Builder
	for i, line := range lines {
		text.WriteString(noon.Add(time.Duration(i)*500*time.Millisecond).Format(time.RFC3339Nano) + " " + line + "\n")
	}
	return text.String()
}

// A wrapper that holds a failure runs code again in the same container, whose log goes on.
func TestTheLogOfAFailureIsCutFromThatOfItsContainer(t *testing.T) {
	const held0 = "genericjob wrapper: attempt 0 has ended with exit code 3; waiting for an order"
	const held1 = "genericjob wrapper: attempt 1 has ended with exit code 1; waiting for an order"
	const stopped2 = "genericjob wrapper: attempt 2 has stopped, 1.2 s after it was asked to; last to end: the command"
	whole := logOf("a0", "a1", held0, "b0", "Traceback", "ValueError", held1, "c0", "c1", stopped2, "d0", "d1")
	for name, tc := range map[string]struct {
		failure v1beta1.ReplicaFailure
		last    bool
		want    []string
		more    bool
	}{
		"the first attempt":         {v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](3), Time: second(1)}, false, []string{"a0", "a1", held0}, true},
		"the second":                {v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), Time: second(3)}, false, []string{"b0", "Traceback", "ValueError", held1}, true},
		"what ended the container":  {v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), Time: second(5)}, true, []string{"d0", "d1"}, false},
		"of which no wrapper tells": {v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](9), Time: second(4)}, false, []string{"c0", "c1", stopped2}, true},
		"before the log begins":     {v1beta1.ReplicaFailure{ExitCode: ptr.To[int32](1), Time: second(-60)}, false, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := read(strings.NewReader(whole))
			require.NoError(t, err)
			part, more := Failure{ReplicaFailure: tc.failure}.part(all, tc.last)
			var said []string
			for _, l := range part {
				said = append(said, strings.TrimSpace(l.words))
			}
			require.Equal(t, tc.want, said)
			require.Equal(t, tc.more, more)
		})
	}
}

// The lines by which a log is cut are those of the wrapper.
func TestTheWrapperSaysWhatALogIsCutBy(t *testing.T) {
	for file, format := range map[string]string{"hold.go": heldFormat, "stop.go": strings.TrimPrefix(stoppedFormat, "genericjob wrapper: ")} {
		source, err := os.ReadFile("../../wrapper/run/" + file)
		require.NoError(t, err)
		require.Contains(t, string(source), `"`+strings.ReplaceAll(strings.TrimSuffix(format, "\n"), "\n", `\n`))
	}
}

func TestWhereTheLogOfAFailureIs(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod.Name, pod.CreationTimestamp = "p", *second(0)
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main",
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: *second(10), FinishedAt: *second(20)}},
		State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *second(21)}}}}
	family := &jobs.Family{Pods: []*corev1.Pod{pod}}
	at := func(n int) *Place {
		return Failure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: "p", Container: "main", Time: second(n)}}.InPlace(family)
	}
	source := Source{Pod: pod, Container: "main", Name: jobs.Replica(pod)}
	require.Nil(t, at(-1), "of an earlier pod")
	require.Nil(t, at(5), "of a container of before that one")
	require.Equal(t, &Place{source, true, false}, at(15))
	require.Equal(t, &Place{source, true, true}, at(20))
	require.Equal(t, &Place{source, false, false}, at(30))
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: *second(21), FinishedAt: *second(40)}}
	require.Equal(t, &Place{source, false, true}, at(40))
}

const (
	lostLog  = "unable to retrieve container logs for containerd://8cdfe489333df0b2594610893b7264098144fbab0723ad043cd90c1d73100dd8"
	lostFile = `failed to try resolving symlinks in path "/var/log/pods/ns_p_u/main/0.log": lstat /var/log/pods/ns_p_u/main/0.log: no such file or directory`
	lostOpen = `failed to open log file "/var/log/pods/ns_p_u/main/0.log": open /var/log/pods/ns_p_u/main/0.log: no such file or directory`
)

// broken is a stream that breaks.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// A kubelet that has lost a log says so in its place. That is no word of the code's.
func TestWhatAKubeletSaysOfALogThatIsGoneIsNotPrinted(t *testing.T) {
	const stamp = "2026-01-01T00:00:01.5Z "
	for name, tc := range map[string]struct {
		stream string
		timed  bool
		gone   bool
		want   string
	}{
		"all that there is":           {lostLog, true, true, ""},
		"without times":               {lostLog, false, true, ""},
		"no file":                     {lostFile, true, true, ""},
		"no file to open":             {lostOpen + "\n", true, true, ""},
		"after what was said":         {stamp + "one\n" + lostFile, true, true, "[a] one\n"},
		"the code says so":            {stamp + lostLog + "\n", true, false, "[a] " + lostLog + "\n"},
		"and goes on, without times":  {lostLog + "\none\n", false, false, "[a] " + lostLog + "\n[a] one\n"},
		"as part of a line":           {"he said: " + lostLog, false, false, "[a] he said: " + lostLog + "\n"},
		"with more behind it":         {lostLog + " indeed", false, false, "[a] " + lostLog + " indeed\n"},
		"another word of the kubelet": {"failed to watch directory", true, false, "[a] failed to watch directory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			pod := &corev1.Pod{}
			_, err := (&Printer{Out: &out}).lines(Source{Name: "a", Pod: pod}, strings.NewReader(tc.stream), tc.timed, time.Time{})
			require.Equal(t, tc.gone, errors.Is(err, ErrGone), "%v", err)
			require.Equal(t, tc.want, out.String())
			all, err := read(strings.NewReader(tc.stream))
			require.Equal(t, tc.gone, errors.Is(err, ErrGone), "%v", err)
			require.Len(t, all, strings.Count(tc.want, "\n"))
		})
	}
	var out bytes.Buffer
	_, err := (&Printer{Out: &out}).lines(Source{Name: "a", Pod: &corev1.Pod{}}, broken{strings.NewReader(lostLog)}, true, time.Time{})
	require.ErrorIs(t, err, ErrGone, "the connection may break as well")
	require.Empty(t, out.String())
}
