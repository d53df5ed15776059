package kubeflow_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

func TestNoWorkerIsCountedAfterCleanUp(t *testing.T) {
	for _, tc := range []struct {
		policy string
		phase  v1beta1.JobPhase
		worker kubeflowv1.ReplicaStatus
	}{
		{"Running", v1beta1.JobSucceeded, kubeflowv1.ReplicaStatus{}},
		{"All", v1beta1.JobSucceeded, kubeflowv1.ReplicaStatus{}},
		{"Running", v1beta1.JobFailed, kubeflowv1.ReplicaStatus{}},
		{"None", v1beta1.JobSucceeded, kubeflowv1.ReplicaStatus{Active: 1, Failed: 1}},
	} {
		job := mpiJob(t, "runPolicy: {cleanPodPolicy: "+tc.policy+"}, ", "", "")
		replicas := []state{task("launcher", v1beta1.ReplicaRunning), task("worker", v1beta1.ReplicaRunning, v1beta1.ReplicaFailed)}
		kubeflow.MPIJobs.Mirror(job, status(8, replicas...))
		require.Equal(t, &kubeflowv1.ReplicaStatus{Active: 1, Failed: 1}, job.Status.ReplicaStatuses["Worker"])
		replicas[0] = task("launcher", v1beta1.ReplicaPhase(tc.phase))
		for range 2 { // and it stays so
			kubeflow.MPIJobs.Mirror(job, status(9, append(replicas, finished(tc.phase, 9))...))
			require.Equal(t, &tc.worker, job.Status.ReplicaStatuses["Worker"], tc)
			require.EqualValues(t, 1, job.Status.ReplicaStatuses["Launcher"].Succeeded+job.Status.ReplicaStatuses["Launcher"].Failed)
		}
	}
}

func TestAJobSaysWhichSecretItsPodsWaitFor(t *testing.T) {
	job := mpiJob(t, "", "", "")
	show := func(s v1beta1.GenericJobStatus) string {
		kubeflow.MPIJobs.Mirror(job, s)
		return job.Status.Conditions[len(job.Status.Conditions)-1].Message
	}
	told := show(status(1))
	require.Equal(t, "MPIJob pi is created. Its pods start when namespace ns has the Secret mpi-ssh, by which its jobs log in to their workers. "+
		"If it is missing, make it: ssh-keygen -q -t ed25519 -N '' -C mpi -f key && kubectl -n ns create secret generic mpi-ssh "+
		"--from-file=ssh-privatekey=key --from-file=ssh-publickey=key.pub && rm key key.pub", told)
	_, commands, _ := strings.Cut(strings.Replace(told, " -n ns ", " ", 1), "make it: ")
	document, err := os.ReadFile("../../deploy/kubeflow/README.md")
	require.NoError(t, err)
	require.Contains(t, string(document), "    "+strings.ReplaceAll(commands, " && ", "\n    ")+"\n")

	require.Equal(t, told, show(status(2, task("launcher", v1beta1.ReplicaPending), task("worker", v1beta1.ReplicaPending, v1beta1.ReplicaPending))))
	require.Equal(t, "MPIJob pi is created.", show(status(3, task("launcher", v1beta1.ReplicaPending), task("worker", v1beta1.ReplicaRunning, v1beta1.ReplicaPending))))
	require.NotContains(t, show(status(4, is(v1beta1.ConditionPaused, metav1.ConditionTrue, "Paused", "", 4))), "mpi-ssh")
	tf := tfjob(map[string]int32{"Worker": 1})
	kubeflow.TFJobs.Mirror(tf, status(1))
	require.Equal(t, "TFJob job is created.", tf.Status.Conditions[0].Message)
}

func TestAnMPIJobThatHasRunGoesOnRunningWithoutAWorker(t *testing.T) {
	job := mpiJob(t, "", "", "")
	show := func(second v1beta1.ReplicaPhase) string {
		kubeflow.MPIJobs.Mirror(job, status(9, task("launcher", v1beta1.ReplicaRunning), task("worker", v1beta1.ReplicaRunning, second)))
		return job.Status.Conditions[len(job.Status.Conditions)-1].Reason
	}
	require.Equal(t, "MPIJobCreated", show(v1beta1.ReplicaPending))
	require.Equal(t, "MPIJobRunning", show(v1beta1.ReplicaSucceeded))
	require.Equal(t, "MPIJobRunning", show(v1beta1.ReplicaPending))
}

func TestTheReasonOfAnMPIJobsFailure(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		failed string
		want   string
	}{
		"the launcher":  {v1beta1.ReasonFailed, "launcher", "BackoffLimitExceeded"},
		"a worker, too": {v1beta1.ReasonFailed, "worker", "BackoffLimitExceeded"},
		"no rule holds": {v1beta1.ReasonSuccessUnreachable, "launcher", "BackoffLimitExceeded"},
		"the deadline":  {v1beta1.ReasonDeadlineExceeded, "", "DeadlineExceeded"},
		"the spec":      {v1beta1.ReasonInvalidSpec, "", "InvalidSpec"},
	} {
		job := mpiJob(t, "", "", "")
		s := status(9, task("launcher", v1beta1.ReplicaFailed))
		s.Phase, s.CompletionTime = v1beta1.JobFailed, ptr.To(at(9))
		s.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionFailed, Status: metav1.ConditionTrue, Reason: tc.reason, Message: "because"}}
		if tc.failed != "" {
			s.Ledger = []v1beta1.TaskLedger{{Type: tc.failed, Failed: "0"}}
		}
		kubeflow.MPIJobs.Mirror(job, s)
		last := job.Status.Conditions[len(job.Status.Conditions)-1]
		require.Equal(t, kubeflowv1.JobFailed, last.Type)
		require.Equal(t, tc.want, last.Reason, name)
		require.Equal(t, "MPIJob pi has failed: because", last.Message)
	}
}
