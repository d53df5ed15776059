package suite_test

import (
	"context"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestHelm installs the operator from its chart while there is no other. It disturbs every job of the cluster, so it runs alone.
func TestHelm(t *testing.T) {
	s := newSpace(t)
	release := newRelease(s)
	t.Run("a job loses nothing by upgrade, rollback, uninstall and another install", func(t *testing.T) {
		release.space = newSpace(t)
		releaseLosesNothing(release, seed)
	})
	t.Run("Prometheus has an alert fire for a job that is stuck", func(t *testing.T) {
		release.space = newSpace(t)
		releaseIsWatched(release)
	})
	t.Run("an operator of one namespace lives without rights elsewhere", func(t *testing.T) {
		release.space = newSpace(t)
		releaseOfOneNamespace(release)
	})
}

// release is an installation of the chart, which takes the place of the one by kustomize until the test ends.
type release struct {
	*space
	helm, image string
}

func newRelease(s *space) *release {
	s.t.Helper()
	program, err := localCluster(s.ctx, "path", "helm")
	require.NoError(s.t, err, program)
	r := &release{space: s, helm: strings.TrimSpace(program), image: s.operator().Spec.Template.Spec.Containers[0].Image}
	s.t.Cleanup(func() {
		_ = exec.Command(r.helm, "uninstall", "genericjob", "--namespace", operatorNamespace, "--ignore-not-found", "--wait").Run()
		for _, args := range [][]string{
			{kubectl, "delete", "crd", "--selector", "app.kubernetes.io/name=genericjob"}, // they are Helm's until then
			{"make", "--silent", "deploy", "IMG=" + r.image},
		} {
			command := exec.Command(args[0], args[1:]...)
			command.Dir, command.Env = root, append(os.Environ(), "KUBECTL="+kubectl)
			if text, err := command.CombinedOutput(); err != nil {
				s.t.Errorf("%v: %v\n%s", args, err, text)
			}
		}
	})
	s.run([]string{"UNDEPLOY_WAIT=30"}, filepath.Join(root, "deploy", "undeploy.sh"))
	s.awaitGone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	return r
}

// install installs the release, in a namespace that takes no pods but restricted ones, and waits until the operator is ready.
func (r *release) install(values ...string) {
	r.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: operatorNamespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}
	require.NoError(r.t, client.IgnoreAlreadyExists(r.Create(r.ctx, ns)))
	r.do("install", append([]string{"deploy/helm/genericjob", "--wait", "--timeout", "3m", "--set", r.imageValues()}, values...)...)
}

// do runs a verb of helm's on the release.
func (r *release) do(verb string, args ...string) {
	r.t.Helper()
	r.run(nil, r.helm, append([]string{verb, "genericjob", "--namespace", operatorNamespace}, args...)...)
}

func (r *release) imageValues() string {
	colon := strings.LastIndex(r.image, ":")
	return "image.repository=" + r.image[:colon] + ",image.tag=" + r.image[colon+1:]
}

func releaseLosesNothing(r *release, seed int64) {
	r.t.Logf("the schedule's seed is %d: repeat it with -seed=%d", seed, seed)
	chance := rand.New(rand.NewSource(seed))
	r.install()
	job := r.submit("steady", `{service: {}, replicaSpecs: [
		{type: worker, replicas: 3, restartPolicy: {limit: 3}, template: `+pod("obey")+`}]}`)
	r.awaitRunning("steady", "3/3")
	r.failOnce(job, 1, "3/3")

	before, fates := r.uids(job), map[string]fate{"upgraded-0": r.submitFate("upgraded-0", chance), "upgraded-1": r.submitFate("upgraded-1", chance)}
	r.do("upgrade", "deploy/helm/genericjob", "--reset-then-reuse-values", "--set", "replicas=2,flags.concurrency=5,podDisruptionBudget.enabled=true", "--wait", "--timeout", "3m")
	require.Contains(r.t, r.operator().Spec.Template.Spec.Containers[0].Args, "--concurrency=5")
	r.until("two operators, of which one leads", func() bool { return len(r.operatorPods()) == 2 })
	r.requireFates(fates)
	require.Equal(r.t, before, r.uids(job), "no pod is replaced because of the upgrade")
	r.failOnce(job, 2, "3/3")
	r.end(job, "worker", 1, 0)
	r.await("steady", "worker-1 has succeeded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })

	before, fates = r.uids(job), map[string]fate{"rolled-back": r.submitFate("rolled-back", chance)}
	r.do("rollback", "1", "--wait", "--timeout", "3m")
	require.NotContains(r.t, r.operator().Spec.Template.Spec.Containers[0].Args, "--concurrency=5")
	r.awaitRollout()
	r.requireFates(fates)
	require.Equal(r.t, before, r.uids(job), "no pod is replaced because of the rollback")
	r.failOnce(job, 3, "2/2")

	before = r.uids(job)
	r.do("uninstall", "--wait")
	r.until("the operator is gone", func() bool { return len(r.operatorPods()) == 0 })
	r.end(job, "worker", 2, 0)
	r.until("worker-2 has ended", func() bool { return r.pods(job)["worker-2"].Status.Phase == corev1.PodSucceeded })
	require.Equal(r.t, before, r.uids(job), "the kinds are kept, and so are jobs and pods")
	r.install()
	r.await("steady", "the end that nobody saw is recorded", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 2 })
	r.end(job, "worker", 0, 0)
	done := r.awaitPhase("steady", v1beta1.JobSucceeded)
	require.EqualValues(r.t, 3, done.Status.BackoffCount)
	require.Zero(r.t, done.Status.DisruptionCount)
	r.requireRuns(job, "worker", 4, 1, 1)
	r.awaitReleased(job)
	r.removeEverything()
}

// removeEverything does what the chart's README.md says, while a job runs.
func (r *release) removeEverything() {
	r.t.Helper()
	last := r.submit("last", `{service: {}, replicaSpecs: [{type: worker, replicas: 2, template: `+pod("obey")+`}]}`)
	r.awaitRunning("last", "2/2")
	r.run(nil, kubectl, "delete", "tensorflowtrainingjobs,pytorchtrainingjobs,genericjobs", "--all", "--all-namespaces")
	r.run(nil, kubectl, "wait", "--for=delete", "pods", "--all-namespaces", "--selector", v1beta1.LabelJobUID, "--timeout=5m")
	r.awaitPods(last)
	r.do("uninstall", "--wait")
	r.run(nil, kubectl, "delete", "crd", "--selector", "app.kubernetes.io/name=genericjob")
	err := r.List(r.ctx, &v1beta1.GenericJobList{})
	require.True(r.t, meta.IsNoMatchError(err) || apierrors.IsNotFound(err), "the kind is gone, but: %v", err)
}

// failOnce has worker-0 fail, and waits until it runs again.
func (s *space) failOnce(job *v1beta1.GenericJob, restarts int32, running string) {
	s.t.Helper()
	s.end(job, "worker", 0, 1)
	s.await(job.Name, "worker-0 runs again", func(j *v1beta1.GenericJob) bool {
		return j.Status.BackoffCount == restarts && j.Status.Running == running
	})
}

// releaseOfOneNamespace installs the operator for its namespace alone, and without all that no namespace holds; the kinds are there.
func releaseOfOneNamespace(r *release) {
	r.applyKinds() // as an admin does
	other := newSpace(r.t)
	r.install("--set", "namespaces={"+r.ns+"},clusterScoped=false")
	err := r.Get(r.ctx, client.ObjectKey{Name: "genericjob-manager"}, &rbacv1.ClusterRole{})
	require.True(r.t, apierrors.IsNotFound(err), "%v", err)

	ignored := other.submit("ignored", `{replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	job := r.submit("served", `{service: {}, replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {limit: 1}, template: `+pod("obey")+`}]}`)
	training, owned := r.train("training")
	r.awaitRunning("served", "2/2")
	r.failOnce(job, 1, "2/2")
	r.end(job, "worker", 0, 0)
	r.end(job, "worker", 1, 0)
	r.awaitPhase("served", v1beta1.JobSucceeded)
	r.end(owned, "worker", 0, 0)
	r.awaitPhase(training.Name, v1beta1.JobSucceeded)
	r.awaitReleased(job)
	require.Empty(r.t, other.job(ignored.Name).Status.Phase)
	require.Empty(r.t, other.pods(ignored))
	require.Empty(r.t, r.operatorLog("orbidden"), "rights that are not there are not used")

	require.NoError(r.t, r.Delete(context.Background(), job))
	require.NoError(r.t, r.Delete(context.Background(), training))
	require.NoError(r.t, other.Delete(context.Background(), ignored))
	r.awaitGone(job)
	r.awaitGone(training)
}
