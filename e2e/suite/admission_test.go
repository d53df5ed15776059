package suite_test

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// policy is an admission policy for the pods of a namespace, with its binding. %[1]s is its kind, %[2]s its name, which is that of the
// namespace, and %[3]s what it does.
const policy = `
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]s
metadata: {name: %[2]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
%[3]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sBinding
metadata: {name: %[2]s}
spec: {policyName: %[2]s%[4]s}
`

// inject has admission add a container that never ends by itself to every pod of the namespace, as service meshes do. By a JSON
// patch: an apply configuration may not set lists without keys, such as args.
func (s *space) inject() {
	s.admit("MutatingAdmissionPolicy", fmt.Sprintf(`  reinvocationPolicy: Never
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: >-
          [JSONPatch{op: "add", path: "/spec/containers/-", value:
          Object.spec.containers{name: "proxy", image: %q, imagePullPolicy: "Never", args: ["obey"]}}]`, image), "", "name: proxy")
}

// forbid has admission deny every pod of the namespace.
func (s *space) forbid() {
	s.admit("ValidatingAdmissionPolicy", `  validations: [{expression: "false", message: "no pods here for now"}]`, ", validationActions: [Deny]",
		"no pods here for now")
}

// admit makes a policy and waits until pods of the namespace meet it: what kubectl says of one has these words then.
func (s *space) admit(kind, does, binding, words string) {
	s.t.Helper()
	text, err := s.apply(fmt.Sprintf(policy, kind, s.ns, does, binding))
	require.NoError(s.t, err, text)
	s.t.Cleanup(func() { s.permit(kind) })
	defer func() {
		if s.t.Failed() {
			s.t.Log("what admission last made of a pod:", text)
		}
	}()
	s.until("pods meet the "+kind, func() bool {
		text, _ = s.kubectl("run", "probe", "--image="+image, "--dry-run=server", "-o", "yaml")
		return strings.Contains(text, words)
	})
}

// permit takes a policy away.
func (s *space) permit(kind string) {
	for _, k := range []string{kind + "Binding", kind} {
		text, err := exec.Command(kubectl, "delete", k, s.ns, "--ignore-not-found").CombinedOutput()
		require.NoError(s.t, err, string(text))
	}
}

// injectedSidecarHoldsNothingUp has two ranks beside whose code an injected container runs on. Both outcomes of code are seen: 9, once,
// and 0. Then the kubelet ends what still runs, and the pods stay.
func injectedSidecarHoldsNothingUp(s *space) {
	s.inject()
	job := s.submit("meshed", `{replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {limit: 3}, template: `+
		pod("print done then fail 1 9 1 then exit 0")+`}]}`)
	s.awaitPhase("meshed", v1beta1.JobSucceeded)
	s.awaitReleased(job)
	for rank := range 2 {
		s.awaitEndOfProxy(job, rank)
	}
	done := s.job("meshed")
	require.Equal(s.t, v1beta1.JobSucceeded, done.Status.Phase, "pods that show as failed now change nothing")
	require.EqualValues(s.t, 1, done.Status.BackoffCount, "the failure of one attempt of rank 1")
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 1, 2)
}

// awaitEndOfProxy waits until the kubelet has ended the injected container of a rank whose code has exited with 0.
func (s *space) awaitEndOfProxy(job *v1beta1.GenericJob, rank int) {
	s.t.Helper()
	var ended corev1.Pod
	ends := map[string]*corev1.ContainerStateTerminated{}
	s.until(fmt.Sprintf("the proxy of worker-%d ends", rank), func() bool {
		var there bool
		ended, there = s.pods(job)[fmt.Sprintf("worker-%d", rank)]
		require.True(s.t, there, "the pod stays")
		for _, c := range ended.Status.ContainerStatuses {
			ends[c.Name] = c.State.Terminated
		}
		return ends["main"] != nil && ends["proxy"] != nil && ended.Status.Phase == corev1.PodFailed
	})
	require.Equal(s.t, "DeadlineExceeded", ended.Status.Reason, "it ran until the operator had it ended")
	require.Nil(s.t, ended.DeletionTimestamp)
	require.Zero(s.t, ends["main"].ExitCode)
	text, err := s.kubectl("logs", ended.Name, "-c", "main")
	require.NoError(s.t, err, text)
	require.Contains(s.t, text, "done", "its logs stay")
}

func policyThatComesLaterFailsNobody(s *space) {
	job := s.submit("denied", `{replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {limit: 3}, template: `+pod("print up then obey")+`}]}`)
	s.awaitRunning("denied", "2/2")
	s.awaitLog(job, "worker", 1, "up")
	s.forbid()
	s.end(job, "worker", 1, 9)
	require.Contains(s.t, s.awaitBlocked("denied", v1beta1.ReasonCreateFailed), "no pods here for now")
	s.permit("ValidatingAdmissionPolicy")
	s.awaitRunning("denied", "2/2")
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase("denied", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	s.requireRuns(job, "worker", 1, 2)
}
