package code_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	remote "k8s.io/client-go/util/exec"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestAllStopBeforeAnyBeginsAgain(t *testing.T) {
	j := newJob(t, 4, runsApp)
	j.awaitLog("old old old old")
	src := t.TempDir()
	write(t, src, "train.sh", begins("new"))
	write(t, src, "lib/x.py", "x")
	w, out, problems := j.work(src, j.app)
	require.NoError(t, w.Once(t.Context(), j.family))
	j.awaitLog("old old old old told told told told new new new new")
	require.Regexp(t, `^synced 2 files into \S+/app of 4 replicas: lib/x.py, train.sh\nthe code has begun again in 4 replicas after \d+\.\d s; that counts as no restart\n$`, out.String())
	require.Contains(t, problems.String(), "A new pod has the code of its image again")

	write(t, src, "lib/x.py", "y")
	w, out, _ = j.work(src, j.app)
	w.Restarts = false
	require.NoError(t, w.Once(t.Context(), j.family))
	require.Contains(t, out.String(), "the code runs on as it was begun: `kubectl gj restart gj/mnist -n team` begins it again")
	text, err := os.ReadFile(filepath.Join(j.app, "lib", "x.py"))
	require.NoError(t, err)
	require.Equal(t, "y", string(text))
	w, _, _ = j.work("", "")
	require.NoError(t, w.Once(t.Context(), j.family))
	j.awaitLog("old old old old told told told told new new new new told told told told new new new new")
}

func TestNothingChangesIfOneReplicaCannot(t *testing.T) {
	j := newJob(t, 4, runsApp)
	j.awaitLog("old old old old")
	src := t.TempDir()
	write(t, src, "train.sh", begins("new"))
	w, _, _ := j.work(src, "/sys/app") // nobody may write there
	err := w.Once(t.Context(), j.family)
	require.ErrorContains(t, err, fmt.Sprintf("worker-0: user %d cannot write in /sys: ", os.Getuid()))
	require.ErrorContains(t, err, fmt.Sprintf("worker-3: user %d cannot write in /sys: ", os.Getuid()))
	require.ErrorContains(t, err, "Nothing was changed, and the code runs on")

	for _, c := range []struct {
		is   error
		said string
		want string
	}{
		{errors.New(`pods "mnist-worker-2" is forbidden: User "eve" cannot create resource "pods/exec"`), "", "worker-2: you may not exec in its pod: ask for the right to create and get pods/exec in namespace team"},
		{remote.CodeExitError{Err: errors.New("exit code 2"), Code: 2}, "usage: wrapper install DIR | wrapper run [flags] -- COMMAND\n", "worker-2: its pod was made by an older operator"},
		{errors.New("it is broken"), "", "worker-2: it is broken"},
		{nil, "", "worker-2: its container has ended, or the connection"},
	} {
		w, _, _ := j.work(src, j.app)
		w.Connect = func(ctx context.Context, pod *corev1.Pod, container string, in io.Reader, out, problems io.Writer) error {
			if jobs.Replica(pod) != "worker-2" {
				return j.connect(ctx, pod, container, in, out, problems)
			}
			_, _ = io.WriteString(problems, c.said)
			return c.is
		}
		require.ErrorContains(t, w.Once(t.Context(), j.family), c.want)
	}
	require.Equal(t, "old old old old", j.logged())
	text, err := os.ReadFile(filepath.Join(j.app, "train.sh"))
	require.NoError(t, err)
	require.Contains(t, string(text), "old")
}

func TestTwoDevelopersAtOnceGetInTurn(t *testing.T) {
	j := newJob(t, 3, runsApp)
	j.awaitLog("old old old")
	var done int
	for range 4 {
		var all sync.WaitGroup
		failed := make([]error, 3)
		for i := range failed {
			w, _, _ := j.work("", "")
			all.Go(func() { failed[i] = w.Once(t.Context(), j.family) })
		}
		all.Wait()
		for _, err := range failed {
			if err == nil {
				done++
				continue
			}
			require.ErrorContains(t, err, "somebody else synchronizes or restarts this replica")
			require.ErrorContains(t, err, "Nothing was changed")
		}
	}
	j.awaitLog("old old old" + strings.Repeat(" told told told old old old", done))
}

// Code that ignores SIGTERM has the time that the developer gives it. Ctrl-C meanwhile leaves no replica stopped.
func TestWhoLeavesInTheMiddleLeavesNobodyStopped(t *testing.T) {
	j := newJobOfGrace(t, 10*time.Second, 2, `trap 'echo told >> $LOG' TERM; echo begins >> $LOG; while [ -e $0 ]; do sleep 0.05; done`)
	j.awaitLog("begins begins")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	w, _, _ := j.work("", "")
	go func() { ended <- w.Once(ctx, j.family) }()
	j.awaitLog("begins begins told told")
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	j.awaitLog("begins begins told told begins begins")
	w, _, _ = j.work("", "")
	w.Grace = 100 * time.Millisecond
	require.NoError(t, w.Once(t.Context(), j.family))
	j.until("they have begun a third time", func() bool { return strings.Count(j.logged(), "begins") == 6 })
}
