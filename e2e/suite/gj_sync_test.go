package suite_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// firstLine waits until a replica's present container has logged some words, and returns when it first did, by the node's clock.
func (u *user) firstLine(job *v1beta1.GenericJob, rank int, words string) (at time.Time) {
	u.t.Helper()
	u.until(fmt.Sprintf("worker-%d logs %q", rank, words), func() bool {
		text, err := u.kubectl("logs", "--timestamps", spec.PodName(job, "worker", rank))
		for line := range strings.Lines(text) {
			if stamp, said, _ := strings.Cut(strings.TrimSpace(line), " "); err == nil && said == words {
				at, err = time.Parse(time.RFC3339Nano, stamp)
				return err == nil
			}
		}
		return false
	})
	return at
}

// allBegin waits until all ranks have logged some words, and logs how long after a save that was.
func (u *user) allBegin(job *v1beta1.GenericJob, saved time.Time, words string) {
	u.t.Helper()
	last := saved
	for rank := range 4 {
		if at := u.firstLine(job, rank, words); at.After(last) {
			last = at
		}
	}
	u.t.Logf("SYNC %.2f s from the save to the first line of the last of 4 replicas: %s", last.Sub(saved).Seconds(), words)
}

// codeIsReplaced is a developer's loop: code of a running job is replaced in its pods, again and again, and no restart is counted.
func codeIsReplaced(u *user) {
	job := u.submit("coded", `
restartScope: Job
restartStrategy: InPlace
backoffLimit: 1
replicaSpecs:
- {type: worker, replicas: 4, restartPolicy: {policy: OnFailure}, template: `+
		strings.Replace(inPlace("script /app/lib/steps then print the image's code then obey"), `"name": "main"`, `"name": "main", "securityContext": {"runAsUser": 0}`, 1)+`}`)
	u.awaitRunning("coded", "4/4")
	for rank := range 4 {
		u.firstLine(job, rank, "the image's code")
	}
	before := u.identities(job)
	src := u.t.TempDir()
	save := func(version int) (at time.Time, words string) {
		words = fmt.Sprintf("new code %d", version)
		require.NoError(u.t, os.MkdirAll(filepath.Join(src, "lib"), 0o755))
		require.NoError(u.t, os.WriteFile(filepath.Join(src, "lib", "steps"), []byte("print "+words+" then obey then exit 9"), 0o600))
		return time.Now(), words
	}

	saved, words := save(1)
	out := u.sees("sync", "coded", src+":/app", "--restart")
	require.Contains(u.t, out, "synced 1 file into /app of 4 replicas: lib/steps\nthe code has begun again in 4 replicas after ")
	u.allBegin(job, saved, words)

	watch := u.command("sync", "gj/coded", src+":/app", "--watch")
	var lines bytes.Buffer
	watch.Stdout, watch.Stderr = &lines, &lines
	require.NoError(u.t, watch.Start())
	for version := 2; version < 5; version++ {
		saved, words = save(version)
		u.allBegin(job, saved, words)
	}
	require.NoError(u.t, watch.Process.Signal(os.Interrupt))
	_ = watch.Wait()
	u.t.Logf("$ kubectl gj sync --watch\n%s", lines.String())

	began := time.Now()
	u.sees("restart", "coded")
	u.t.Logf("SYNC restart of 4 replicas: %.2f s", time.Since(began).Seconds())
	require.Equal(u.t, before, u.identities(job), "no pod was replaced")
	for name, pod := range u.pods(job) {
		require.Zero(u.t, pod.Status.ContainerStatuses[0].RestartCount, name)
	}
	now := u.job("coded")
	require.Zero(u.t, now.Status.BackoffCount+now.Status.DisruptionCount+now.Status.JobAttempt)

	// The rank that fails gets a new container in its pod. It has the code that was synced, as its peers do.
	u.end(job, "worker", 2, 3)
	u.await("coded", "one restart", func(j *v1beta1.GenericJob) bool {
		return j.Status.BackoffCount == 1 && j.Status.InPlace != nil && j.Status.InPlace.StartedJobAttempt == 1
	})
	u.firstLine(job, 2, "genericjob wrapper: the code that was synced into /app of this pod is there again")
	u.firstLine(job, 2, words)
	for rank := range 4 {
		u.end(job, "worker", rank, 0)
	}
	u.awaitPhase("coded", v1beta1.JobSucceeded)
	_, problem, code := u.types("sync", "coded", src+":/app")
	require.Equal(u.t, 1, code)
	require.Contains(u.t, problem, "GenericJob/coded is over")
}

// codeIsReplacedBesideAMount is the same where little may be written. The root file system is read-only, the user is nobody, and one file is a key of
// a ConfigMap.
func codeIsReplacedBesideAMount(u *user) {
	require.NoError(u.t, u.Create(u.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: u.ns, Name: "conf"}, Data: map[string]string{"c": "a: b"}}))
	template := strings.Replace(inPlace("script /app/steps then print the image's code then obey"), `"name": "main"`, `"name": "main",
		"securityContext": {"runAsUser": 65532, "readOnlyRootFilesystem": true},
		"volumeMounts": [{"name": "app", "mountPath": "/app"}, {"name": "conf", "mountPath": "/app/conf.yaml", "subPath": "c"}]`, 1)
	template = strings.Replace(template, `"containers"`, `"volumes": [{"name": "app", "emptyDir": {}}, {"name": "conf", "configMap": {"name": "conf"}}], "containers"`, 1)
	job := u.submit("mounted", `{restartScope: Job, restartStrategy: InPlace, replicaSpecs: [{type: worker, replicas: 4, restartPolicy: {policy: OnFailure}, template: `+template+`}]}`)
	u.awaitRunning("mounted", "4/4")
	src := u.t.TempDir()
	require.NoError(u.t, os.WriteFile(filepath.Join(src, "conf.yaml"), []byte("a: c"), 0o600))
	require.NoError(u.t, os.WriteFile(filepath.Join(src, "steps"), []byte("print new code 1 then obey"), 0o600))
	for rank := range 4 {
		u.firstLine(job, rank, "the image's code")
	}
	_, problem, code := u.types("sync", "mounted", src+":/app", "--restart")
	require.Equal(u.t, 4, code)
	require.Contains(u.t, problem, "worker-3: /app/conf.yaml cannot be replaced: something is mounted on it")
	require.Contains(u.t, problem, "Nothing was changed, and the code runs on")
	_, problem, code = u.types("sync", "mounted", src+":/opt", "--restart")
	require.Equal(u.t, 4, code)
	require.Contains(u.t, problem, "worker-0: user 65532 cannot write in /")
	require.Contains(u.t, problem, "read-only file system")
	u.sees("sync", "mounted", src+":/app", "--restart", "--exclude=conf.yaml")
	u.allBegin(job, time.Now(), "new code 1")
	for rank := range 4 {
		u.end(job, "worker", rank, 0)
	}
	u.awaitPhase("mounted", v1beta1.JobSucceeded)
	require.Zero(u.t, u.job("mounted").Status.BackoffCount)
}
