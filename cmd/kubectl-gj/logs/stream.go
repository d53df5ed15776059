package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

// Printer prints logs, each line behind the name of its replica.
type Printer struct {
	Choice
	// Pods reads those of the job's namespace.
	Pods typedcorev1.PodInterface
	// Out takes the lines, Err what is to be said of them.
	Out, Err io.Writer
	// Tail is the number of last lines of each log; negative: all. Since is how old they may be; 0: any age.
	Tail  int64
	Since time.Duration
	// Timestamps has each line begin with its time.
	Timestamps bool
	// Colours has each replica's name have a colour.
	Colours bool

	mu    sync.Mutex
	width int
	order map[string]int
}

// Print prints the logs as they are, replica by replica. It says of those that have none yet.
func (p *Printer) Print(ctx context.Context, f *jobs.Family) error {
	sources, err := p.Sources(f)
	if err != nil {
		return err
	}
	p.measure(sources)
	var problems []error
	for _, s := range sources {
		if !s.started() {
			p.say(s, "has not started: see `kubectl gj why`")
			continue
		}
		if _, err := p.copy(ctx, s, p.options(s.Container, false, time.Time{}), time.Time{}); err != nil {
			problems = append(problems, err)
		}
	}
	if len(sources) == 0 {
		fmt.Fprintln(p.Err, "There is no pod.")
	}
	return errors.Join(problems...)
}

// Follow prints the logs as they come, of all pods that the job has until it is over: a replica that is replaced goes on under its
// name. Pods that outlive the job are left.
func (p *Printer) Follow(ctx context.Context, c client.WithWatch, f *jobs.Family) error {
	streams := streams{begun: map[key]context.CancelFunc{}}
	err := jobs.Follow(ctx, c, f, func(now *jobs.Family) (bool, error) {
		sources, err := p.Sources(now)
		if err != nil {
			return false, err
		}
		p.measure(sources)
		for _, s := range sources {
			if s.started() {
				streams.begin(ctx, s, p.attach)
			}
		}
		if !now.IsOver() {
			return false, nil
		}
		for _, s := range sources {
			if streams.end(s) {
				p.say(s, "still runs, though the job is over")
			}
		}
		return true, nil
	})
	streams.Wait()
	return err
}

// streams are the logs that are being read.
type streams struct {
	sync.WaitGroup
	begun map[key]context.CancelFunc
}

type key struct {
	pod       types.UID
	container string
}

// begin has a log read, unless it is.
func (s *streams) begin(ctx context.Context, source Source, read func(context.Context, Source)) {
	k := key{source.Pod.UID, source.Container}
	if s.begun[k] != nil {
		return
	}
	ctx, s.begun[k] = context.WithCancel(ctx)
	s.Go(func() { read(ctx, source) })
}

// end stops the reading of a log that has not ended, and says whether it did.
func (s *streams) end(source Source) bool {
	cancel := s.begun[key{source.Pod.UID, source.Container}]
	if cancel == nil || source.ended() {
		return false
	}
	cancel()
	return true
}

// reattach is how long to wait after a stream broke before it is opened again.
const reattach = time.Second

// attach prints one log to its end. A stream that breaks before is opened again where it broke; and once more when the container
// has ended, for what it said after that.
func (p *Printer) attach(ctx context.Context, s Source) {
	var last time.Time
	for over := false; ; {
		read, err := p.copy(ctx, s, p.options(s.Container, true, last), last)
		if !read.IsZero() {
			last = read
		}
		switch is, gone := p.isOver(ctx, s); {
		case over && err != nil:
			p.say(s, err.Error())
			return
		case over, gone, ctx.Err() != nil:
			return
		case is:
			over = true
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(reattach):
		}
	}
}

// isOver says whether a container has ended, or is gone with its pod.
func (p *Printer) isOver(ctx context.Context, s Source) (over, gone bool) {
	pod, err := p.Pods.Get(ctx, s.Pod.Name, metav1.GetOptions{})
	if err != nil {
		return false, apierrors.IsNotFound(err)
	}
	return Source{pod, s.Container, s.Name}.ended(), pod.UID != s.Pod.UID
}

// options ask for times where the stream may have to be opened again.
func (p *Printer) options(container string, follow bool, last time.Time) *corev1.PodLogOptions {
	o := &corev1.PodLogOptions{Container: container, Follow: follow, Timestamps: follow || p.Timestamps}
	switch {
	case !last.IsZero():
		o.SinceTime = &metav1.Time{Time: last}
		return o
	case p.Since > 0:
		seconds := int64(max(p.Since, time.Second) / time.Second)
		o.SinceSeconds = &seconds
	}
	if p.Tail >= 0 {
		o.TailLines = &p.Tail
	}
	return o
}

// copy prints what a stream gives, but for lines up to a time that were printed before, and returns the time of the last line.
func (p *Printer) copy(ctx context.Context, s Source, o *corev1.PodLogOptions, printed time.Time) (last time.Time, err error) {
	stream, err := p.Pods.GetLogs(s.Pod.Name, o).Stream(ctx)
	if err != nil {
		return last, fmt.Errorf("read the log of %s (Pod %s): %w", s.Name, s.Pod.Name, err)
	}
	defer stream.Close()
	for lines := bufio.NewReader(stream); ; {
		line, err := lines.ReadString('\n')
		if line != "" {
			at, words := cutTime(line, o.Timestamps)
			if at.IsZero() || at.After(printed) {
				p.print(s, line, words)
			}
			if !at.IsZero() {
				last = at
			}
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, fmt.Errorf("read the log of %s (Pod %s): %w", s.Name, s.Pod.Name, err)
		}
	}
}

// cutTime reads the time that a line begins with.
func cutTime(line string, has bool) (time.Time, string) {
	if !has {
		return time.Time{}, line
	}
	stamp, words, _ := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil {
		return time.Time{}, line // a kubelet's own words
	}
	return at, words
}

func (p *Printer) print(s Source, line, words string) {
	if p.Timestamps {
		words = line
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.Out, "%s %s\n", p.prefix(s.Name), strings.TrimRight(words, "\r\n"))
}

func (p *Printer) say(s Source, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.Err, "%s %s\n", p.prefix(s.Name), plain.Text(what))
}

// measure makes all prefixes equally long, and gives each name its colour.
func (p *Printer) measure(sources []Source) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.order == nil {
		p.order = map[string]int{}
	}
	for _, s := range sources {
		p.width = max(p.width, len(s.Name))
		if _, known := p.order[s.Name]; !known {
			p.order[s.Name] = len(p.order)
		}
	}
}

func (p *Printer) prefix(name string) string {
	text := fmt.Sprintf("%-*s", p.width+2, "["+name+"]")
	if !p.Colours {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", 31+(p.order[name]+1)%6, text)
}
