package suite_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

const (
	jobSetImage = "localhost/jobset:dev"
	// agentImage holds JobSet's agent beside the worker: its other mode wants both in one container.
	agentImage = "localhost/genericjob-e2e-agent:dev"
	// agentExits is the exit code by which the agent has its pod restarted.
	agentExits = 88
)

// jobSetSidecar and jobSetMain are JobSet's restart in place, whose agent stands beside the code, or runs it.
var (
	jobSetSidecar = jobSet("JobSet with its agent as sidecar", besideAgent)
	jobSetMain    = jobSet("JobSet with its agent around the code", underAgent)
)

func jobSet(name string, withAgent func(*corev1.PodSpec)) entrant {
	return entrant{
		name: name, rankLabel: "batch.kubernetes.io/job-completion-index",
		submit: func(s *space, w workload) {
			template := w.pod("job-w-0-0.job")
			template.ServiceAccountName = "agent"
			template.RestartPolicy = corev1.RestartPolicyNever
			c := &template.Containers[0]
			c.Env = append(c.Env, corev1.EnvVar{Name: "RANK", ValueFrom: fieldRef("metadata.annotations['batch.kubernetes.io/job-completion-index']")})
			withAgent(&template)
			text, err := json.Marshal(template)
			require.NoError(s.t, err)
			file := filepath.Join(s.t.TempDir(), "jobset.yaml")
			require.NoError(s.t, os.WriteFile(file, fmt.Appendf(nil, jobSetManifest, w.ranks, w.ranks, text), 0o600))
			s.until("the JobSet is taken", func() bool { // its webhooks may need a moment
				text, err := s.kubectl("apply", "--filename", file)
				s.t.Log(text)
				return err == nil
			})
		},
		restarts: func(*space) string { return "-" },
	}
}

// jobSetManifest is a JobSet whose pods are restarted in place, with what its agents may do.
const jobSetManifest = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: agent}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: agent}
rules:
- {apiGroups: [""], resources: [pods], verbs: [patch]}
- {apiGroups: [jobset.x-k8s.io], resources: [jobsets], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: agent}
subjects: [{kind: ServiceAccount, name: agent}]
roleRef: {kind: Role, name: agent, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: job}
spec:
  failurePolicy: {maxRestarts: 100, restartStrategy: InPlaceRestart}
  replicatedJobs:
  - name: w
    replicas: 1
    template:
      spec:
        completions: %d
        parallelism: %d
        backoffLimit: 2147483647
        podReplacementPolicy: Failed
        template: {spec: %s}
`

func fieldRef(field string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: field}}
}

// agentEnv is what the agent wants to know.
func agentEnv() []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "JOBSET_NAME", ValueFrom: fieldRef("metadata.annotations['jobset.sigs.k8s.io/jobset-name']")},
		{Name: "POD_NAME", ValueFrom: fieldRef("metadata.name")},
		{Name: "IN_PLACE_RESTART_EXIT_CODE", Value: fmt.Sprint(agentExits)},
	}
}

func rule(action corev1.ContainerRestartRuleAction, op corev1.ContainerRestartRuleOnExitCodesOperator, code int32) []corev1.ContainerRestartRule {
	return []corev1.ContainerRestartRule{{
		Action: action, ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: op, Values: []int32{code}},
	}}
}

// besideAgent has the agent hold up the code's container by its startup probe, and all containers of the pod restart with either.
func besideAgent(pod *corev1.PodSpec) {
	const all = corev1.ContainerRestartRuleActionRestartAllContainers
	pod.InitContainers = append(pod.InitContainers, corev1.Container{
		Name: "agent", Image: agentImage, ImagePullPolicy: corev1.PullNever, Command: []string{"/agent"}, Env: agentEnv(),
		RestartPolicy:      ptr.To(corev1.ContainerRestartPolicyAlways),
		RestartPolicyRules: rule(all, corev1.ContainerRestartRuleOnExitCodesOpIn, agentExits),
		StartupProbe: &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/barrier-is-down", Port: intstr.FromInt32(8081)}},
			PeriodSeconds: 1, FailureThreshold: 10000,
		},
	})
	c := &pod.Containers[0]
	c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	c.RestartPolicyRules = rule(all, corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0)
}

// underAgent has the agent run the worker, by way of a shell, which the worker can be taken for.
func underAgent(pod *corev1.PodSpec) {
	c := &pod.Containers[0]
	c.Env = append(c.Env, append(agentEnv(),
		corev1.EnvVar{Name: "SHELL", Value: "/worker"}, corev1.EnvVar{Name: "WORKER_COMMAND", Value: strings.Join(c.Command[1:], " ")})...)
	c.Image, c.Command = agentImage, []string{"/agent"}
	c.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	c.RestartPolicyRules = rule(corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleOnExitCodesOpNotIn, 0)
}

// startJobSet installs JobSet by its own manifests for the rest of the test, with restarts in place switched on.
func startJobSet(t *testing.T) {
	t.Helper()
	folder := t.TempDir()
	agent, tar := strings.TrimSpace(goRun(t, "path", "in-place-restart-agent")), filepath.Join(folder, "agent.tar")
	goRun(t, "image", "-ref", agentImage, "-out", tar, "-add", agent+":/agent", strings.TrimSuffix(archive, ".tar"))
	controller := filepath.Join(folder, "jobset.tar")
	goRun(t, "image", "-ref", jobSetImage, "-out", controller, "-entrypoint", "/manager", strings.TrimSpace(goRun(t, "path", "jobset")))
	goRun(t, "load", tar, controller)
	text := string(kubectlOf(t, "kustomize", filepath.Join(moduleOf(t, "jobset", "sigs.k8s.io/jobset"), "config", "default")))
	for theirs, wanted := range map[string]string{
		"us-central1-docker.pkg.dev/k8s-staging-images/jobset/jobset:v0.12.0": jobSetImage,
		"    internalCertManagement:\n":                                       "    featureGates: {InPlaceRestart: true}\n    internalCertManagement:\n",
	} {
		require.Equal(t, 1, strings.Count(text, theirs), theirs)
		text = strings.Replace(text, theirs, wanted, 1)
	}
	file := filepath.Join(folder, "jobset.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	t.Cleanup(func() {
		text, err := exec.Command(kubectl, "delete", "--ignore-not-found", "--timeout=3m", "--filename", file).CombinedOutput()
		require.NoError(t, err, string(text))
	})
	kubectlOf(t, "apply", "--server-side", "--filename", file)
	kubectlOf(t, "rollout", "status", "--namespace", "jobset-system", "deployment/jobset-controller-manager", "--timeout=3m")
}
