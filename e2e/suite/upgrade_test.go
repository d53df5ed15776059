package suite_test

import (
	"flag"
	"math/rand"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var from = flag.String("from", "", "commit whose operator TestUpgrade begins with; default: the last release before this "+
	"commit, or, where git knows of none, the oldest that this build can follow")

// oldest is the commit that last changed stored names: this build leaves jobs of operators before it alone.
const oldest = "37dfe5d5620241023773a21482f84d59c2f972db"

// TestUpgrade replaces the operator by another image while jobs run. It disturbs every job of the cluster, so it runs
// alone.
func TestUpgrade(t *testing.T) {
	begin := *from
	if begin == "" {
		begin = lastRelease(t)
	}
	upgradeReplacesNoPod(newSpace(t), begin, seed)
}

// lastRelease is the tag of the release before this commit; without one, the oldest commit; "" where git does not know that either.
func lastRelease(t *testing.T) string {
	tag, err := exec.CommandContext(t.Context(), "git", "-C", root, "describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^").Output()
	if err == nil {
		return strings.TrimSpace(string(tag))
	}
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", oldest+"^{commit}").Run(); err != nil {
		t.Log("git knows of no release before this commit: the upgrade begins with this checkout")
		return ""
	}
	return oldest
}

// upgradeReplacesNoPod has jobs that begin under the old operator, fail and restart while it is replaced, and end under
// the new one.
func upgradeReplacesNoPod(s *space, from string, seed int64) {
	s.t.Logf("the schedule's seed is %d: repeat it with -seed=%d", seed, seed)
	chance := rand.New(rand.NewSource(seed))
	now := s.operator().Spec.Template.Spec.Containers[0].Image
	old := s.oldOperator(from)
	defer s.operatorImage(now)
	s.operatorImage(old)

	job := s.submit("steady", `{service: {}, replicaSpecs: [
		{type: worker, replicas: 3, restartPolicy: {limit: 2}, template: `+pod("obey")+`}]}`)
	s.awaitRunning("steady", "3/3")
	s.end(job, "worker", 0, 1)
	s.await("steady", "worker-0 runs again", func(j *v1beta1.GenericJob) bool {
		return j.Status.BackoffCount == 1 && j.Status.Running == "3/3"
	})
	s.end(job, "worker", 1, 0)
	s.await("steady", "worker-1 has succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	before := s.uids(job)
	fates := map[string]fate{}
	for _, name := range []string{"job-0", "job-1", "job-2", "job-3"} {
		fates[name] = s.submitFate(name, chance)
	}

	s.operatorImage(now)
	s.await("steady", "the new operator has seen it", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "2/2" })
	s.requireFates(fates)
	require.Equal(s.t, before, s.uids(job), "no pod is replaced because of the upgrade")
	s.end(job, "worker", 0, 1)
	s.await("steady", "worker-0 runs again", func(j *v1beta1.GenericJob) bool {
		return j.Status.BackoffCount == 2 && j.Status.Running == "2/2"
	})
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 2, 0)
	done := s.awaitPhase("steady", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 2, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 3, 1, 1)
	s.awaitReleased(job)
}

// uids are those of a job's pods, by name.
func (s *space) uids(job *v1beta1.GenericJob) map[string]types.UID {
	uids := map[string]types.UID{}
	for name, pod := range s.pods(job) {
		uids[name] = pod.UID
	}
	return uids
}

// oldOperator makes and loads the image of the operator as a commit had it.
func (s *space) oldOperator(commit string) string {
	s.t.Helper()
	folder, source := s.t.TempDir(), root
	if commit != "" {
		source = filepath.Join(folder, "source")
		s.run(nil, "git", "worktree", "add", "--detach", source, commit)
		defer func() { _ = exec.Command("git", "-C", root, "worktree", "remove", "--force", source).Run() }()
	}
	const ref = "localhost/genericjob/manager:before-the-upgrade"
	binary := filepath.Join(folder, "manager")
	s.run([]string{"CGO_ENABLED=0"}, "go", "-C", source, "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/manager")
	for _, verb := range [][]string{{"image", "-ref", ref, "-out", binary + ".tar", binary}, {"load", binary + ".tar"}} {
		text, err := localCluster(s.ctx, verb...)
		require.NoError(s.t, err, text)
	}
	return ref
}

// operatorImage has the operator run this image.
func (s *space) operatorImage(ref string) {
	s.t.Helper()
	s.run(nil, kubectl, "set", "image", "--namespace", operatorNamespace, "deployment/"+operatorName, "manager="+ref)
	s.awaitRollout()
}
