package code

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// Work is what is done in the pods of a job, once or at each save.
type Work struct {
	// Folder is what is synced; nil: nothing.
	Folder *Folder
	// Restarts has the code begin again.
	Restarts bool
	// Grace is how long code may take to end; 0: as long as its pod gives it.
	Grace time.Duration
	// Connect reaches pods.
	Connect Connect
	// Again is the command that begins the code again.
	Again string
	// Out gets what was done, Err what is to be said of it.
	Out, Err io.Writer

	last Snapshot // the files that were sent last
	have map[types.UID]bool
	told bool // what a new pod lacks
}

// slow is how long a step may take before those are named that it waits for.
const slow = 3 * time.Second

// Once does the work in the pods that the job has.
func (w *Work) Once(ctx context.Context, f *jobs.Family) error {
	var files Snapshot
	if w.Folder != nil {
		var err error
		if files, err = w.look(); err != nil {
			return err
		}
	}
	return w.round(ctx, f, files)
}

// look returns the files of the folder, and says what is left out.
func (w *Work) look() (Snapshot, error) {
	files, left, err := w.Folder.Look()
	if err != nil {
		return nil, err
	}
	w.sayLeft(left)
	if len(files) == 0 {
		return nil, exit.Usagef("%s has no files that are synced", w.Folder.local)
	}
	return files, nil
}

func (w *Work) sayLeft(left []string) {
	if len(left) > 0 {
		fmt.Fprintf(w.Err, "left out: %s\n", some(left))
	}
}

// round does the work with the files as they were seen: the same step in all pods, before any goes on.
func (w *Work) round(ctx context.Context, f *jobs.Family, files Snapshot) error {
	began := time.Now()
	members, err := membersOf(f)
	if err != nil {
		return err
	}
	changed, gone := files.since(w.before(members))
	w.have = nil // until all has gone well
	var stream []byte
	if w.Folder != nil {
		if stream, err = w.Folder.pack(changed); err != nil {
			return err
		}
	}
	sessions := make([]*session, len(members))
	for i, m := range members {
		sessions[i] = connect(ctx, w.Connect, m)
	}
	defer leaveAll(sessions)
	waits, err := w.steps(sessions, stream, gone)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	w.last, w.have = files, map[types.UID]bool{}
	for _, m := range members {
		w.have[m.pod.UID] = true
	}
	w.tell(changed, gone, waits, len(members), time.Since(began))
	return nil
}

// before are the files that all pods have; nil if a pod is new.
func (w *Work) before(members []member) Snapshot {
	for _, m := range members {
		if !w.have[m.pod.UID] {
			return nil
		}
	}
	return w.last
}

// leaveAll ends connections, all at once.
func leaveAll(sessions []*session) {
	var all sync.WaitGroup
	for _, s := range sessions {
		all.Go(s.leave)
	}
	all.Wait()
}

// steps takes all pods from one step to the next. It returns those that wait for an order of the operator.
func (w *Work) steps(all []*session, stream []byte, gone []string) (waits []string, err error) {
	if w.Folder != nil {
		if _, err := each(all, nil, develop.Request{Do: develop.Files, Dir: w.Folder.Dir, Delete: gone}, stream); err != nil {
			return nil, fmt.Errorf("%w. Nothing was changed, and the code runs on", err)
		}
	}
	if w.Restarts {
		if _, err := each(all, nil, develop.Request{Do: develop.Ready, Grace: w.Grace}, nil); err != nil {
			return nil, fmt.Errorf("%w. Nothing was changed, and the code runs on", err)
		}
		if _, err := each(all, w.Err, develop.Request{Do: develop.Stop, Grace: w.Grace}, nil); err != nil {
			return nil, fmt.Errorf("%w. No file was changed. The code of the others begins again", err)
		}
	}
	if w.Folder != nil {
		if _, err := each(all, nil, develop.Request{Do: develop.Apply}, nil); err != nil {
			return nil, fmt.Errorf("%w. Replicas may have different files now: correct that, and sync again", err)
		}
	}
	if !w.Restarts {
		return nil, nil
	}
	waits, err = each(all, nil, develop.Request{Do: develop.Start}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w. The code of the others has begun again", err)
	}
	return waits, nil
}

// each asks all wrappers for the same, and waits until all have done it. It names those that wait for an order, and on a writer those that are slow.
func each(all []*session, problems io.Writer, r develop.Request, stream []byte) (waits []string, err error) {
	var mu sync.Mutex
	left := map[string]bool{}
	failed := make([]error, len(all))
	var group sync.WaitGroup
	for i, s := range all {
		left[s.name] = true
		group.Go(func() {
			a, err := s.ask(r, stream)
			mu.Lock()
			defer mu.Unlock()
			delete(left, s.name)
			if err != nil {
				failed[i] = fmt.Errorf("%s: %w", s.name, err)
			}
			if a.Waits {
				waits = append(waits, s.name)
			}
		})
	}
	late := time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if problems != nil && len(left) > 0 {
			fmt.Fprintf(problems, "waiting for the code to end that was asked to: %s. What has not ended after its grace period is killed; --grace shortens that\n", some(sorted(left)))
		}
	})
	group.Wait()
	late.Stop()
	return waits, joined(failed)
}

// joined is one error of several replicas'.
func joined(failed []error) error {
	failed = slices.DeleteFunc(failed, func(err error) bool { return err == nil })
	if len(failed) < 2 {
		return errors.Join(failed...)
	}
	var texts []string
	for _, err := range failed {
		texts = append(texts, err.Error())
	}
	return errors.New(some(texts))
}

// tell says what was done.
func (w *Work) tell(changed, gone, waits []string, replicas int, took time.Duration) {
	if w.Folder != nil {
		fmt.Fprintf(w.Out, "synced %s into %s of %s", counted(len(changed), "file"), w.Folder.Dir, counted(replicas, "replica"))
		if len(changed) > 0 && len(changed) <= mostNamed {
			fmt.Fprintf(w.Out, ": %s", strings.Join(changed, ", "))
		}
		if len(gone) > 0 {
			fmt.Fprintf(w.Out, "; deleted %s", some(gone))
		}
		fmt.Fprintln(w.Out)
	}
	switch {
	case w.Restarts:
		fmt.Fprintf(w.Out, "the code has begun again in %s after %.1f s; that counts as no restart\n", counted(replicas-len(waits), "replica"), took.Seconds())
	default:
		fmt.Fprintf(w.Out, "the code runs on as it was begun: `%s` begins it again\n", w.Again)
	}
	if len(waits) > 0 {
		fmt.Fprintf(w.Err, "%s: waits for an order of the operator, and begins by that\n", some(waits))
	}
	if w.Folder != nil && !w.told {
		w.told = true
		fmt.Fprintln(w.Err, "A new pod has the code of its image again: after a drain, a lost node, a pause, or a restart that replaces pods. Build an image once the code is right")
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
