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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/genericjob/genericjob/apis/inplace"
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
	// colourOf are numbers of colours, by the name of a replica.
	colourOf map[string]int
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

// copy prints what a stream gives, but for lines up to a time: these were printed before. It returns the time of the last line that was
// printed.
func (p *Printer) copy(ctx context.Context, s Source, o *corev1.PodLogOptions, printed time.Time) (last time.Time, err error) {
	stream, err := p.Pods.GetLogs(s.Pod.Name, o).Stream(ctx)
	if err != nil {
		return printed, s.wrong(err)
	}
	defer stream.Close()
	return p.lines(s, stream, o.Timestamps, printed)
}

// wrong says of which log something is wrong.
func (s Source) wrong(err error) error {
	return fmt.Errorf("read the log of %s (Pod %s): %w", s.Name, s.Pod.Name, err)
}

// lines prints the lines of a stream that were not printed before. What a wrapper repeats was, if anything was.
func (p *Printer) lines(s Source, stream io.Reader, timed bool, printed time.Time) (last time.Time, err error) {
	last = printed
	repeats := false
	for lines := bufio.NewReader(stream); ; {
		line, err := next(lines)
		if err != nil && !errors.Is(err, io.EOF) { // where the stream broke, the line is cut: it comes again as a whole
			return last, s.wrong(err)
		}
		if line != "" {
			at, words := cutTime(line, timed)
			repeats = repeats || !printed.IsZero() && inplace.IsRepeat(words)
			if !repeats && (at.IsZero() || at.After(printed)) {
				p.print(s, line, words)
			}
			if at.After(last) {
				last = at
			}
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
	}
}

// next returns the next line of a log, until a kubelet says that it no longer has it.
func next(lines *bufio.Reader) (string, error) {
	line, err := lines.ReadString('\n')
	if isLostLog(line, lines) {
		return "", ErrGone
	}
	return line, err
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
	if p.colourOf == nil {
		p.colourOf = map[string]int{}
	}
	for _, s := range sources {
		p.width = max(p.width, len(s.Name))
		if _, ok := p.colourOf[s.Name]; !ok {
			p.colourOf[s.Name] = len(p.colourOf)
		}
	}
}

func (p *Printer) prefix(name string) string {
	text := fmt.Sprintf("%-*s", p.width+2, "["+name+"]")
	if !p.Colours {
		return text
	}
	return fmt.Sprintf("\x1b[%dm%s\x1b[0m", 31+(p.colourOf[name]+1)%6, text)
}
