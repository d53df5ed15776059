package suite_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// against is how often TestInPlaceAgainstOthers measures each of its rows.
var against int

// TestInPlaceAgainstOthers measures how long a job is without its processes after one of them was killed. It prints a table of pods that
// are replaced, JobSet's restart in place, and ours. It compares nothing: seconds are the machine's. `make bench-inplace` runs it.
func TestInPlaceAgainstOthers(t *testing.T) {
	if against == 0 {
		t.Skip("it measures, and tests nothing: -against 5 measures each row five times")
	}
	config, err := ctrl.GetConfig()
	require.NoError(t, err)
	logs, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	startJobSet(t)
	all := &table{}
	t.Cleanup(func() { all.print(os.Stdout) })
	for _, w := range workloads() {
		t.Run(w.name, func(t *testing.T) {
			if w.prepare != nil {
				w.prepare(t)
			}
			for i := range against {
				for _, e := range w.entrants {
					t.Run(fmt.Sprintf("%s %d", e.name, i+1), func(t *testing.T) {
						if w.fresh != nil {
							w.image = w.fresh(t)
						}
						all.add(w, e, newSpace(t).timeRestart(e, w, logs))
					})
				}
			}
		})
	}
}

// measured is what one repetition has shown. Durations begin with the death of a process.
type measured struct {
	again      time.Duration // until the last process runs again
	step       time.Duration // until the last has made its next step
	created    int           // pods
	restarts   string        // as the job's status has them
	load       float64       // average of the machine, over the minute before
	stop, goOn time.Duration // until all are told to stop, and to go on, by the status; 0 if that does not say
}

// victimRank is the rank whose process is killed.
const victimRank = 3

// timeRestart runs a job, kills a process, and reads from the logs when which process started and stepped. So nothing that it measures
// depends on how often the test looks.
func (s *space) timeRestart(e entrant, w workload, logs kubernetes.Interface) (m measured) {
	s.t.Helper()
	e.submit(s, w)
	s.awaitSteps(e, w, logs, time.Time{})
	for range w.failedBefore {
		s.awaitSteps(e, w, logs, s.killVictim(e, w))
	}
	time.Sleep(5 * time.Second) // what the start has left to do is done
	if w.before != nil {
		w.before(s)
	}
	before := s.born()
	m.load = loadAverage(s.t)
	died := s.killVictim(e, w)
	started, stepped := s.awaitSteps(e, w, logs, died)
	m.again, m.step, m.created, m.restarts = started.Sub(died), stepped.Sub(died), s.born()-before, e.restarts(s)
	s.t.Logf("%s, %s: all processes run again after %.2f s, and step after %.2f s; %d pods created, %s restarts, load %.1f",
		w.name, e.name, m.again.Seconds(), m.step.Seconds(), m.created, m.restarts, m.load)
	if e.phases != nil {
		stop, goOn := e.phases(s)
		m.stop, m.goOn = stop.Sub(died), goOn.Sub(died)
		s.t.Logf("told to stop after %.2f s, and to go on after %.2f s", m.stop.Seconds(), m.goOn.Seconds())
	}
	s.clear()
	return m
}

// killVictim kills a process of the job, and says when.
func (s *space) killVictim(e entrant, w workload) time.Time {
	s.t.Helper()
	victim := s.ranks(e)[victimRank]
	pid := processOf(&victim, w.program)
	require.NotZero(s.t, pid, "the process of %s", victim.Name)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	return time.Now()
}

// awaitSteps waits until all ranks have started and stepped after a moment, and returns when the last did so.
func (s *space) awaitSteps(e entrant, w workload, logs kubernetes.Interface, after time.Time) (started, stepped time.Time) {
	s.t.Helper()
	waiting := map[int]bool{}
	for rank := range w.ranks {
		waiting[rank] = true
	}
	for end := time.Now().Add(w.patience); ; time.Sleep(time.Second) {
		pods := s.ranks(e)
		for rank := range w.ranks { // no step is without rank 0, so that it is enough to look at its log until it has stepped
			if !waiting[rank] {
				continue
			}
			start, step := s.steps(logs, pods[rank], after)
			if step.IsZero() {
				break
			}
			delete(waiting, rank)
			started, stepped = later(started, start), later(stepped, step)
		}
		if len(waiting) == 0 {
			return started, stepped
		}
		require.True(s.t, time.Now().Before(end), "ranks %v of %s do not step", waiting, e.name)
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

var moment = regexp.MustCompile(`(?m)^(started|stepped) (\d+)$`)

// steps reads from a pod's log the first step after a moment, and the start before it; zero if there was none.
func (s *space) steps(logs kubernetes.Interface, pod corev1.Pod, after time.Time) (started, stepped time.Time) {
	text, err := logs.CoreV1().Pods(s.ns).GetLogs(pod.Name, &corev1.PodLogOptions{Container: "main"}).DoRaw(s.ctx)
	if err != nil {
		return started, stepped // it does not run
	}
	for _, m := range moment.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		require.NoError(s.t, err)
		at := time.Unix(0, n)
		switch {
		case at.Before(after):
		case m[1] == "started":
			started = at
		case !started.IsZero():
			return started, at
		}
	}
	return started, stepped
}

// ranks are the present pods of the namespace's only job, by rank.
func (s *space) ranks(e entrant) map[int]corev1.Pod {
	s.t.Helper()
	list := &corev1.PodList{}
	require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns), client.HasLabels{e.rankLabel}))
	pods := map[int]corev1.Pod{}
	for _, pod := range list.Items {
		rank, err := strconv.Atoi(pod.Labels[e.rankLabel])
		require.NoError(s.t, err)
		pods[rank] = pod
	}
	return pods
}

// born is how many pods the namespace has had.
func (s *space) born() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uids := range s.seen {
		n += len(uids)
	}
	return n
}

// clear has the namespace's pods gone before the next repetition begins.
func (s *space) clear() {
	s.t.Helper()
	ns := &corev1.Namespace{}
	ns.Name = s.ns
	require.NoError(s.t, s.Delete(s.ctx, ns))
	s.until("the pods are gone", func() bool {
		list := &corev1.PodList{}
		return s.List(s.ctx, list, client.InNamespace(s.ns)) == nil && len(list.Items) == 0
	})
}

func loadAverage(t *testing.T) float64 {
	t.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	require.NoError(t, err)
	load, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	require.NoError(t, err)
	return load
}
