package suite_test

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// The manifests of the other kinds are in Kubeflow's form, too; the images are those of these tests.
const (
	kubeflowXGBoost = `
apiVersion: kubeflow.org/v1
kind: XGBoostJob
metadata: {name: boost}
spec:
  runPolicy: {cleanPodPolicy: None}
  xgbReplicaSpecs:
    Master: {replicas: 1, restartPolicy: Never, template: &pod {spec: {containers: [
      {name: xgboost, image: "localhost/genericjob-xgboost-jax:dev", command: [python3, /examples/boost.py]}]}}}
    Worker: {replicas: 2, restartPolicy: ExitCode, template: *pod}
`
	kubeflowJAX = `
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: spmd}
spec:
  jaxReplicaSpecs:
    Worker: {replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [
      {name: jax, image: "localhost/genericjob-xgboost-jax:dev", command: [python3, /examples/collective.py]}]}}}
`
	kubeflowPaddle = `
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: paddle}
spec:
  paddleReplicaSpecs:
    Worker: {replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [
      {name: paddle, image: "localhost/genericjob-paddle:dev",
       command: [python, -m, paddle.distributed.launch, --log_dir, /tmp/log, /examples/allreduce.py]}]}}}
`
	kubeflowMPI = `
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: pi}
spec:
  slotsPerWorker: 2
  runPolicy: {cleanPodPolicy: Running}
  sshAuthMountPath: /home/nonroot/.ssh
  mpiReplicaSpecs:
    Launcher: {replicas: 1, template: {spec: {containers: [
      {name: launcher, image: "localhost/genericjob-mpi:dev", command: [mpirun, --bind-to, none, -n, "4", python3, /examples/pi.py]}]}}}
    Worker: {replicas: 2, template: {spec: {containers: [
      {name: worker, image: "localhost/genericjob-mpi:dev", command: [/usr/sbin/sshd, -De, -f, /home/nonroot/.sshd_config]}]}}}
`
)

// kubeflowSucceeds applies a job of Kubeflow's and waits until it has succeeded.
func (s *space) kubeflowSucceeds(name, manifest string) {
	s.t.Helper()
	began := time.Now()
	text, err := s.apply(manifest)
	require.NoError(s.t, err, text)
	s.succeeds(name)
	s.t.Logf("%s succeeded after %v", name, time.Since(began).Round(time.Millisecond))
}

// linesComeAtOnce has programs print a line without flushing it, and go on: a line that came late would be lost when they are killed.
func linesComeAtOnce(s *space) {
	for _, each := range []struct{ kind, field, replicas, container string }{
		{"PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch"}, {"XGBoostJob", "xgbReplicaSpecs", "Master", "xgboost"}, {"PaddleJob", "paddleReplicaSpecs", "Worker", "paddle"},
	} {
		name := each.container + "-prints"
		text, err := s.apply(fmt.Sprintf("apiVersion: kubeflow.org/v1\nkind: %s\nmetadata: {name: %s}\nspec: {%s: {%s: {replicas: 1, template: {spec: {containers: ["+
			`{name: %s, image: "localhost/genericjob-xgboost-jax:dev", command: [python3, -c, "print('begun'); import time; time.sleep(3600)"]}]}}}}}`,
			each.kind, name, each.field, each.replicas, each.container))
		require.NoError(s.t, err, text)
		s.until("the line of "+name, func() bool {
			log, err := s.kubectl("logs", name+"-"+strings.ToLower(each.replicas)+"-0") // it fails before the container runs
			return err == nil && strings.Contains(log, "begun")
		})
		text, err = s.kubectl("delete", each.kind, name)
		require.NoError(s.t, err, text)
	}
}

func otherKubeflowKinds(s *space) {
	t := s.t
	s.kubeflowSucceeds("xgboostjob/boost", kubeflowXGBoost)
	models := map[string]bool{}
	for _, pod := range []string{"boost-master-0", "boost-worker-0", "boost-worker-1"} {
		found := regexp.MustCompile(`worker \d of 3: right=(0\.99\d|1\.000) model=(\d+)`).FindStringSubmatch(s.podLog(pod))
		require.NotNil(t, found, s.podLog(pod))
		models[found[2]] = true
	}
	require.Len(t, models, 1, "all have the same model")
	s.until("the workers of boost are counted", func() bool {
		text, err := s.kubectl("get", "xgboostjob/boost", "-o", "jsonpath={.status.replicaStatuses.Worker.succeeded} {.status.conditions[-1:].reason}")
		require.NoError(t, err, text)
		return text == "2 XGBoostJobSucceeded"
	})

	s.kubeflowSucceeds("jaxjob/spmd", kubeflowJAX)
	require.Contains(t, s.podLog("spmd-worker-0"), "process 0 of 2: devices=2 sum=1")
	require.Contains(t, s.podLog("spmd-worker-1"), "process 1 of 2: devices=2 sum=1")

	s.kubeflowSucceeds("paddlejob/paddle", kubeflowPaddle)
	require.Regexp(t, `rank \d of 2: sum=1`, s.podLog("paddle-worker-0"))
	require.Regexp(t, `rank \d of 2: sum=1`, s.podLog("paddle-worker-1"))

	s.kubeflowSucceeds("mpijob/pi", kubeflowMPI)
	log := s.podLog("pi-launcher-0")
	for _, words := range []string{"process 0 of 4 on pi-worker-0", "process 3 of 4 on pi-worker-1", "pi=3.141593"} {
		require.Contains(t, log, words)
	}
	s.awaitNoPods("pi", "worker")
}
