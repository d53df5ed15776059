package code

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

const (
	// interval is how often the folder is looked at. What is the same in two looks is complete: editors write a file in several steps.
	interval = 200 * time.Millisecond
	// retry is how long to wait until what did not go is tried again.
	retry = 2 * time.Second
)

// Watch does the work now and at each save, until the context or the job ends. What does not go is said, and the next save tries again.
// The function reread reads the job anew.
func (w *Work) Watch(ctx context.Context, f *jobs.Family, reread func(context.Context) (*jobs.Family, error)) error {
	var seen, done Snapshot // as last looked at; as last worked with
	var said string
	var due time.Time // when to try again without a save; zero: never
	rested := time.Now()
	for ; ctx.Err() == nil; sleep(ctx, interval) {
		files, left, err := w.Folder.Look()
		if err == nil {
			err = w.restless(seen, files, &rested)
		}
		complete := err == nil && seen.equals(files)
		if seen = files; err != nil {
			said = w.say(said, err)
			continue
		}
		if !complete || done.equals(files) && !isDue(due) {
			continue
		}
		if done == nil {
			w.printLeftOut(left)
		}
		done = files
		if due, err = w.atSave(ctx, f, reread, files, &said); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// restless says that there is nothing to sync, or which files have changed in each look of some seconds.
func (w *Work) restless(seen, files Snapshot, rested *time.Time) error {
	switch {
	case len(files) == 0:
		return w.Folder.empty()
	case seen == nil || seen.equals(files):
		*rested = time.Now()
	case time.Since(*rested) > slow:
		changed, deleted := files.since(seen)
		return fmt.Errorf("waiting for files that change all the time: %s. Leave out by --exclude what the code does not need", some(slices.Concat(changed, deleted)))
	}
	return nil
}

func isDue(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// atSave does the work for a save. It returns when to try again what does not go, and an error only if no later save can go.
func (w *Work) atSave(ctx context.Context, f *jobs.Family, reread func(context.Context) (*jobs.Family, error), files Snapshot, said *string) (due time.Time, err error) {
	err = w.roundOf(ctx, f, reread, files)
	switch {
	case err == nil:
		*said = ""
		fmt.Fprintf(w.Err, "%s watching %s; Ctrl-C ends that\n", time.Now().Format(time.TimeOnly), w.Folder.local)
		return due, nil
	case ctx.Err() != nil || isOver(err):
		return due, err
	case errors.As(err, new(changedError)): // the next look sees what it has become
		return due, nil
	default:
		*said = w.say(*said, err)
		return retryAt(err), nil
	}
}

// equals reports whether files are as they were. Nothing equals none.
func (s Snapshot) equals(other Snapshot) bool {
	changed, deleted := other.since(s)
	return s != nil && len(changed)+len(deleted) == 0
}

// roundOf does the work in the pods that a job has now.
func (w *Work) roundOf(ctx context.Context, f *jobs.Family, reread func(context.Context) (*jobs.Family, error), files Snapshot) error {
	now, err := reread(ctx)
	switch {
	case err == nil:
		return w.round(ctx, now, files)
	case apierrors.IsNotFound(err), isOver(err):
		return exit.Failedf("%s is gone: %w", f.Title(), err)
	default:
		return waitsError{err}
	}
}

// isOver reports whether no later save can go.
func isOver(err error) bool {
	var e *exit.Error
	return errors.As(err, &e)
}

// retryAt returns when to try again what does not go: zero if only a save can change it.
func retryAt(err error) time.Time {
	if errors.As(err, new(waitsError)) {
		return time.Now().Add(retry)
	}
	return time.Time{}
}

// say says what does not go, once.
func (w *Work) say(before string, err error) string {
	if text := err.Error(); text != before {
		fmt.Fprintf(w.Err, "%s %s\n", time.Now().Format(time.TimeOnly), text)
	}
	return err.Error()
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
