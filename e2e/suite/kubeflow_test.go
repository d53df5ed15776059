package suite_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The manifests are in Kubeflow's form; the images and the volume are those of these tests.
const (
	kubeflowTF = `
apiVersion: kubeflow.org/v1
kind: TFJob
metadata: {name: mirrored}
spec:
  runPolicy: {cleanPodPolicy: None}
  tfReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: tensorflow
              image: localhost/genericjob-tensorflow:dev
              imagePullPolicy: Never
              command: [python, /examples/multiworker.py, --epochs=4]
`
	kubeflowPyTorch = `
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: elastic}
spec:
  nprocPerNode: "1" # by default a process for each core
  elasticPolicy: {rdzvBackend: c10d, minReplicas: 1, maxReplicas: 3, maxRestarts: 20}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          containers:
            - name: pytorch
              image: localhost/genericjob-pytorch:dev
              imagePullPolicy: Never
              command: [torchrun, /examples/elastic.py, --epochs=6, --delay=1]
              env: [{name: CHECKPOINT_DIR, value: /data}, {name: OMP_NUM_THREADS, value: "1"}]
              volumeMounts: [{name: data, mountPath: /data}]
          volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`
)

// TestKubeflow has the operator serve Kubeflow's kinds, and takes them away again at the end. It disturbs every job of the
// cluster, so it runs alone.
func TestKubeflow(t *testing.T) {
	loadFramework(t, "tensorflow")
	loadFramework(t, "pytorch")
	loadFramework(t, "xgboost-jax")
	loadFramework(t, "mpi")
	loadFramework(t, "mpi-plain")
	loadFramework(t, "paddle")
	newSpace(t).serveKubeflow()
	t.Run("other kinds", func(t *testing.T) { otherKubeflowKinds(newSpace(t)) })
	t.Run("lines come at once", func(t *testing.T) { linesComeAtOnce(newSpace(t)) })
	t.Run("MPI on a plain image", func(t *testing.T) { mpiOnAPlainImage(newSpace(t)) })
	t.Run("manifests", func(t *testing.T) { kubeflowManifests(newTrainingSpace(t)) })
	t.Run("the SDK", func(t *testing.T) { kubeflowSDK(newSpace(t)) })
}

func kubeflowManifests(s *space) {
	t := s.t
	text, err := s.apply(kubeflowTF)
	require.NoError(t, err, text)
	s.succeeds("tfjob/mirrored")
	job := s.job("mirrored")
	require.Contains(t, s.podLog("mirrored-worker-1"), "cluster workers=2 task=worker:1 replicas_in_sync=2")
	s.requireLearned(s.podLog("mirrored-worker-0"))
	require.Equal(t, v1beta1.JobSucceeded, job.Status.Phase)
	require.Equal(t, "mirrored", s.pods(job)["worker-0"].Labels["training.kubeflow.org/job-name"])

	text, err = s.apply(kubeflowPyTorch)
	require.NoError(t, err, text)
	s.succeeds("pytorchjob/elastic")
	require.Contains(t, s.podLog("elastic-worker-0")+s.podLog("elastic-worker-1"), "world=2 ")
	for _, name := range []string{"tfjob/mirrored", "pytorchjob/elastic"} {
		text, err = s.kubectl("delete", name)
		require.NoError(t, err, text)
	}
	s.until("no pod is left", func() bool {
		list := &corev1.PodList{}
		require.NoError(t, s.List(s.ctx, list, client.InNamespace(s.ns)))
		return len(list.Items) == 0
	})
}

// serveKubeflow has the operator serve Kubeflow's kinds for the rest of the test.
func (s *space) serveKubeflow() {
	s.t.Helper()
	image := s.operator().Spec.Template.Spec.Containers[0].Image
	s.t.Cleanup(func() {
		s.ctx = context.Background() // the test's own is over
		s.run(nil, "make", "--silent", "deploy", "IMG="+image)
		const component = "deploy/kubeflow/component/"
		s.run(nil, kubectl, "delete", "--ignore-not-found", "-k", "deploy/kubeflow/crd")
		s.run(nil, kubectl, "delete", "--ignore-not-found", "-f", component+"manager_role.yaml", "-f", component+"keys_role.yaml", "-f", component+"user_roles.yaml", "-f", component+"katib_role.yaml")
	})
	s.run(nil, "bash", "-euo", "pipefail", "-c", kubectl+` kustomize deploy/kubeflow | sed -E 's|^( *image:) [^ ]+$|\1 `+image+`|' | `+
		kubectl+` apply --server-side --force-conflicts -f -`)
	s.run(nil, kubectl, "rollout", "status", "-n", operatorNamespace, "deployment/"+operatorName, "--timeout=3m")
}

// succeeds waits until a job of Kubeflow's has ended, and demands that it ended well.
func (s *space) succeeds(name string) {
	s.t.Helper()
	s.until(name+" ends", func() bool {
		text, err := s.kubectl("get", name, "-o", `jsonpath={.status.conditions[?(@.status=="True")].type}`)
		require.NoError(s.t, err, text)
		require.NotContains(s.t, text, "Failed")
		return strings.Contains(text, "Succeeded")
	})
}

func (s *space) podLog(pod string) string {
	s.t.Helper()
	text, err := s.kubectl("logs", pod)
	require.NoError(s.t, err, text)
	return text
}
