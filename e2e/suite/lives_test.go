package suite_test

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var update = flag.Bool("update", false, "rewrite the golden files of lives")

// lives are jobs as a new user meets them, each with a manifest and a golden file in testdata/lives. The golden has what the user typed,
// and what kubectl showed at the moments that tell. To rewrite them after a change that is meant, and then read the diff:
// GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -run TestLives ./... -update
var lives = []struct {
	name, kind string
	live       func(*life)
}{
	{"succeeds", "pj", succeeds},
	{"crashes", "gj", crashes},
	{"crashes-for-good", "tj", crashesForGood},
	{"drained", "pj", drained},
	{"quota", "gj", hasNoQuota},
	{"image", "tj", hasNoImage},
	{"gang", "pj", hasNoGang},
	{"pause", "gj", pausedAndBadlyEdited},
	{"deadline", "gj", outlivesItsDeadline},
	{"again", "gj", madeAgain},
}

func TestLives(t *testing.T) {
	for _, each := range lives {
		t.Run(each.name, func(t *testing.T) {
			t.Parallel()
			l := &life{space: newSpace(t), name: each.name, kind: each.kind}
			l.read()
			each.live(l)
			l.compare()
		})
	}
}

func succeeds(l *life) {
	job := l.born()
	l.awaitRunning(l.name, "3/3")
	l.look("All replicas run.")
	l.happens("Both workers exit with 0.")
	l.end(job, "worker", 0, 0)
	l.end(job, "worker", 1, 0)
	l.awaitRunning(l.name, "1/1")
	l.look("The master goes on.")
	l.happens("The master exits with 0.")
	l.end(job, "master", 0, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}

func crashes(l *life) {
	job := l.born()
	l.awaitRunning(l.name, "2/2")
	l.happens("worker-1 exits with 1.")
	l.end(job, "worker", 1, 1)
	l.awaitRestarts(1)
	l.awaitRunning(l.name, "2/2")
	l.look("worker-1 runs again.")
	l.happens("Both workers exit with 0.")
	l.end(job, "worker", 0, 0)
	l.end(job, "worker", 1, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}

func crashesForGood(l *life) {
	job := l.born()
	l.awaitRunning(l.name, "2/2")
	l.happens("worker-1 exits with 3.")
	l.end(job, "worker", 1, 3)
	l.awaitRestarts(1)
	l.awaitRunning(l.name, "2/2")
	l.look("All replicas run again.")
	l.happens("worker-1 exits with 3 once more.")
	l.end(job, "worker", 1, 3)
	l.awaitPhase(l.name, v1beta1.JobFailed)
	l.look("The job has failed.")
}

func drained(l *life) {
	job := l.born()
	l.awaitRunning(l.name, "2/2")
	l.awaitLog(job, "worker", 0, "up")
	l.happens("The pod of worker-0 is evicted, as a drain of its node does.")
	l.evictPod(job)
	l.await(l.name, "a second attempt", func(j *v1beta1.GenericJob) bool { return j.Status.JobAttempt == 1 })
	l.awaitRunning(l.name, "2/2")
	l.look("All replicas run again.")
	l.happens("worker-1 exits with 0, and then worker-0, whose success is the job's.")
	l.end(job, "worker", 1, 0)
	l.awaitRunning(l.name, "1/1")
	l.end(job, "worker", 0, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}

// hasNoQuota has room for one pod of two, so that it is always the same one that is refused.
func hasNoQuota(l *life) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.ns, Name: "team"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	require.NoError(l.t, l.Create(l.ctx, quota))
	l.until("the quota is in force", func() bool {
		require.NoError(l.t, l.Get(l.ctx, keyOf(quota), quota))
		return len(quota.Status.Hard) > 0
	})
	l.happens("A quota allows one pod in the namespace.")
	job := l.born()
	l.awaitBlocked(l.name, v1beta1.ReasonCreateFailed)
	l.await(l.name, "one pod runs", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "1/2" })
	l.look("There is room for one of two pods.")
	l.types("patch", "quota", "team", "--type=merge", "--patch", `{"spec":{"hard":{"pods":"2"}}}`)
	l.awaitRunning(l.name, "2/2")
	l.look("There is room for both.")
	l.happens("Both workers exit with 0.")
	l.end(job, "worker", 0, 0)
	l.end(job, "worker", 1, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}

// hasNoImage does what the condition and the refusal say.
func hasNoImage(l *life) {
	l.born()
	l.await(l.name, "the kubelet waits before it tries again", func(j *v1beta1.GenericJob) bool {
		return condition(j, v1beta1.ConditionReplicaFailure).Reason == "ImagePullBackOff"
	})
	l.await(l.name, "the worker runs", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "1/2" })
	l.look("The image of the chief cannot be pulled.")
	l.edit("image", image)
	l.pause(true)
	l.awaitPhase(l.name, v1beta1.JobPaused)
	l.look("The job is paused.")
	l.edit("image", image)
	l.pause(false)
	l.awaitRunning(l.name, "2/2")
	l.look("The image was corrected.")
}

func hasNoGang(l *life) {
	l.born()
	l.awaitBlocked(l.name, v1beta1.ReasonGangUnavailable)
	l.look("The cluster has no such scheduler.")
	l.types("delete", l.kind, l.name)
}

func pausedAndBadlyEdited(l *life) {
	job := l.born()
	l.awaitRunning(l.name, "2/2")
	l.edit("args/1", "$(replicas[ps])")
	l.pause(true)
	l.awaitPhase(l.name, v1beta1.JobPaused)
	l.look("The job is paused.")
	l.edit("args/1", "$(replicas[ps])")
	l.awaitBlocked(l.name, v1beta1.ReasonInvalidSpec)
	l.look("The edit names a type that the job does not have.")
	l.pause(false)
	l.look("The pause was ended all the same.")
	l.edit("args/1", "$(replicas[worker])")
	l.awaitRunning(l.name, "2/2")
	l.look("The edit was mended.")
	l.happens("Both workers exit with 0.")
	l.end(job, "worker", 0, 0)
	l.end(job, "worker", 1, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}

func outlivesItsDeadline(l *life) {
	l.born()
	l.awaitRunning(l.name, "2/2")
	l.happens("Thirty seconds pass.")
	l.awaitPhase(l.name, v1beta1.JobFailed)
	l.look("The deadline is over.")
}

func madeAgain(l *life) {
	l.born()
	l.awaitRunning(l.name, "1/1")
	l.types("delete", l.kind, l.name)
	job := l.born()
	l.awaitRunning(l.name, "1/1")
	l.look("A job of the same name runs.")
	l.happens("The worker exits with 0.")
	l.end(job, "worker", 0, 0)
	l.awaitPhase(l.name, v1beta1.JobSucceeded)
	l.look("The job has succeeded.")
}
