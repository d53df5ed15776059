package suite_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestGJ is a user's day with the plugin: kubectl finds it on the PATH and runs it as `kubectl gj`.
func TestGJ(t *testing.T) {
	plugin := filepath.Join(t.TempDir(), "kubectl-gj")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", plugin, ".")
	build.Dir = filepath.Join(root, "cmd", "kubectl-gj")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	completion, err := os.ReadFile(filepath.Join(root, "cmd", "kubectl-gj", "kubectl_complete-gj"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(plugin), "kubectl_complete-gj"), completion, 0o755))
	for name, test := range map[string]func(*user){
		"why a job is pending":                 pendingIsExplained,
		"a training job, from tree to success": dayOfTraining,
		"pause, debug and scale":               steered,
		"exit codes of wait":                   exitCodesOfWait,
		"code is replaced while it runs":       codeIsReplaced,
		"code is replaced beside a mount":      codeIsReplacedBesideAMount,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&user{newSpace(t), filepath.Dir(plugin)})
		})
	}
}

// user types commands into a space.
type user struct {
	*space
	plugins string // the folder that has the plugin
}

// command is `kubectl gj` with some arguments.
func (u *user) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(u.ctx, kubectl, append([]string{"gj", "--namespace", u.ns}, args...)...)
	cmd.Env = append(os.Environ(), "PATH="+u.plugins+":"+os.Getenv("PATH"))
	return cmd
}

// types runs `kubectl gj` and returns what it prints and its exit code.
func (u *user) types(args ...string) (out, problem string, code int) {
	u.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := u.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if !errors.As(err, &exited) {
		require.NoError(u.t, err)
	}
	u.t.Logf("$ kubectl gj %s\n%s%s[exit code %d]", strings.Join(args, " "), stdout.String(), stderr.String(), cmd.ProcessState.ExitCode())
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// sees runs `kubectl gj`, which must succeed, and returns what it prints.
func (u *user) sees(args ...string) string {
	u.t.Helper()
	out, problem, code := u.types(args...)
	require.Zero(u.t, code, "%v: %s", args, problem)
	return out
}

// awaitWhy asks `kubectl gj why` until its answer has a reason, and returns the paragraph.
func (u *user) awaitWhy(name string, reasons ...string) string {
	u.t.Helper()
	u.until("why "+name+": "+strings.Join(reasons, " or "), func() bool {
		out, err := u.command("why", name, "-o", "json").Output()
		for _, reason := range reasons {
			if err == nil && strings.Contains(string(out), `"reason": "`+reason+`"`) {
				return true
			}
		}
		return false
	})
	return u.sees("why", name)
}

func pendingIsExplained(u *user) {
	u.submit("unplaced", `{replicaSpecs: [{type: worker, template: {spec: {nodeSelector: {no: node},
		containers: [{name: main, image: `+image+`, imagePullPolicy: Never}]}}}]}`)
	u.submit("unpulled", `{replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, image: "localhost:1/absent:dev"}]}}}]}`)
	text := u.awaitWhy("unplaced", "Unschedulable")
	require.Regexp(u.t, `^GenericJob/unplaced: Pending\. Pod\[unplaced-\w+-worker-0\] cannot start: Unschedulable: 0/`, text)
	require.Contains(u.t, text, "correct nodeSelector or affinity")
	require.Regexp(u.t, `worker-0 +Pending +0 +Unschedulable: 0/`, u.sees("tree", "unplaced"))

	text = u.awaitWhy("unpulled", "ImagePullBackOff", "ErrImagePull")
	require.Contains(u.t, text, "localhost:1/absent:dev")
	require.Contains(u.t, text, "To set the image: `kubectl gj set image gj/unpulled -n "+u.ns+" IMAGE`")

	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none", Namespace: u.ns}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	require.NoError(u.t, u.Create(u.ctx, quota))
	u.until("the quota counts", func() bool {
		return u.Get(u.ctx, keyOf(quota), quota) == nil && len(quota.Status.Hard) > 0
	})
	u.submit("no-quota", `{replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	text = u.awaitWhy("no-quota", v1beta1.ReasonCreateFailed)
	require.Contains(u.t, text, "exceeded quota: none")
	require.Contains(u.t, text, "Free what is short")
}

// dayOfTraining is that of a job whose worker 1 fails once. What `tree -w` shows of it on a terminal is recorded: it is the picture
// in the plugin's README.
func dayOfTraining(u *user) {
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: u.ns}}
	require.NoError(u.t, yaml.UnmarshalStrict([]byte(`{runPolicy: {restartScope: Replica}, replicaSpecs: [
		{type: master, template: `+pod("print training then obey")+`},
		{type: worker, replicas: 3, template: `+pod("print training then pause 4 then print loss is nan then fail 1 3 1 then obey")+`}]}`), &job.Spec))
	require.NoError(u.t, u.Create(u.ctx, job))

	stop := u.records("mnist")
	followed := u.command("logs", "mnist", "-f")
	var lines bytes.Buffer
	followed.Stdout, followed.Stderr = &lines, &lines
	require.NoError(u.t, followed.Start())
	u.sees("wait", "mnist", "--for=running", "--timeout=4m")
	gj := u.await("mnist", "a restart", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 1 })
	u.awaitRunning("mnist", "4/4")
	u.sees("wait", "mnist", "--for=running", "--timeout=4m")

	tree := u.sees("tree", "pj/mnist")
	require.Regexp(u.t, `(?m)^PyTorchTrainingJob/mnist +Running 4/4 +1$`, tree)
	require.Regexp(u.t, `(?m)^└─ GenericJob/mnist +Running 4/4 +1$`, tree)
	require.Regexp(u.t, `(?m)^   ├─ Pod/mnist-\w+-worker-1 +Running +\S+ +1 +before: exit code 3, last output: "loss is nan"$`, tree)
	out, problem, _ := u.types("logs", "mnist", "--first-failure")
	require.Contains(u.t, problem, "worker-1 failed first, at ")
	require.Contains(u.t, out, "[worker-1] training\n[worker-1] loss is nan\n", "its last words")
	require.Regexp(u.t, `(?m)^worker-1 +1 +0 +0 +exit code 3, last output: "loss is nan"`, u.sees("top", "mnist"))
	require.Regexp(u.t, `(?m)^pj/mnist +1 +0 +0 +worker-1 \(1\)`, u.sees("top"))

	for rank := range 3 {
		u.awaitLog(gj, "worker", rank, "loss is nan")
		u.end(gj, "worker", rank, 0)
	}
	u.end(gj, "master", 0, 0)
	require.Empty(u.t, u.sees("wait", "mnist", "--timeout=4m"))
	require.Contains(u.t, u.sees("why", "mnist"), "It has succeeded")
	page := u.sees("report", "mnist")
	require.Contains(u.t, page, "<h1>PyTorchTrainingJob/mnist</h1>")
	require.Contains(u.t, page, "worker-1 failed first</b>")
	require.NoError(u.t, followed.Wait(), "%s", lines.String())
	require.Equal(u.t, 2, strings.Count(lines.String(), "[worker-1] training\n"), "of both pods:\n%s", lines.String())
	require.Equal(u.t, 1, strings.Count(lines.String(), "[master-0] training\n"), "%s", lines.String())
	require.Contains(u.t, stop(), "Succeeded")
}

// records runs `kubectl gj tree -w` on a terminal until the job is over. The function that it returns waits for that, and returns what
// the terminal has got.
func (u *user) records(name string) (stop func() string) {
	folder := u.t.TempDir()
	if *update {
		folder = filepath.Join(root, "cmd", "kubectl-gj", "picture", "testdata")
	}
	out := filepath.Join(folder, "tree.terminal")
	watch := u.command("tree", name, "-w")
	record := exec.CommandContext(u.ctx, "script", "--quiet", "--return", "--log-out", out, "--log-timing", filepath.Join(folder, "tree.timing"),
		"--command", "stty cols 118 rows 30; exec "+strings.Join(watch.Args, " "))
	record.Env = append(watch.Env, "TERM=xterm", "SHELL=/bin/sh")
	require.NoError(u.t, record.Start())
	return func() string {
		require.NoError(u.t, record.Wait())
		text, err := os.ReadFile(out)
		require.NoError(u.t, err)
		return string(text)
	}
}

func steered(u *user) {
	job := u.submit("steered", `{replicaSpecs: [{type: worker, replicas: 2, template: `+pod("print training then obey")+`}]}`)
	u.sees("wait", "steered", "--for=running", "--timeout=4m")
	u.sees("pause", "steered")
	u.sees("wait", "steered", "--for=paused", "--timeout=4m")
	require.Contains(u.t, u.sees("why", "steered"), "It is paused")
	u.awaitPods(job)
	u.sees("resume", "steered")
	u.sees("wait", "steered", "--for=running", "--timeout=4m")
	u.sees("scale", "steered", "3")
	u.sees("wait", "steered", "--for=running", "--timeout=4m")
	u.awaitPods(job, "worker-0", "worker-1", "worker-2")

	require.Equal(u.t, "hello\n", u.sees("debug", "steered", "--shell", "worker-1", "--", "/worker", "print", "hello"))
	_, _, code := u.types("debug", "steered", "--shell", "worker-2", "--", "/worker", "exit", "7")
	require.Equal(u.t, 7, code, "the command's exit code")
	require.Contains(u.t, u.awaitWhy("steered", "Debug"), "It runs in debug mode")
	u.sees("debug", "steered", "--off")
	u.sees("wait", "steered", "--for=running", "--timeout=4m")
	for rank := range 3 {
		u.awaitLog(job, "worker", rank, "training")
		u.end(job, "worker", rank, 0)
	}
	u.sees("wait", "steered", "--timeout=4m")
	require.Zero(u.t, u.job("steered").Status.BackoffCount)
	out := u.sees("logs", "steered")
	for _, replica := range []string{"worker-0", "worker-1", "worker-2"} {
		require.Contains(u.t, out, "["+replica+"] training\n")
	}
}

func exitCodesOfWait(u *user) {
	u.submit("fails", `{replicaSpecs: [{type: worker, template: `+pod("print no data then exit 9")+`}]}`)
	u.submit("lasts", `{replicaSpecs: [{type: worker, template: `+pod("obey")+`}]}`)
	_, problem, code := u.types("wait", "fails", "--timeout=4m")
	require.Equal(u.t, 1, code)
	require.Contains(u.t, problem, `exited with error code 9, last output: "no data"`)
	require.Contains(u.t, problem, "logs gj/fails -n "+u.ns+" --first-failure")
	require.Equal(u.t, "[worker-0] no data\n", u.sees("logs", "fails", "--first-failure"), "its pod is still there")
	_, _, code = u.types("wait", "lasts", "--for=nothing")
	require.Equal(u.t, 2, code)
	u.awaitRunning("lasts", "1/1")
	_, problem, code = u.types("wait", "lasts", "--timeout=20s")
	require.Equal(u.t, 3, code)
	require.Contains(u.t, problem, "timed out after 20s. GenericJob/lasts: Running.")
	_, problem, code = u.types("wait", "absent", "--timeout=1m")
	require.Equal(u.t, 4, code)
	require.Contains(u.t, problem, `has no job "absent"`)

	complete := u.command()
	complete.Args = []string{kubectl, "__complete", "gj", "--namespace", u.ns, "wait", "la"}
	out, err := complete.Output()
	require.NoError(u.t, err)
	require.Contains(u.t, string(out), "lasts\tGenericJob\n", "kubectl completes names")
}
