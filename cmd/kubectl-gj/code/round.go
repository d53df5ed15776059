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

	lastSent        Snapshot           // the files that were sent last
	upToDate        map[types.UID]bool // the pods that have these files
	everSent        map[string]bool    // files that were sent ever
	deleted         []string           // those of them that the pods were told to delete
	warnedOfNewPods bool               // that a new pod has the code of its image again
	heartbeat       time.Duration      // how often a wrapper hears that it is still waited for
	answerTimeout   time.Duration      // how long a wrapper may take to answer
}

// slow is how long a step may take before those are named that it waits for.
const slow = 3 * time.Second

// looks is how often files are read anew that change while they are read.
const looks = 10

// Once does the work in the pods that the job has.
func (w *Work) Once(ctx context.Context, f *jobs.Family) (err error) {
	for i := range looks {
		var files Snapshot
		if w.Folder != nil {
			if files, err = w.look(i == 0); err != nil {
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

// look returns the files of the folder, and says what is left out.
func (w *Work) look(says bool) (Snapshot, error) {
	files, left, err := w.Folder.Look()
	if err != nil {
		return nil, err
	}
	if says {
		w.sayLeft(left)
	}
	if len(files) == 0 {
		return nil, w.Folder.empty()
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
	changed, _ := files.since(w.before(members))
	var stream []byte
	if w.Folder != nil {
		if stream, err = w.Folder.archive(changed, files); err != nil {
			return err
		}
	}
	w.upToDate = nil // until all has gone well
	gone, fresh := w.bring(changed, files)
	lasts, begin, end := lasting(ctx)
	defer end()
	sessions := make([]*session, len(members))
	for i, m := range members {
		sessions[i] = connect(lasts, w.Connect, m)
		sessions[i].most = cmp.Or(w.answerTimeout, develop.Patience)
	}
	defer leaveAll(sessions)
	waits, err := w.steps(sessions, stream, gone, begin)
	switch {
	case lasts.Err() != nil || errors.Is(err, context.Canceled):
		return context.Canceled
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(w.Err, err) // who has typed Ctrl-C meanwhile is told, too
		return ctx.Err()
	case err != nil:
		return err
	}
	w.lastSent, w.upToDate, w.deleted = files, map[types.UID]bool{}, gone
	for _, m := range members {
		w.upToDate[m.pod.UID] = true
	}
	w.tell(changed, fresh, waits, len(members), time.Since(began))
	return nil
}

// lasting returns a context that ends with another one. Once files are being replaced it goes on for a while: Ctrl-C then does not leave a job whose
// replicas have different files.
func lasting(ctx context.Context) (lasts context.Context, begin func() bool, end func()) {
	lasts, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ends := context.AfterFunc(ctx, cancel)
	begin = func() bool {
		if !ends() {
			return false
		}
		ends = context.AfterFunc(ctx, func() { time.AfterFunc(develop.Patience, cancel) })
		return true
	}
	return lasts, begin, func() {
		ends()
		cancel()
	}
}

// bring notes files that pods get. It returns those that were brought ever and are gone here, and of them those that pods were not told of.
func (w *Work) bring(changed []string, files Snapshot) (gone, fresh []string) {
	for name := range w.everSent {
		if _, ok := files[name]; !ok {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	if w.everSent == nil {
		w.everSent = map[string]bool{}
	}
	for _, name := range changed {
		w.everSent[name] = true
	}
	return gone, slices.DeleteFunc(slices.Clone(gone), func(name string) bool { return slices.Contains(w.deleted, name) })
}

// before returns the files that all pods have; nil if a pod is new.
func (w *Work) before(members []member) Snapshot {
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
func (w *Work) steps(all []*session, stream []byte, gone []string, begin func() bool) (waits []string, err error) {
	if w.Folder != nil {
		if _, err := w.each(all, develop.Request{Do: develop.Files, Dir: w.Folder.Dir, Delete: gone}, stream); err != nil {
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

// joined returns one error of several replicas'.
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
		fmt.Fprintf(w.Out, "synced %s into %s of %s", plural.Count(len(changed), "file"), w.Folder.Dir, plural.Count(replicas, "replica"))
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
