package logs

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/podstate"
)

const (
	// reattach is how long to wait after a stream broke before it is opened again.
	reattach = time.Second
	// lag is how much later a kubelet tells that a container has ended than the job may be over.
	lag = 5 * time.Second
	// held is how much later containers end whose wrapper waits for an order: see cmd/wrapper/README.md.
	held = 30 * time.Second
)

// Follow prints the logs of all pods of a job as they come, until the job is over. A replica that is replaced goes on under its name. So
// does a container that is restarted in its pod. Pods that outlive the job are left.
func (p *Printer) Follow(ctx context.Context, c client.WithWatch, f *jobs.Family) error {
	streams := streams{printer: p, of: map[key]*stream{}}
	err := jobs.Follow(ctx, c, f, func(now *jobs.Family) (bool, error) {
		f = now
		err := streams.see(ctx, now)
		return now.IsOver(), err
	})
	if err == nil {
		streams.drain(ctx, c, f)
	}
	streams.Wait()
	return err
}

// streams are the logs that are being read, or were.
type streams struct {
	sync.WaitGroup
	printer *Printer
	of      map[key]*stream
	// looked says that the job was looked at: what a container said before it was first seen was said while the log was followed.
	looked bool
}

type key struct {
	pod       types.UID
	container string
}

// stream is the log of a container, through its restarts.
type stream struct {
	cancel context.CancelFunc
	// last is the time of the last line that was printed, and from when the run began that was first read. They belong to who reads.
	last, from time.Time

	mu sync.Mutex
	// seen is how often the container was restarted, as far as that was seen. read is how often, as far as its log was read to the end.
	seen, read int32
	ended      bool
}

// see has the logs read of all containers that have begun, unless they are.
func (s *streams) see(ctx context.Context, f *jobs.Family) error {
	sources, err := s.printer.Sources(f)
	if err != nil {
		return err
	}
	s.printer.measure(sources)
	for _, source := range sources {
		if source.started() {
			s.begin(ctx, source)
		}
	}
	s.looked = true
	return nil
}

// begin has a log read, unless it is, or was to its end and the container was not restarted since.
func (s *streams) begin(ctx context.Context, source Source) {
	k := key{source.Pod.UID, source.Container}
	log := s.of[k]
	again := log != nil
	if again && !log.restarted(source.restarts()) {
		return
	}
	if !again {
		log = &stream{seen: source.restarts()}
		if again = s.looked && log.seen > 0; !again {
			log.from = source.begun()
		}
		s.of[k] = log
	}
	ctx, log.cancel = context.WithCancel(ctx)
	s.Go(func() { s.printer.attach(ctx, source, log, again) })
}

// restarted notes how often the container was restarted, and reports whether that is why its log is to be read again.
func (l *stream) restarted(times int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = max(l.seen, times)
	again := l.ended && l.seen > l.read
	l.ended = l.ended && !again
	return again
}

// end notes that the log was read to the end of a run, and reports whether there is no other.
func (l *stream) end(times int32) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read = max(l.read, times)
	l.seen = max(l.seen, times)
	l.ended = l.seen == l.read
	return l.ended
}

// stop has the log not be read further.
func (l *stream) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

// isRead reports whether the log is being read.
func (l *stream) isRead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.ended
}

// drain waits for the ends of the logs of a job that is over, and leaves those that do not end.
func (s *streams) drain(ctx context.Context, c client.Reader, f *jobs.Family) {
	for began := time.Now(); ; {
		left := s.unended(f)
		if len(left) == 0 {
			return
		}
		if time.Since(began) > patience(left) {
			s.leave(left)
			return
		}
		if !sleep(ctx, reattach) {
			return
		}
		next, err := f.Reread(ctx, c)
		if apierrors.IsNotFound(err) {
			s.leave(nil) // the job was deleted, and its pods are
			return
		}
		if err == nil {
			f = next
		}
	}
}

// patience returns how long to wait for the ends of containers of a job that is over.
func patience(left []Source) time.Duration {
	longest := lag
	for _, source := range left {
		if podstate.IsWrapped(source.Pod) {
			longest = max(longest, held)
		}
		if grace := source.Pod.DeletionGracePeriodSeconds; grace != nil {
			longest = max(longest, lag+min(time.Duration(*grace)*time.Second, held))
		}
	}
	return longest
}

// unended returns the containers whose logs are read and that have not ended.
func (s *streams) unended(f *jobs.Family) (out []Source) {
	sources, err := s.printer.Sources(f)
	if err != nil {
		return nil
	}
	for _, source := range sources {
		if log := s.of[key{source.Pod.UID, source.Container}]; log != nil && log.isRead() && source.status() != nil && !source.ended() {
			out = append(out, source)
		}
	}
	return out
}

// leave stops the reading of all logs, and says which of some containers run on.
func (s *streams) leave(left []Source) {
	for _, source := range left {
		if source.status().State.Running != nil {
			s.printer.say(source, "still runs, though the job is over")
		}
	}
	for _, log := range s.of {
		log.cancel()
	}
}

// sleep waits, and reports whether the context has not ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// attach prints one log to its end. A stream that breaks before is opened again where it broke; and once more when the container
// has ended, for what it said after that. Once it has noted an end, another may read the log of the next run, so it touches the log no more.
func (p *Printer) attach(ctx context.Context, s Source, log *stream, again bool) {
	for over := int32(-1); ; again = true { // the restart of which the end was seen
		err := p.stream(ctx, s, log, again)
		now, podGone := p.look(ctx, s)
		switch ended, restarts := now.ended(), now.restarts(); {
		case podGone, ctx.Err() != nil:
			log.stop()
			return
		case ended && over != restarts:
			over = restarts
			continue
		case ended && log.end(restarts):
			if err != nil {
				p.say(s, err.Error())
			}
			return
		}
		if !sleep(ctx, reattach) {
			log.stop()
			return
		}
	}
}

// stream prints a log as it comes, until it ends or breaks. The container may have been restarted since it was seen, or read: what it had said
// until then comes first. That is asked for when the stream is open, so that no restart goes by between the two.
func (p *Printer) stream(ctx context.Context, s Source, log *stream, again bool) error {
	o := p.options(s.Container, true, log.last)
	stream, err := p.Pods.GetLogs(s.Pod.Name, o).Stream(ctx)
	if again || s.isFirstRun() {
		before := p.options(s.Container, false, log.last)
		before.Previous, before.Timestamps = true, true
		// Where there was no restart, and where a kubelet has thrown it away, there is nothing before.
		if last, _ := p.copy(ctx, s, before, latest(log.last, log.from)); last.After(log.from) {
			log.last = last
		}
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	log.last, err = p.lines(s, stream, true, log.last)
	return err
}

// isFirstRun reports whether the container was not restarted when it was seen. It may have been since: code that fails at once restarts within a
// second. Then the log that a stream opens is that of the second run.
func (s Source) isFirstRun() bool { return podstate.IsWrapped(s.Pod) && s.restarts() == 0 }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// look reads the container as it is now. It is gone with its pod.
func (p *Printer) look(ctx context.Context, s Source) (now Source, podGone bool) {
	pod, err := p.Pods.Get(ctx, s.Pod.Name, metav1.GetOptions{})
	if err != nil {
		return s, apierrors.IsNotFound(err)
	}
	return Source{Pod: pod, Container: s.Container, Name: s.Name}, pod.UID != s.Pod.UID
}
