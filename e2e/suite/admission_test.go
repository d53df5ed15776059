package suite_test

import (
	"fmt"
	"os/exec"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// policy is an admission policy for the pods of a namespace, with its binding: %[1]s is its kind, %[2]s its name, which is that of
// the namespace, and %[3]s what it does.
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

// forbid has admission deny every pod of the namespace.
func (s *space) forbid() {
	s.admit("ValidatingAdmissionPolicy", `  validations: [{expression: "false", message: "no pods here for now"}]`, ", validationActions: [Deny]",
		func(_ string, err error) bool { return err != nil })
}

// admit makes a policy and waits until pods of the namespace meet it.
func (s *space) admit(kind, does, binding string, met func(string, error) bool) {
	s.t.Helper()
	text, err := s.apply(fmt.Sprintf(policy, kind, s.ns, does, binding))
	require.NoError(s.t, err, text)
	s.t.Cleanup(func() { s.permit(kind) })
	s.until("pods meet the "+kind, func() bool {
		return met(s.kubectl("run", "probe", "--image="+image, "--dry-run=server", "-o", "yaml"))
	})
}

// permit takes a policy away.
func (s *space) permit(kind string) {
	for _, k := range []string{kind + "Binding", kind} {
		text, err := exec.Command(kubectl, "delete", k, s.ns, "--ignore-not-found").CombinedOutput()
		require.NoError(s.t, err, string(text))
	}
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
