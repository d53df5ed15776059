package code_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// wrappers answer as those of a job do, at the time that a test says.
type wrappers struct {
	mu    sync.Mutex
	heard map[string][]string // what each replica was asked for
	told  map[string][]string // which files each replica was told to delete
	// hold keeps an answer back until it returns, and has none be sent if it says so.
	hold func(ctx context.Context, replica, step string) bool
	// refuses has a replica answer that it cannot do a step.
	refuses func(replica, step string) bool
}

func (w *wrappers) connect(ctx context.Context, pod *corev1.Pod, _ string, in io.Reader, out, _ io.Writer) error {
	go func() { // an exec ends with its context
		<-ctx.Done()
		_ = in.(io.Closer).Close()
	}()
	answers := json.NewEncoder(out)
	for requests := json.NewDecoder(in); ; {
		var r develop.Request
		if err := requests.Decode(&r); err != nil {
			return errors.Join(ctx.Err())
		}
		if r.Bytes > 0 {
			rest := io.MultiReader(requests.Buffered(), in)
			_, _ = io.CopyN(io.Discard, rest, r.Bytes+1)
			requests = json.NewDecoder(rest)
		}
		replica := jobs.Replica(pod)
		w.mu.Lock()
		w.heard[replica] = append(w.heard[replica], r.Do)
		if w.told != nil {
			w.told[replica] = append(w.told[replica], r.Delete...)
		}
		w.mu.Unlock()
		if w.hold != nil && !w.hold(ctx, replica, r.Do) {
			<-ctx.Done()
			return ctx.Err()
		}
		var answer develop.Answer
		if w.refuses != nil && w.refuses(replica, r.Do) {
			answer.Error = "its disk is full"
		}
		if answers.Encode(answer) != nil {
			return nil
		}
	}
}

func (w *wrappers) has(replica string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heard[replica])
}

// afterStop returns how often a replica was told, since its code has stopped, that it is waited with.
func (w *wrappers) afterStop(replica string) (n int) {
	heard := w.has(replica)
	for _, step := range heard[max(0, slices.Index(heard, develop.Stop)):] {
		if step == develop.Ready {
			n++
		}
	}
	return n
}

// A rank that saves a checkpoint may need minutes. Its peers have stopped at once, and would begin again without it.
func TestWhoHasStoppedWaitsForTheOthers(t *testing.T) {
	for _, slow := range []string{develop.Stop, develop.Apply} {
		pods := &wrappers{heard: map[string][]string{}}
		pods.hold = func(ctx context.Context, replica, step string) bool {
			for had := pods.afterStop("worker-0"); replica == "worker-1" && step == slow && pods.afterStop("worker-0") < had+3 && ctx.Err() == nil; {
				time.Sleep(time.Millisecond)
			}
			return true
		}
		src := t.TempDir()
		write(t, src, "train.py", "x")
		folder, err := code.NewFolder(src+":/app", nil)
		require.NoError(t, err)
		w := &code.Work{Folder: folder, Restarts: true, Connect: pods.connect, Out: io.Discard, Err: io.Discard}
		w.Hurry(time.Millisecond, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		require.NoError(t, w.Once(ctx, familyOf(t, 2, nil)), slow)
		cancel()
		require.Equal(t, develop.Start, pods.has("worker-0")[len(pods.has("worker-0"))-1])
	}
}

// A node that is lost does not answer, and its connection may last.
func TestWhoDoesNotAnswerIsNamed(t *testing.T) {
	pods := &wrappers{heard: map[string][]string{}, hold: func(_ context.Context, replica, _ string) bool { return replica != "worker-1" }}
	w := &code.Work{Restarts: true, Connect: pods.connect, Out: io.Discard, Err: io.Discard}
	w.Hurry(time.Hour, 100*time.Millisecond)
	err := w.Once(t.Context(), familyOf(t, 2, nil))
	require.ErrorContains(t, err, "worker-1: it does not answer: its node may be lost, or the connection")
	require.ErrorContains(t, err, "Nothing was changed, and the code runs on")
}

// Who types Ctrl-C while files are being put in their place would else leave replicas with different code.
func TestCtrlCDoesNotPartReplicas(t *testing.T) {
	for _, at := range []string{develop.Files, develop.Stop, develop.Apply, develop.Start} {
		ctx, cancel := context.WithCancel(t.Context())
		pods := &wrappers{heard: map[string][]string{}}
		pods.hold = func(_ context.Context, replica, step string) bool {
			if replica == "worker-0" && step == at {
				cancel()
			}
			return true
		}
		src := t.TempDir()
		write(t, src, "train.py", "x")
		folder, err := code.NewFolder(src+":/app", nil)
		require.NoError(t, err)
		out := &buffer{}
		w := &code.Work{Folder: folder, Restarts: true, Connect: pods.connect, Out: out, Err: io.Discard}
		err = w.Once(ctx, familyOf(t, 2, nil))
		begun := at == develop.Apply || at == develop.Start
		if !begun {
			require.ErrorIs(t, err, context.Canceled, at)
		} else {
			require.NoError(t, err, at)
			require.Contains(t, out.String(), "the code has begun again in 2 replicas", at)
		}
		for _, replica := range []string{"worker-0", "worker-1"} {
			require.Equal(t, begun, slices.Contains(pods.has(replica), develop.Apply), "%s: %s", at, replica)
			require.Equal(t, begun, slices.Contains(pods.has(replica), develop.Start), "%s: %s", at, replica)
		}
	}
}

// All of a large job take each step together, and torchrun's store takes none.
func TestAHundredReplicasTakeEachStepTogether(t *testing.T) {
	const replicas = 100
	family := familyOf(t, replicas, func(j *v1beta1.GenericJob) {
		store := j.Spec.ReplicaSpecs[0].DeepCopy()
		store.Type, store.Auxiliary, *store.Replicas = "rendezvous", true, 1
		j.Spec.ReplicaSpecs = append(j.Spec.ReplicaSpecs, *store)
	})
	*family.GenericJob.Spec.ReplicaSpecs[0].Replicas = replicas
	require.Len(t, family.Pods, replicas+1)
	pods := &wrappers{heard: map[string][]string{}}
	began, parted := map[string]int{}, false
	var mu sync.Mutex
	pods.hold = func(_ context.Context, _, step string) bool {
		mu.Lock()
		defer mu.Unlock()
		began[step]++
		parted = parted || step == develop.Stop && began[develop.Ready] < replicas || step == develop.Start && began[develop.Stop] < replicas
		return true
	}
	out := &buffer{}
	w := &code.Work{Restarts: true, Connect: pods.connect, Out: out, Err: io.Discard}
	require.NoError(t, w.Once(t.Context(), family))
	require.False(t, parted)
	require.Equal(t, map[string]int{develop.Ready: replicas, develop.Stop: replicas, develop.Start: replicas}, began)
	require.Empty(t, pods.has("rendezvous-0"))
	require.Contains(t, out.String(), "the code has begun again in 100 replicas")
}
