package verbs_test

import (
	"bufio"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
)

// Only an event tells of a volume that is missing. Who follows the tree is told, too, though nothing changes that is watched.
func TestAVolumeThatIsMissingIsTold(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("mounts", func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobPending
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionRunning, "False", "PodsNotReady", "Waiting for replica worker-0: its pod is Pending")}
	})
	pod := s.pod(job, 0, "node-a", corev1.PodStatus{Phase: corev1.PodPending})
	followed, ended := s.follows("tree", "mounts", "-w")
	require.Contains(t, <-followed, "NAME")
	require.Contains(t, <-followed, "its pod is Pending")
	for name, at := range map[string]time.Time{"settings": time.Now(), "volume": time.Now().Add(-time.Hour)} { // the last that is listed is not the last that was told
		require.NoError(t, s.Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}, Type: corev1.EventTypeWarning,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: s.ns, Name: pod.Name, UID: pod.UID}, Reason: "FailedMount",
			Message: `MountVolume.SetUp failed for volume "v" : configmap "` + name + `" not found`, LastTimestamp: metav1.NewTime(at)}))
	}

	told := `configmap "settings" not found (create the ConfigMap "settings" in the job's namespace, or correct its name in the template)`
	for line := range followed {
		if strings.Contains(line, told) {
			break
		}
	}
	require.Equal(t, 2, strings.Count(s.sees("tree", "mounts"), told), "for the job and for its pod")
	for range 100 { // which are older, and listed before that one
		require.NoError(t, s.Create(t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "older-", Namespace: s.ns}, Type: corev1.EventTypeWarning,
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: s.ns, Name: pod.Name, UID: pod.UID}, Reason: "FailedMount",
			Message: "older", LastTimestamp: metav1.NewTime(time.Now().Add(-time.Minute))}))
	}
	require.Contains(t, s.sees("why", "mounts"), told)
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Tasks = []v1beta1.TaskStatus{{Type: "worker", Replicas: []v1beta1.ReplicaStatus{{Name: pod.Name, Phase: v1beta1.ReplicaPending}}}}
	})
	require.Contains(t, s.sees("list"), `FailedMount: configmap "settings" not found (create the ConfigMap "settings" in`)
	s.timesOut(told, "wait", "mounts")

	s.setStatus(job, phase(v1beta1.JobSucceeded))
	for range followed {
	}
	require.NoError(t, <-ended)
}

// follows runs the program, and tells what it prints line by line until its end.
func (s *space) follows(args ...string) (lines <-chan string, ended <-chan error) {
	s.t.Helper()
	read, write := io.Pipe()
	program := verbs.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: io.Discard})
	program.SetArgs(append([]string{"--kubeconfig=" + s.kubeconfig, "--cache-dir=" + filepath.Dir(s.kubeconfig), "--namespace=" + s.ns}, args...))
	out, end := make(chan string), make(chan error, 1)
	go func() {
		end <- program.ExecuteContext(s.t.Context())
		_ = write.Close() // of a pipe it never fails
	}()
	go func() {
		defer close(out)
		for scanner := bufio.NewScanner(read); scanner.Scan(); {
			out <- scanner.Text()
		}
	}()
	return out, end
}

// Where a job has no avoidNodes of its own, only an event knows the operator's. It is about the training job, if there is one.
func TestANodeThatIsNotAvoidedIsReadFromEvents(t *testing.T) {
	s := newSpace(t)
	fails := func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobRunning
		job.Status.NodeFailures = []v1beta1.NodeFailures{{Node: "a", Reason: v1beta1.AvoidFailed, Message: "exit code 1", Times: []metav1.Time{metav1.Now()}}}
	}
	training := s.create("pj", "trains", specs["pj"])
	compiled := s.compiled("trains", metav1.NewControllerRef(training, kindOf(t, "pj").GroupVersionKind))
	s.setStatus(compiled, fails)
	lonely := s.compiled("lonely", &unreadable)
	s.setStatus(lonely, fails)
	const told = "New pods do not avoid node a, which had 2 failures: no other node would be left."
	for name, about := range map[string]types.UID{"stays": s.genericJob("stays", fails).UID, "trains": training.GetUID(), "lonely": unreadable.UID} {
		for _, reason := range []string{v1beta1.ReasonNodeNotAvoided, v1beta1.ReasonFieldIgnored} {
			s.event(about, reason, told)
		}
		require.Equal(t, 1, strings.Count(s.sees("why", name), told), name)
	}
}
