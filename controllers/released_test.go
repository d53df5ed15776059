package controllers_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

var record = flag.String("record", "",
	"version whose stored jobs, and CRDs, are kept in testdata/<version>, in place of the last version's: those of this checkout")

// Between what was stored and this checkout there are a schema and an operator. Neither may refuse a job that runs, start
// its pods anew, or forget what it has counted. Before the first release the jobs are those that this checkout stores.
func TestJobsOfTheLastReleaseRunOn(t *testing.T) {
	if *record != "" {
		keep(t, *record)
	}
	folders, err := filepath.Glob("testdata/v*")
	require.NoError(t, err)
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { runOn(t, folder) })
	}
	if len(folders) == 0 {
		folder := t.TempDir()
		storeJobs(t, folder, metav1.ObjectMeta{GenerateName: "stored-"})
		runOn(t, folder)
	}
}

// runOn has the present CRDs and operator take over what the folder of a version holds. stored.yaml has jobs in the middle of their lives
// and all that belongs to them, as etcd had them. The CRDs are those under which they were stored.
func runOn(t *testing.T, folder string) {
	env, err := testenv.Serve(crdsOf(t, folder))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	admin, operator, err := connect(env)
	require.NoError(t, err)
	objects := readStored(t, folder)
	c := clusterOf(t, admin, operator, metav1.ObjectMeta{Name: objects[0].GetNamespace()})
	c.be(func(k *kubelet) { k.idle = true })
	restore(c, env, objects)

	crds, err := envtest.InstallCRDs(env.Config, envtest.CRDInstallOptions{Paths: []string{"../deploy/crd", "../deploy/kubeflow/crd"}, MaxTime: patience})
	require.NoError(t, err)
	require.NotEmpty(t, crds)
	for _, u := range objects {
		requireReadable(c, u)
	}
	pods := c.podUIDs()
	before := map[string]v1beta1.GenericJobStatus{}
	for _, name := range []string{"steady", "paused", "done", "failed"} {
		before[name] = c.job(name).Status
	}
	c.be(func(k *kubelet) { k.idle = false })
	c.operate(operation{})
	endOurs(c, before)
	endTrainings(c)
	for name, uid := range c.podUIDs() {
		if old, had := pods[name]; had && name != restarted {
			require.Equal(t, old, uid, "%s was made again by the upgrade", name)
		}
	}
}

// restarted is the one pod that fails after the upgrade; podNames Plain gives it a name that we know.
const restarted = "steady-worker-0"

const stored = `{service: {}, podNames: Plain, replicaSpecs: [{type: worker, replicas: 3, restartPolicy: {limit: 2}, template: POD}]}`

// liveHalf has jobs of every kind come into the middle of their lives. There a restart was counted, a success was recorded, or a pause
// began.
func liveHalf(c *cluster) {
	steady := c.submit("steady", stored)
	c.awaitPhase("steady", v1beta1.JobRunning)
	c.finish(steady, "worker-0", 1)
	c.await("steady", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 1 && j.Status.Running == "3/3" })
	c.finish(steady, "worker-1", 0)
	c.await("steady", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })

	paused := c.submit("paused", stored)
	c.awaitPhase("paused", v1beta1.JobRunning)
	c.finish(paused, "worker-2", 0)
	c.await("paused", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 1 })
	c.edit("paused", mode(false, true))
	c.awaitPhase("paused", v1beta1.JobPaused)

	for name, code := range map[string]int32{"done": 0, "failed": 3} {
		job := c.submit(name, "replicaSpecs: [{type: worker, template: POD}]")
		c.awaitPhase(name, v1beta1.JobRunning)
		c.finish(job, "worker-0", code)
	}
	c.awaitPhase("done", v1beta1.JobSucceeded)
	c.awaitPhase("failed", v1beta1.JobFailed)

	c.train("tensorflow", chiefAndTwo)
	c.awaitTraining("tensorflow", v1beta1.JobRunning)
	c.awaitGenericJob(c.trainTorch("torch", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]"))
	c.awaitPhase("torch", v1beta1.JobRunning)
	c.pytorch("theirs", pair)
	c.awaitState("theirs", kubeflowv1.JobRunning)
	c.awaitPhase("theirs", v1beta1.JobRunning)
}

// endOurs ends the GenericJobs as their owners would.
func endOurs(c *cluster, before map[string]v1beta1.GenericJobStatus) {
	steady := c.job("steady")
	c.finish(steady, "worker-2", 0)
	c.await("steady", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Succeeded == 2 })
	require.EqualValues(c.t, 1, c.job("steady").Status.BackoffCount, "what was counted stays")
	c.finish(steady, "worker-0", 1)
	c.finishAttempt(steady, "worker-0", "2", 0)
	done := c.awaitPhase("steady", v1beta1.JobSucceeded)
	require.EqualValues(c.t, 2, done.Status.BackoffCount)
	require.Zero(c.t, done.Status.DisruptionCount)

	require.Equal(c.t, v1beta1.JobPaused, c.job("paused").Status.Phase)
	paused := c.job("paused")
	c.edit("paused", mode(false, false))
	c.finish(paused, "worker-0", 0)
	c.finish(paused, "worker-1", 0)
	paused = c.awaitPhase("paused", v1beta1.JobSucceeded)
	require.Zero(c.t, paused.Status.BackoffCount+paused.Status.DisruptionCount)
	c.be(func(k *kubelet) {
		require.Empty(c.t, k.ran["paused-worker-2"], "a replica whose success was seen is not run again")
	})

	for _, name := range []string{"done", "failed"} {
		require.Equal(c.t, before[name], c.job(name).Status, "%s is over", name)
	}
}

// endTrainings ends the jobs of the other kinds.
func endTrainings(c *cluster) {
	tensorflow := c.job("tensorflow")
	for _, replica := range slices.Sorted(maps.Keys(c.pods(tensorflow))) {
		c.finish(tensorflow, replica, 0)
	}
	c.awaitTraining("tensorflow", v1beta1.JobSucceeded)
	for _, name := range []string{"torch", "theirs"} {
		job := c.job(name)
		for _, replica := range slices.Backward(slices.Sorted(maps.Keys(c.pods(job)))) { // the master last: it ends the job
			c.finish(job, replica, 0)
		}
		require.Zero(c.t, c.awaitPhase(name, v1beta1.JobSucceeded).Status.BackoffCount)
	}
	c.awaitState("theirs", kubeflowv1.JobSucceeded)
}

// podUIDs are those of all pods, by name.
func (c *cluster) podUIDs() map[string]types.UID {
	c.t.Helper()
	list := &corev1.PodList{}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(c.ns)))
	uids := map[string]types.UID{}
	for _, pod := range list.Items {
		uids[pod.Name] = pod.UID
	}
	return uids
}

// keep writes the folder of a version, in place of the last version's.
func keep(t *testing.T, version string) {
	t.Helper()
	for _, old := range []string{"testdata/v*", filepath.Join("testdata", version)} {
		folders, err := filepath.Glob(old)
		require.NoError(t, err)
		for _, folder := range folders {
			require.NoError(t, os.RemoveAll(folder))
		}
	}
	folder := filepath.Join("testdata", version)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	storeJobs(t, folder, metav1.ObjectMeta{Name: "stored"})
}

// storeJobs writes into a folder what this checkout's operator stores in a namespace, and its CRDs.
func storeJobs(t *testing.T, folder string, namespace metav1.ObjectMeta) {
	t.Helper()
	keepCRDs(t, "..", folder)
	c := clusterOf(t, apiserver, operator, namespace)
	stop := c.operate(operation{})
	liveHalf(c)
	stop()
	writeStored(c, folder)
}
