package code

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/shell"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// Connect runs the wrapper's program for a developer in a container, until its input ends or the context does.
type Connect func(ctx context.Context, pod *corev1.Pod, container string, in io.Reader, out, problems io.Writer) error

// Exec connects by the user's right to exec.
func Exec(config *rest.Config) Connect {
	return func(ctx context.Context, pod *corev1.Pod, container string, in io.Reader, out, problems io.Writer) error {
		executor, err := shell.NewExecutor(config, pod, &corev1.PodExecOptions{
			Container: container, Command: []string{program, develop.Command}, Stdin: true, Stdout: true, Stderr: true,
		})
		if err != nil {
			return err
		}
		return executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdin: in, Stdout: out, Stderr: problems})
	}
}

// session is a connection to the wrapper of one replica.
type session struct {
	member
	in      *io.PipeWriter
	out     *bufio.Reader
	answers *io.PipeReader // what out reads
	cancel  context.CancelFunc
	ended   chan struct{} // closed at the end, when err and said are known
	err     error
	said    text
	most    time.Duration // how long an answer may take, beside what it is about
	late    atomic.Bool   // it took longer
	deletes []string      // the files that are to be deleted
	applied bool          // it has put the files in their place, and deleted those
}

// text is what a program has said, its beginning.
type text struct {
	mu sync.Mutex
	strings.Builder
}

// mostSaid is how many bytes of it are kept.
const mostSaid = 4 << 10

// Write keeps the beginning.
func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Builder.Write(p[:min(len(p), mostSaid-t.Len())])
	return len(p), nil
}

// longestAnswer is how many bytes a wrapper may answer: what is in a pod may be anything.
const longestAnswer = 16 << 10

func connect(ctx context.Context, to Connect, m member) *session {
	ctx, cancel := context.WithCancel(ctx)
	theirs, in := io.Pipe()
	out, answers := io.Pipe()
	s := &session{member: m, in: in, out: bufio.NewReaderSize(out, longestAnswer), answers: out, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		s.err = to(ctx, m.pod, m.container, theirs, answers, &s.said)
		_ = theirs.CloseWithError(io.ErrClosedPipe)
		_ = answers.Close()
	}()
	return s
}

// farewell is how long the end of a connection may take.
const farewell = time.Second

// leave ends the connection. What was begun in the pod and not finished, the wrapper undoes.
func (s *session) leave() {
	_ = s.in.Close()
	select {
	case <-s.ended:
	case <-time.After(farewell):
	}
	s.cancel()
	_ = s.answers.Close() // who writes there still is not heard any more
	<-s.ended
}

// ask asks the wrapper for one thing, and waits until it is done.
func (s *session) ask(r develop.Request, stream []byte) (a develop.Answer, err error) {
	if most := s.longest(r); most > 0 {
		late := time.AfterFunc(most, func() {
			s.late.Store(true)
			s.cancel()
		})
		defer late.Stop()
	}
	r.Bytes = int64(len(stream))
	if r.Do == develop.Files {
		r.Delete = s.deletes
	}
	line, err := json.Marshal(r)
	if err != nil {
		return a, err
	}
	wrote := make(chan struct{})
	go func() { // it may answer, and leave, before it has read all
		defer close(wrote)
		if _, err := s.in.Write(append(line, '\n')); err == nil && len(stream) > 0 {
			_, _ = s.in.Write(stream)
		}
	}()
	answer, err := s.out.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return a, errors.New("its wrapper's answer is too long")
	}
	if err != nil {
		<-s.ended
		return a, s.wrong()
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return a, fmt.Errorf("its wrapper's answer cannot be read: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	<-wrote
	s.applied = s.applied || r.Do == develop.Apply
	return a, nil
}

// longest returns how long a wrapper may take for one thing, so that nobody waits for a node that is lost. 0: as long as the connection needs.
func (s *session) longest(r develop.Request) time.Duration {
	switch r.Do {
	case develop.Files:
		return 0
	case develop.Apply:
		return 5 * s.most
	case develop.Stop:
		return s.most + s.grace(r.Grace)
	default:
		return s.most
	}
}

// grace returns how long code may take to end, at most.
func (s *session) grace(asked time.Duration) time.Duration {
	seconds := int64(corev1.DefaultTerminationGracePeriodSeconds)
	if own := s.pod.Spec.TerminationGracePeriodSeconds; own != nil {
		seconds = *own
	}
	if own := time.Duration(seconds) * time.Second; asked <= 0 || asked > own {
		return own
	}
	return asked
}

// wrong says why the connection has ended.
func (s *session) wrong() error {
	said := strings.TrimSpace(s.said.String())
	var code exec.CodeExitError
	switch {
	case s.late.Load():
		return errors.New("it does not answer: its node may be lost, or the connection")
	case s.err == nil:
		return errors.New("its container has ended, or the connection")
	case strings.Contains(said, "usage: wrapper"):
		return errors.New("its pod was made by an older operator, whose wrapper cannot do this: new pods have the present one. Pause the job and resume it")
	case apierrors.IsForbidden(s.err), strings.Contains(s.err.Error(), "forbidden"):
		return fmt.Errorf("you may not exec in its pod: ask for the right to create and get pods/exec in namespace %s: %w", s.pod.Namespace, s.err)
	case errors.As(s.err, &code) && code.Code == 137:
		return errors.New("its container has ended")
	case said != "":
		return fmt.Errorf("%w: %s", s.err, said)
	default:
		return s.err
	}
}
