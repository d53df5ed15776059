package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// mpi makes an MPIJob of a launcher and two workers, with more in its spec, and waits until it runs.
func (c *cluster) mpi(name, spec string) {
	c.t.Helper()
	const pod = "template: {spec: {containers: [{name: any, image: busybox}]}}"
	job := &v2beta1.MPIJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte("{"+spec+"mpiReplicaSpecs: {Launcher: {restartPolicy: Never, "+pod+"}, Worker: {replicas: 2, "+pod+"}}}"), &job.Spec))
	require.NoError(c.t, c.Create(c.ctx, job))
	c.awaitMPI(name, kubeflowv1.JobRunning)
}

func (c *cluster) mpiJob(name string) *v2beta1.MPIJob {
	c.t.Helper()
	job := &v2beta1.MPIJob{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job))
	return job
}

// awaitMPI waits for the state of an MPIJob, and returns the job and what tells the state.
func (c *cluster) awaitMPI(name string, want kubeflowv1.JobConditionType) (job *v2beta1.MPIJob, last kubeflowv1.JobCondition) {
	c.t.Helper()
	c.until(name+" is "+string(want), func() bool {
		job = c.mpiJob(name)
		if n := len(job.Status.Conditions); n > 0 {
			last = job.Status.Conditions[n-1]
		}
		return last.Type == want
	})
	return job, last
}

// An elastic program goes on without a worker. Only the launcher knows whether its job does.
func TestAnMPIJobOutlivesItsWorkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.mpi("job", "runPolicy: {cleanPodPolicy: All}, ")
	made := c.job("job")
	c.finish(made, "worker-0", 1)
	c.until("the failure is told", func() bool { return c.mpiJob("job").Status.ReplicaStatuses["Worker"].Failed == 1 })
	away := c.pods(made)["worker-1"]
	c.remove(away)
	c.until("who is taken away is made anew", func() bool {
		pod, is := c.pods(made)["worker-1"]
		return is && pod.UID != away.UID && pod.Status.Phase == "Running"
	})
	job, last := c.awaitMPI("job", kubeflowv1.JobRunning)
	require.Equal(t, "MPIJobRunning", last.Reason)
	require.Equal(t, kubeflowv1.JobReplicaFailure, job.Status.Conditions[0].Type)
	require.Contains(t, job.Status.Conditions[0].Message, "job-worker-0")
	c.finish(made, "launcher-0", 0)
	job, _ = c.awaitMPI("job", kubeflowv1.JobSucceeded)
	require.Equal(t, map[string]*kubeflowv1.ReplicaStatus{"Launcher": {Succeeded: 1}, "Worker": {}}, job.Status.ReplicaStatuses)
	c.until("the launcher's log stays, as that of the worker that failed", func() bool {
		pods := c.pods(made)
		return len(pods) == 2 && pods["launcher-0"].UID != "" && pods["worker-0"].UID != ""
	})
}

// The name is the longest that the MPI operator takes. What workers do spends nothing of the launcher's limit.
func TestTheLauncherOfTheLongestNameHasItsLimitForItself(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	name := strings.Repeat("x", 54)
	c.mpi(name, "runPolicy: {backoffLimit: 1, cleanPodPolicy: Running}, ")
	made := c.job(name)
	c.finish(made, "worker-0", 1)
	c.finish(made, "worker-1", 1)
	c.finishAttempt(made, "mpirun-0", "0", 1)
	c.finishAttempt(made, "mpirun-0", "1", 1)
	job, last := c.awaitMPI(name, kubeflowv1.JobFailed)
	require.Equal(t, "BackoffLimitExceeded", last.Reason)
	require.Contains(t, last.Message, name+"-mpirun-0")
	require.Equal(t, map[string]*kubeflowv1.ReplicaStatus{"Launcher": {Failed: 1}, "Worker": {}}, job.Status.ReplicaStatuses)
}
