package code_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
	"github.com/genericjob/genericjob/cmd/wrapper/run"
	"github.com/genericjob/genericjob/kernel/build"
)

// as has the test's own binary be the wrapper that runs in a container, or what a developer runs beside it.
const as = "GENERICJOB_TEST_AS"

func TestMain(m *testing.M) {
	switch os.Getenv(as) {
	case "wrapper":
		os.Exit(run.Main(os.Args[1:]))
	case "developer":
		os.Exit(develop.Serve(os.Args[1], os.Stdin, os.Stdout))
	}
	os.Exit(m.Run())
}

// job is one of replicas whose wrappers run, without a cluster. Their containers share a folder for the code, and a log.
type job struct {
	*testing.T
	family   *jobs.Family
	app, log string
	grace    time.Duration        // the pods'
	dirs     map[types.UID]string // where the wrapper of a pod is
}

// patience bounds every wait. No test depends on how fast anything is.
const patience = 5 * time.Minute

// begins returns code that says a word, and runs until it is told to end, which it says, too.
func begins(word string) string {
	return `trap 'echo told >> $LOG; exit 1' TERM; echo ` + word + ` >> $LOG; while :; do sleep 0.05; done`
}

// newJob returns a job whose code has more time to end than any machine takes.
func newJob(t *testing.T, replicas int, script string) *job {
	t.Helper()
	return newJobOfGrace(t, time.Minute, replicas, script)
}

func newJobOfGrace(t *testing.T, grace time.Duration, replicas int, script string) *job {
	t.Helper()
	j := &job{T: t, family: familyOf(t, replicas, nil), app: filepath.Join(t.TempDir(), "app"), grace: grace, dirs: map[types.UID]string{}}
	j.log = filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.Mkdir(j.app, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(j.app, "train.sh"), []byte(begins("old")), 0o600))
	for _, pod := range j.family.Pods {
		j.start(pod, script)
	}
	return j
}

// start starts the container of a pod.
func (j *job) start(pod *corev1.Pod, script string) {
	dir, err := os.MkdirTemp("", "gj") // a socket's path is short
	require.NoError(j, err)
	j.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(j, os.Mkdir(filepath.Join(dir, "state"), 0o755))
	c := exec.Command(os.Args[0], "-dir="+dir, fmt.Sprintf("-port=%d", freePort(j)), "-pod=uid", "-grace="+j.grace.String(),
		"-order="+inplace.Order{}.String(), "--", "sh", "-c", script, j.app)
	c.Env = append(os.Environ(), as+"=wrapper", "LOG="+j.log)
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	require.NoError(j, c.Start())
	j.Cleanup(func() {
		_ = os.RemoveAll(j.app) // code that ignores the signal ends by that
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	})
	j.dirs[pod.UID] = dir
	j.until("the wrapper listens", func() bool {
		_, err := os.Stat(develop.Socket(dir))
		return err == nil
	})
}

func freePort(t require.TestingT) int {
	for {
		port := 11_000 + rand.IntN(9000) // testenv draws from 20000 on, and Linux gives away from 32768 on
		if free, err := net.Listen("tcp", fmt.Sprintf(":%d", port)); err == nil {
			require.NoError(t, free.Close())
			return port
		}
	}
}

// familyOf returns a job whose pods run, as it is after an edit.
func familyOf(t require.TestingT, replicas int, edit func(*v1beta1.GenericJob)) *jobs.Family {
	n := int32(replicas)
	gj := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "team", UID: "job"}}
	gj.Spec.RestartStrategy = v1beta1.RestartInPlace
	gj.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &n}}
	gj.Spec.ReplicaSpecs[0].Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "i", Command: []string{"train"}}}
	if edit != nil {
		edit(gj)
	}
	var pods []corev1.Pod
	for i := range gj.Spec.ReplicaSpecs {
		for rank := range int(*gj.Spec.ReplicaSpecs[i].Replicas) {
			pod := build.NewBuilder(gj, build.Run{WrapperImage: "w"}).Pod(gj.Spec.ReplicaSpecs[i].Type, rank, 0)
			pod.UID = types.UID(pod.Name)
			pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
				{Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}}
			pods = append(pods, *pod)
		}
	}
	for _, kind := range jobs.Kinds() {
		if kind.Short() == "gj" {
			return jobs.NewFamily(kind, gj, gj, pods)
		}
	}
	require.Fail(t, "no kind gj")
	return nil
}

// connect runs the wrapper's program beside the wrapper of a pod.
func (j *job) connect(ctx context.Context, pod *corev1.Pod, _ string, in io.Reader, out, problems io.Writer) error {
	c := exec.CommandContext(ctx, os.Args[0], j.dirs[pod.UID])
	c.Env = append(os.Environ(), as+"=developer")
	c.Stdout, c.Stderr = out, problems
	theirs, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(theirs, in)
		_ = theirs.Close()
	}()
	return c.Wait()
}

// work returns the work of a user of this job, and what it prints.
func (j *job) work(local, to string) (w *code.Work, out, problems *buffer) {
	out, problems = &buffer{}, &buffer{}
	w = &code.Work{Restarts: true, Connect: j.connect, Out: out, Err: problems, RestartCommand: "kubectl gj restart gj/mnist -n team"}
	if local != "" {
		folder, err := code.NewFolder(local+":"+to, nil)
		require.NoError(j, err)
		w.Folder = folder
	}
	return w, out, problems
}

// buffer is written to while it is read.
type buffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.String()
}

func (j *job) logged() string {
	text, _ := os.ReadFile(j.log)
	return strings.Join(strings.Fields(string(text)), " ")
}

func (j *job) until(what string, is func() bool) {
	j.Helper()
	require.Eventually(j, is, patience, 20*time.Millisecond, what)
}

// awaitLog waits until the log says so, and nothing else.
func (j *job) awaitLog(want string) {
	j.Helper()
	j.until("the log says "+want, func() bool { return j.logged() == want })
}

// write writes a file of this machine.
func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file+"~", []byte(text), 0o600))
	require.NoError(t, os.Rename(file+"~", file))
}

const runsApp = `exec sh $0/train.sh`
