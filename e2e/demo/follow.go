package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// follower shows a job by `kubectl gj tree`, with what its master prints, and does to it what it is time for.
type follower struct {
	training
	out     io.Writer
	kubectl func(ctx context.Context, a act) (command string, err error)
	started time.Time
	said    string
	broken  error // of an act whose connection may break
}

// follow shows a job until it is over. Broken is the error of an act that may fail: it matters if the job does not end as it should.
func (c *cluster) follow(ctx context.Context, t training) (broken, err error) {
	ctx, cancel := context.WithTimeout(ctx, jobTime)
	defer cancel()
	out := &shared{to: os.Stdout}
	tree := inGroup(c.gjCommand(ctx, "tree", t.job(), "--watch"))
	tree.Stdout, tree.Stderr = out, os.Stderr
	if err := tree.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(tree.Args, " "), err)
	}
	over := make(chan error, 1)
	go func() { over <- tree.Wait() }()
	lines := make(chan string)
	go c.lastLines(ctx, t, lines)
	f := &follower{training: t, out: out, started: time.Now(), kubectl: func(ctx context.Context, a act) (string, error) { return c.perform(ctx, t, a) }}
	return f.follow(ctx, lines, over)
}

func (f *follower) follow(ctx context.Context, lines <-chan string, over <-chan error) (broken, err error) {
	for {
		select {
		case line := <-lines:
			if err := f.told(ctx, line); err != nil {
				return f.broken, err
			}
		case err := <-over:
			if ctx.Err() != nil {
				return f.broken, fmt.Errorf("%s has not finished: %w", f.job(), ctx.Err())
			}
			return f.broken, err
		}
	}
}

// told shows a line of the master's log, and does to the job what it is time for.
func (f *follower) told(ctx context.Context, line string) error {
	// torchrun puts the process in front of each line. Begun anew, the log repeats its last line.
	if _, rest, found := strings.Cut(line, "]:"); found {
		line = rest
	}
	at := progressOf(f.progress, line)
	interesting := at >= 0 || strings.HasPrefix(line, "world=") || strings.HasPrefix(line, "cluster ") || strings.HasPrefix(line, "done ")
	if !interesting || line == f.said {
		return nil
	}
	f.said = line
	f.say("training", line)
	if len(f.acts) == 0 || at < f.acts[0].at {
		return nil
	}
	next := f.acts[0]
	f.acts = f.acts[1:]
	command, err := f.kubectl(ctx, next)
	f.say("demo", command)
	if err != nil && next.breaks {
		f.broken, err = errors.Join(f.broken, err), nil
	}
	return err
}

func (f *follower) say(what, text string) {
	fmt.Fprintf(f.out, "%4.0fs  %-9s %s\n", time.Since(f.started).Seconds(), what, text)
}

// progressOf reads how far the training is from a line of the master's log, -1 if the line is about something else.
func progressOf(format, line string) int {
	var at int
	if _, err := fmt.Sscanf(line, format, &at); err != nil {
		return -1
	}
	return at
}

// perform does an act, and returns the command as a person would type it.
func (c *cluster) perform(ctx context.Context, t training, a act) (command string, err error) {
	args, err := c.arguments(ctx, t, a)
	if err != nil {
		return "kubectl " + strings.Join(a.args, " "), err
	}
	command = "kubectl " + strings.Join(args, " ")
	if text, err := c.kubectlCommand(ctx, args...).CombinedOutput(); err != nil {
		return command, fmt.Errorf("%s: %w: %s", command, err, text)
	}
	return command, nil
}

// selector selects the pod of a replica.
func (t training) selector(replicaType, rank string) string {
	return strings.Join([]string{
		v1beta1.LabelJobName + "=" + t.name, v1beta1.LabelReplicaType + "=" + replicaType, v1beta1.LabelReplicaRank + "=" + rank,
	}, ",")
}

// lastLines sends the master's new log lines until ctx ends. A log that breaks off, or is not there yet, is taken up again.
func (c *cluster) lastLines(ctx context.Context, t training, lines chan<- string) {
	for ctx.Err() == nil {
		logs := c.kubectlCommand(ctx, "logs", "--follow", "--tail=1", "--selector", t.selector(t.master, "0"))
		if pipe, err := logs.StdoutPipe(); err == nil && logs.Start() == nil {
			for scanner := bufio.NewScanner(pipe); scanner.Scan(); {
				select {
				case lines <- scanner.Text():
				case <-ctx.Done():
				}
			}
			_ = logs.Wait()
		}
		pause(ctx)
	}
}

// shared is an output of two writers, each of whose writes stays whole.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

func (s *shared) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(text)
}
