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

	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestEachSaveIsSynced(t *testing.T) {
	j := newJob(t, 2, runsApp)
	j.awaitLog("old old")
	src := t.TempDir()
	write(t, src, "train.sh", begins("one"))
	w, _, problems := j.work(src, j.app)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	var mu sync.Mutex
	family, refused := j.family, error(nil)
	go func() {
		ended <- w.Watch(ctx, j.family, func(context.Context) (*jobs.Family, error) {
			mu.Lock()
			defer mu.Unlock()
			return family, refused
		})
	}()
	j.awaitLog("old old told told one one")
	write(t, src, "train.sh", begins("two"))
	j.awaitLog("old old told told one one told told two two")

	mu.Lock()
	lost := familyOf(t, 2, nil)
	lost.Pods[1].Status.Phase = corev1.PodPending
	family = lost
	mu.Unlock()
	write(t, src, "train.sh", begins("three"))
	j.until("it says who does not run", func() bool { return strings.Contains(problems.String(), "worker-1 has a pod that is Pending") })
	mu.Lock()
	family = j.family
	mu.Unlock()
	j.awaitLog("old old told told one one told told two two told told three three")
	require.Equal(t, 1, strings.Count(problems.String(), "Pending"), "once")

	mu.Lock()
	refused = exit.Usagef("it was deleted")
	mu.Unlock()
	write(t, src, "train.sh", begins("four"))
	require.ErrorContains(t, <-ended, "GenericJob/mnist is gone: it was deleted")
	cancel()
}

// A pod that is new has nothing that was brought before. The others have files that are deleted meanwhile.
func TestADeletedFileIsDeletedWhateverCameBetween(t *testing.T) {
	j := newJob(t, 2, runsApp)
	j.awaitLog("old old")
	src := t.TempDir()
	write(t, src, "train.sh", begins("one"))
	write(t, src, "gone.py", "x")
	w, out, _ := j.work(src, j.app)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	var mu sync.Mutex
	family := j.family
	go func() {
		ended <- w.Watch(ctx, j.family, func(context.Context) (*jobs.Family, error) {
			mu.Lock()
			defer mu.Unlock()
			return family, nil
		})
	}()
	j.awaitLog("old old told told one one")
	mu.Lock()
	family = familyOf(t, 2, nil)
	family.Pods[1].UID = "new"
	mu.Unlock()
	j.start(family.Pods[1], runsApp)
	j.awaitLog("old old told told one one one")
	require.NoError(t, os.Remove(filepath.Join(src, "gone.py")))
	write(t, src, "train.sh", begins("two"))
	j.until("it has the save", func() bool { return strings.Contains(j.logged(), "two") })
	j.until("it says so", func() bool { return strings.Count(out.String(), "deleted gone.py") == 1 })
	require.NoFileExists(t, filepath.Join(j.app, "gone.py"))
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// What is the same in two looks is complete. Some files never are.
func TestWatchSaysWhatItWaitsFor(t *testing.T) {
	src := t.TempDir()
	folder, err := code.NewFolder(src+":/app", nil)
	require.NoError(t, err)
	said := &buffer{}
	w := &code.Work{Folder: folder, Restarts: true, Out: io.Discard, Err: said}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	family := familyOf(t, 1, nil)
	go func() {
		ended <- w.Watch(ctx, family, func(context.Context) (*jobs.Family, error) { return nil, errors.New("it is not asked") })
	}()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), src+" has no files that are synced") }, patience, 20*time.Millisecond)
	require.Eventually(t, func() bool {
		write(t, src, "train.log", fmt.Sprint(time.Now().UnixNano()))
		return strings.Contains(said.String(), "waiting for files that change all the time: train.log. Leave out by --exclude")
	}, patience, 20*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}
