package verbs_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/build"
)

// kubelet plays that of a node as far as logs go: the apiserver asks it for them.
type kubelet struct {
	node string
	mu   sync.Mutex
	// logs are what each pod has said, by pod and container, and cut after how many lines a stream of it breaks once.
	logs map[string][]line
	cut  map[string]int
	// before are what a container has said before it was restarted.
	before map[string][]line
	// gone is what it answers in place of the log of a container that it has lost.
	gone map[string]string
	// asked are the requests, and given the lines that were answered.
	asked, given []string
}

type line struct {
	at   time.Time
	text string
}

func newKubelet(s *space) *kubelet {
	k := &kubelet{node: "node-" + rand.String(5), logs: map[string][]line{}, cut: map[string]int{}, before: map[string][]line{}, gone: map[string]string{}}
	server := httptest.NewTLSServer(http.HandlerFunc(k.serve))
	s.t.Cleanup(server.Close)
	host, text, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(s.t, err)
	port, err := strconv.Atoi(text)
	require.NoError(s.t, err)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: k.node}}
	require.NoError(s.t, s.Create(s.t.Context(), node))
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	require.NoError(s.t, s.Status().Update(s.t.Context(), node))
	return k
}

// serve answers as a kubelet does: with the lines since a time, whose seconds are whole.
func (k *kubelet) serve(w http.ResponseWriter, r *http.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	parts := strings.Split(r.URL.Path, "/") // "", containerLogs, namespace, pod, container
	key := parts[3] + "/" + parts[4]
	k.asked = append(k.asked, key+"?"+r.URL.RawQuery)
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	if words := k.gone[key]; words != "" { // all is well, says the header, before it looks
		_ = http.NewResponseController(w).Flush()
		fmt.Fprint(w, words)
		return
	}
	n, log := 0, k.logs[key]
	if r.URL.Query().Get("previous") == "true" {
		if log = k.before[key]; log == nil {
			http.Error(w, "previous terminated container not found", http.StatusBadRequest)
			return
		}
	}
	for _, l := range log {
		if l.at.Before(since) {
			continue
		}
		if cut, breaks := k.cut[key]; breaks && n == cut {
			delete(k.cut, key)
			panic(http.ErrAbortHandler)
		}
		if r.URL.Query().Get("timestamps") == "true" {
			fmt.Fprint(w, l.at.Format(time.RFC3339Nano), " ")
		}
		fmt.Fprintln(w, l.text)
		k.given = append(k.given, l.text)
		_ = http.NewResponseController(w).Flush()
		n++
	}
}

// says adds lines to the log of a pod's container, a millisecond apart.
func (k *kubelet) says(pod, container string, texts ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := pod + "/" + container
	for _, text := range texts {
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(len(k.logs[key])) * time.Millisecond)
		k.logs[key] = append(k.logs[key], line{at, text})
	}
}

// times returns how often a log was asked for.
func (k *kubelet) times(pod string) (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, asked := range k.asked {
		if strings.HasPrefix(asked, pod+"/") {
			n++
		}
	}
	return n
}

// gave reports whether somebody was given a line.
func (k *kubelet) gave(text string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Contains(k.given, text)
}

func TestLogsOfAllReplicas(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("logged", phase(v1beta1.JobRunning))
	first := s.pod(job, 0, k.node, running())
	s.pod(job, 1, k.node, corev1.PodStatus{Phase: corev1.PodPending})
	k.says(first.Name, "tensorflow", "one", "two")
	k.says(first.Name, "pytorch", "three")

	out, problem, code := s.types("logs", "logged")
	require.Zero(t, code)
	require.Equal(t, "[worker-0] one\n[worker-0] two\n", out, "of the first container")
	require.Contains(t, problem, "[worker-1] has not started")
	require.Equal(t, "[worker-0] three\n", s.sees("logs", "logged", "worker-0", "-c", "pytorch"))
	require.Equal(t, "[worker-0 tensorflow] one\n[worker-0 tensorflow] two\n[worker-0 pytorch]    three\n", s.sees("logs", "logged", "worker", "--all-containers"))
	require.Contains(t, s.sees("logs", "logged", "--timestamps"), "[worker-0] 2026-01-01T00:00:00.001Z two\n")
	for _, wrong := range [][]string{{"master"}, {"worker-"}, {"-c", "sidecar"}} {
		_, problem, code := s.types(append([]string{"logs", "logged"}, wrong...)...)
		require.Equal(t, 2, code, problem)
	}
}

// A stream that breaks is opened again where it broke, and a replica that is replaced goes on under its name.
func TestLogsAreFollowedThroughBreaksAndRestarts(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("followed", phase(v1beta1.JobRunning))
	pod := s.pod(job, 0, k.node, running())
	k.says(pod.Name, "tensorflow", "one", "two")
	k.cut[pod.Name+"/tensorflow"] = 1
	done := make(chan string)
	go func() { done <- s.sees("logs", "followed", "-f") }()
	until(t, "the log is read again after it broke", func() bool { return k.times(pod.Name) >= 2 })
	k.says(pod.Name, "tensorflow", "three")
	s.become(pod, ended(1, time.Now()))
	until(t, "what was said before the end is read", func() bool { return k.gave("three") })

	require.NoError(t, s.Delete(t.Context(), pod))
	again := s.pod(job, 0, k.node, corev1.PodStatus{Phase: corev1.PodPending})
	k.mu.Lock()
	k.logs = map[string][]line{}
	k.mu.Unlock()
	k.says(again.Name, "tensorflow", "anew")
	s.become(again, ended(0, time.Now()))
	until(t, "the new pod's log is read", func() bool { return k.gave("anew") })
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	require.Equal(t, "[worker-0] one\n[worker-0] two\n[worker-0] three\n[worker-0] anew\n", <-done)
}

// A container that is restarted in its pod goes on under its name. Of what it had said before nothing is lost, though nobody was told in
// time, and nothing stands there twice.
func TestLogsAreFollowedThroughRestartsInPlace(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("restarted", phase(v1beta1.JobRunning))
	pod := build.NewBuilder(job, build.Run{}).Pod("worker", 0, 0)
	pod.Finalizers, pod.Spec.NodeName, pod.Spec.RestartPolicy = nil, k.node, corev1.RestartPolicyOnFailure // else no status may say that it was
	// The end of a pod that a wrapper runs is waited for for half a minute, in which this test may stall.
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: inplace.Volume})
	require.NoError(t, s.Create(t.Context(), pod))
	key := pod.Name + "/tensorflow"
	k.says(pod.Name, "tensorflow", "one", "two")
	k.before[key] = []line{{k.logs[key][0].at.Add(-time.Minute), "a run of before it was followed"}}
	first := running()
	first.ContainerStatuses[0].RestartCount = 1
	first.ContainerStatuses[0].State.Running.StartedAt = metav1.NewTime(k.logs[key][0].at.Add(-time.Second))
	s.become(pod, first)
	var problem string
	done := make(chan string)
	go func() {
		out, problems, _ := s.types("logs", "restarted", "-f")
		problem = problems
		done <- out
	}()
	until(t, "the log is read", func() bool { return k.times(pod.Name) > 0 })
	crashed := *first.DeepCopy()
	crashed.ContainerStatuses[0].State = ended(1, time.Now()).ContainerStatuses[0].State
	asked := k.times(pod.Name)
	s.become(pod, crashed)
	until(t, "it is read to its end", func() bool { return k.times(pod.Name) >= asked+2 })
	quiet(t, k, pod.Name)

	k.says(pod.Name, "tensorflow", "last words")
	k.mu.Lock()
	log := k.logs[key]
	k.before[key] = log
	k.logs[key] = []line{{log[2].at.Add(time.Second), "anew"}, {log[2].at.Add(2 * time.Second), "trained"}}
	k.mu.Unlock()
	again := running()
	again.ContainerStatuses[0].RestartCount = 2
	asked = k.times(pod.Name)
	s.become(pod, again)
	until(t, "it goes on", func() bool { return k.times(pod.Name) >= asked+2 })
	over := ended(0, time.Now())
	over.ContainerStatuses[0].RestartCount = 2
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	s.become(pod, over) // which the kubelet tells after the job is over
	require.Equal(t, "[worker-0] one\n[worker-0] two\n[worker-0] last words\n[worker-0] anew\n[worker-0] trained\n", <-done)
	require.NotContains(t, problem, "still runs")
}

// quiet waits until a log is not asked for any more.
func quiet(t *testing.T, k *kubelet, pod string) {
	last, since := -1, time.Now()
	until(t, "nobody asks for the log", func() bool {
		if n := k.times(pod); n != last {
			last, since = n, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
}

func TestLogsOfTheFirstFailure(t *testing.T) {
	s := newSpace(t)
	k := newKubelet(s)
	job := s.genericJob("broken", phase(v1beta1.JobFailed))
	_, problem, code := s.types("logs", "broken", "--first-failure")
	require.Zero(t, code)
	require.Contains(t, problem, "No replica has failed.")

	at := time.Now().Truncate(time.Second)
	second := s.pod(job, 0, k.node, ended(1, at))
	first := s.pod(job, 1, k.node, ended(2, at.Add(-time.Minute)))
	k.says(second.Name, "tensorflow", "lost worker-1")
	k.says(first.Name, "tensorflow", "out of disk")
	out, problem, code := s.types("logs", "broken", "--first-failure")
	require.Zero(t, code)
	require.Equal(t, "[worker-1] out of disk\n", out)
	require.Contains(t, problem, "worker-1 failed first, at ")
	require.Contains(t, problem, ": exit code 2 (Pod "+first.Name+")")

	earlier := metav1.NewTime(at.Add(-time.Hour))
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: first.Name, Container: "tensorflow", Time: &earlier, Message: "reading\nno such file"}}
	})
	out, problem, _ = s.types("logs", "broken", "--first-failure")
	require.Equal(t, "[worker-1] reading\n[worker-1] no such file\n", out, "what the operator has kept")
	require.Contains(t, problem, "Its pod is gone")

	k.mu.Lock()
	k.gone[first.Name+"/tensorflow"] = "unable to retrieve container logs for containerd://8cdfe489"
	k.mu.Unlock()
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: first.Name, Container: "tensorflow",
			Time: ptr.To(metav1.NewTime(at.Add(-time.Minute))), Message: "no space left", Frame: "/train.py:12, in main"}}
	})
	out, problem, code = s.types("logs", "broken", "--first-failure")
	require.Zero(t, code)
	require.Equal(t, "[worker-1] no space left\n", out)
	require.Contains(t, problem, `"no space left" at /train.py:12, in main (Pod `)
	require.Contains(t, problem, "Its pod is there, but the node no longer has its log.")
}
