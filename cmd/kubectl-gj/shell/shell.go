// Package shell opens a shell in a replica of a job that is in debug mode.
package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Await waits until the pod of a replica, such as worker-0, runs in debug mode. The family is the last that was seen.
func Await(ctx context.Context, c client.WithWatch, f **jobs.Family, replica string) (found *corev1.Pod, err error) {
	err = jobs.Follow(ctx, c, *f, func(now *jobs.Family) (bool, error) {
		*f = now
		if _, err := (logs.Choice{Replicas: []string{replica}}).Sources(now); err != nil {
			return false, err
		}
		if now.IsOver() {
			return false, exit.Failedf("%s is over: its phase is %s", now.Title(), now.Phase())
		}
		for _, pod := range now.Pods {
			if jobs.Replica(pod) == replica && podstate.IsDebug(pod) && pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodRunning {
				found = pod
				return true, nil
			}
		}
		return false, nil
	})
	return found, err
}

// Run runs a command in a pod, by default a shell; in a terminal if standard input is one.
func Run(ctx context.Context, config *rest.Config, pod *corev1.Pod, container string, command []string, streams genericiooptions.IOStreams) error {
	if len(command) == 0 {
		command = []string{"sh"}
	}
	if container == "" {
		container = logs.Main(pod)
	}
	terminal, tty := streams.In.(*os.File)
	tty = tty && term.IsTerminal(int(terminal.Fd()))
	executor, err := NewExecutor(config, pod, &corev1.PodExecOptions{
		Container: container, Command: command, Stdin: true, Stdout: true, Stderr: !tty, TTY: tty,
	})
	if err != nil {
		return fmt.Errorf("reach Pod %s: %w", pod.Name, err)
	}
	options := remotecommand.StreamOptions{Stdin: streams.In, Stdout: streams.Out, Tty: tty}
	if tty {
		before, err := term.MakeRaw(int(terminal.Fd()))
		if err != nil {
			return fmt.Errorf("set up the terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(terminal.Fd()), before) }() // there is no other way to restore it
		options.TerminalSizeQueue = &sizes{ctx: ctx, terminal: int(terminal.Fd())}
	} else {
		options.Stderr = streams.ErrOut
	}
	return ended(executor.StreamWithContext(ctx, options))
}

// NewExecutor speaks WebSocket, and SPDY with apiservers that do not.
func NewExecutor(config *rest.Config, pod *corev1.Pod, o *corev1.PodExecOptions) (remotecommand.Executor, error) {
	set, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	url := set.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(o, scheme.ParameterCodec).URL()
	spdy, err := remotecommand.NewSPDYExecutor(config, "POST", url)
	if err != nil {
		return nil, err
	}
	websocket, err := remotecommand.NewWebSocketExecutor(config, "GET", url.String())
	if err != nil {
		return nil, err
	}
	return remotecommand.NewFallbackExecutor(websocket, spdy, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
}

// ended makes the exit code of the command ours. It has said itself what was wrong.
func ended(err error) error {
	var code exec.CodeExitError
	if errors.As(err, &code) {
		return &exit.Error{Code: code.Code, Err: errors.New("")}
	}
	return err
}

// look is how often the size of the terminal is looked at. Not all systems tell of a change.
const look = 500 * time.Millisecond

// sizes tells of changes of the terminal's size.
type sizes struct {
	ctx      context.Context
	terminal int
	last     remotecommand.TerminalSize
}

// Next waits for another size than the last; nil at the end.
func (s *sizes) Next() *remotecommand.TerminalSize {
	for {
		width, height, err := term.GetSize(s.terminal)
		size := remotecommand.TerminalSize{Width: uint16(max(0, width)), Height: uint16(max(0, height))}
		if err == nil && size != s.last {
			s.last = size
			return &size
		}
		select {
		case <-s.ctx.Done():
			return nil
		case <-time.After(look):
		}
	}
}
