package code

import (
	"cmp"
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
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
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
	// RestartCommand is the command that begins the code again.
	RestartCommand string
	// Out gets what was done, Err what is to be said of it.
	Out, Err io.Writer

	lastSent        Snapshot                      // the files that were sent last
	upToDate        map[types.UID]bool            // the pods that have these files
	brought         map[types.UID]map[string]bool // the files that each pod has taken, without those that it has deleted then
	warnedOfNewPods bool                          // that a new pod has the code of its image again
	heartbeat       time.Duration                 // how often a wrapper hears that it is still waited for
	answerTimeout   time.Duration                 // how long a wrapper may take to answer
}

// slow is how long a step may take before those are named that it waits for.
const slow = 3 * time.Second

// maxReads is how often files are read anew that change while they are read.
const maxReads = 10

// Once does the work in the pods that the job has.
func (w *Work) Once(ctx context.Context, f *jobs.Family) (err error) {
	for i := range maxReads {
		var files Snapshot
		if w.Folder != nil {
			if files, err = w.readFolder(i == 0); err != nil {
				return err
			}
		}
		if err = w.round(ctx, f, files); !errors.As(err, new(changedError)) {
			return err
		}
		sleep(ctx, interval)
	}
	return exit.Usagef("%w, each time: try again, or leave it out by --exclude", err)
}

// readFolder returns the files of the folder, and says what is left out.
func (w *Work) readFolder(says bool) (Snapshot, error) {
	files, left, err := w.Folder.Look()
	if err != nil {
		return nil, err
	}
	if says {
		w.printLeftOut(left)
	}
	if len(files) == 0 {
		return nil, w.Folder.empty()
	}
	return files, nil
}

func (w *Work) printLeftOut(left []string) {
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
	changed, _ := files.since(w.filesInAll(members))
	var stream []byte
	var sent []string
	if w.Folder != nil {
		if stream, sent, err = w.Folder.archive(changed, files); err != nil {
			return err
		}
	}
	w.upToDate = nil // until all has gone well
	outlasting, begin, end := outlastingInterrupt(ctx)
	defer end()
	sessions := make([]*session, len(members))
	for i, m := range members {
		sessions[i] = connect(outlasting, w.Connect, m)
		sessions[i].most = cmp.Or(w.answerTimeout, develop.Patience)
		sessions[i].deletes = w.missingHere(m.pod.UID, files)
	}
	defer leaveAll(sessions)
	waits, err := w.steps(sessions, stream, begin)
	deleted := w.noteTaken(sessions, sent)
	switch {
	case outlasting.Err() != nil || errors.Is(err, context.Canceled):
		return context.Canceled
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(w.Err, err) // who has typed Ctrl-C meanwhile is told, too
		return ctx.Err()
	case err != nil:
		return err
	}
	w.lastSent, w.upToDate = files, map[types.UID]bool{}
	for _, m := range members {
		w.upToDate[m.pod.UID] = true
	}
	w.printDone(sent, deleted, waits, len(members), time.Since(began))
	return nil
}

// outlastingInterrupt returns a context that ends with another one. But from begin on it goes on for a while: Ctrl-C then does not leave a job whose
// replicas have different files.
func outlastingInterrupt(ctx context.Context) (outlasting context.Context, begin func() bool, end func()) {
	outlasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ends := context.AfterFunc(ctx, cancel)
	begin = func() bool {
		if !ends() {
			return false
		}
		ends = context.AfterFunc(ctx, func() { time.AfterFunc(develop.Patience, cancel) })
		return true
	}
	return outlasting, begin, func() {
		ends()
		cancel()
	}
}

// missingHere returns the files that were brought into a pod and are gone here. No other file of a pod is deleted: it may be the image's, or the code's.
func (w *Work) missingHere(pod types.UID, files Snapshot) (missing []string) {
	for name := range w.brought[pod] {
		if _, ok := files[name]; !ok {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// noteTaken notes which files the pods have taken, and returns those that some have deleted.
func (w *Work) noteTaken(sessions []*session, sent []string) (deleted []string) {
	for _, s := range sessions {
		if !s.applied {
			continue
		}
		if w.brought == nil {
			w.brought = map[types.UID]map[string]bool{}
		}
		if w.brought[s.pod.UID] == nil {
			w.brought[s.pod.UID] = map[string]bool{}
		}
		for _, name := range sent {
			w.brought[s.pod.UID][name] = true
		}
		for _, name := range s.deletes {
			delete(w.brought[s.pod.UID], name)
		}
		deleted = append(deleted, s.deletes...)
	}
	slices.Sort(deleted)
	return slices.Compact(deleted)
}

// filesInAll returns the files that all pods have; nil if a pod is new.
func (w *Work) filesInAll(members []member) Snapshot {
	for _, m := range members {
		if !w.upToDate[m.pod.UID] {
			return nil
		}
	}
	return w.lastSent
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
func (w *Work) steps(all []*session, stream []byte, begin func() bool) (waits []string, err error) {
	if w.Folder != nil {
		if _, err := w.each(all, develop.Request{Do: develop.Files, Dir: w.Folder.Dir}, stream); err != nil {
			return nil, fmt.Errorf("%w. Nothing was changed, and the code runs on", err)
		}
	}
	if w.Restarts {
		if _, err := w.each(all, develop.Request{Do: develop.Ready, Grace: w.Grace}, nil); err != nil {
			return nil, fmt.Errorf("%w. Nothing was changed, and the code runs on", err)
		}
		if _, err := w.each(all, develop.Request{Do: develop.Stop, Grace: w.Grace}, nil); err != nil {
			return nil, fmt.Errorf("%w. No file was changed. The code of the others begins again", err)
		}
	}
	if !begin() {
		return nil, context.Canceled
	}
	if w.Folder != nil {
		if _, err := w.each(all, develop.Request{Do: develop.Apply}, nil); err != nil {
			return nil, fmt.Errorf("%w. Replicas may have different files now: correct that, and sync again", err)
		}
	}
	if !w.Restarts {
		return nil, nil
	}
	waits, err = w.each(all, develop.Request{Do: develop.Start}, nil)
	if err != nil {
		return nil, fmt.Errorf("%w. The code of the others has begun again", err)
	}
	return waits, nil
}

// joinErrors returns one error of several replicas'.
func joinErrors(failed []error) error {
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

// printDone says what was done.
func (w *Work) printDone(sent, deleted, waits []string, replicas int, took time.Duration) {
	if w.Folder != nil {
		fmt.Fprintf(w.Out, "synced %s into %s of %s", plural.Count(len(sent), "file"), w.Folder.Dir, plural.Count(replicas, "replica"))
		if len(sent) > 0 && len(sent) <= mostNamed {
			fmt.Fprintf(w.Out, ": %s", strings.Join(sent, ", "))
		}
		if len(deleted) > 0 {
			fmt.Fprintf(w.Out, "; deleted %s", some(deleted))
		}
		fmt.Fprintln(w.Out)
	}
	switch {
	case w.Restarts:
		fmt.Fprintf(w.Out, "the code has begun again in %s after %.1f s; that counts as no restart\n", plural.Count(replicas-len(waits), "replica"), took.Seconds())
	default:
		fmt.Fprintf(w.Out, "the code runs on as it was begun: `%s` begins it again\n", w.RestartCommand)
	}
	if len(waits) > 0 {
		fmt.Fprintf(w.Err, "%s: waits for an order of the operator, and begins by that\n", some(waits))
	}
	if w.Folder != nil && !w.warnedOfNewPods {
		w.warnedOfNewPods = true
		fmt.Fprintln(w.Err, "A new pod has the code of its image again: after a drain, a lost node, a pause, or a restart that replaces pods. Build an image once the code is right")
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
