package suite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestTenant gives namespaces what deploy/tenant has for a team, and has somebody of the team run jobs there. The last test adds a node, and drains
// it.
func TestTenant(t *testing.T) {
	withPolicies(t)
	for _, tc := range []struct {
		name string
		test func(*space)
	}{
		{"a job restarts in place", tenantRestartsInPlace},
		{"a job gets new pods", tenantGetsNewPods},
		{"policies refuse jobs with a reason", tenantIsRefused},
		{"which budgets work", budgetsThatWork},
		{"a ResourceClaimTemplate that is not there is told", missingClaimIsTold},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.test(newTenant(t))
		})
	}
}

// TestTenantDrained needs the local cluster, and leaves it with its one node.
func TestTenantDrained(t *testing.T) {
	withPolicies(t)
	addNode(t)
	keptFromDrains(newTenant(t))
}

// withPolicies has the cluster hold teams to the kit's policies until the test ends.
func withPolicies(t *testing.T) {
	t.Helper()
	folder := filepath.Join(root, "deploy", "tenant", "cluster")
	t.Cleanup(func() { _ = exec.Command(kubectl, "delete", "--ignore-not-found", "-k", folder).Run() })
	text, err := exec.CommandContext(t.Context(), kubectl, "apply", "-k", folder).CombinedOutput()
	require.NoError(t, err, string(text))
}

// newTenant is a namespace with the whole kit in it.
func newTenant(t *testing.T) *space {
	t.Helper()
	s := newSpace(t)
	s.until("the namespace has its ServiceAccount", func() bool {
		return s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "default"}, &corev1.ServiceAccount{}) == nil
	})
	folder := t.TempDir()
	kit, err := filepath.Rel(folder, filepath.Join(root, "deploy/tenant/namespace"))
	require.NoError(t, err)
	own := fmt.Sprintf("{namespace: %s, resources: [%s]}", s.ns, kit)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(own), 0o600))
	s.run(nil, kubectl, "apply", "-k", folder)
	s.until("the quota is counted", func() bool {
		quota := &corev1.ResourceQuota{}
		require.NoError(t, s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "training"}, quota))
		return len(quota.Status.Used) == len(quota.Spec.Hard)
	})
	return s
}

// asTeam runs kubectl as somebody of the team.
func (s *space) asTeam(args ...string) (string, error) {
	return s.kubectl(append([]string{"--as=anna", "--as-group=team", "--as-group=system:authenticated"}, args...)...)
}

// submitAsTeam has somebody of the team apply a job.
func (s *space) submitAsTeam(kind, name, spec string) *v1beta1.GenericJob {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "job.yaml")
	text := fmt.Sprintf("apiVersion: batch.tensorstack.dev/v1beta1\nkind: %s\nmetadata: {name: %s}\nspec: %s\n", kind, name, spec)
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
	out, err := s.asTeam("apply", "-f", file)
	require.NoError(s.t, err, out)
	job := &v1beta1.GenericJob{}
	s.until("the GenericJob "+name, func() bool {
		return s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, job) == nil
	})
	return job
}

// asRestricted makes of a template one that Pod Security restricted admits, with more metadata. It asks for no resources.
func asRestricted(template, metadata string) string {
	return strings.NewReplacer(
		`{"spec": {`, `{"metadata": {`+metadata+`}, "spec": {"securityContext": {"runAsNonRoot": true, "runAsUser": 1234, "seccompProfile": {"type": "RuntimeDefault"}}, `,
		`"name": "main",`, `"name": "main", "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}},`,
	).Replace(template)
}

func tenantRestartsInPlace(s *space) {
	job := s.submitAsTeam("GenericJob", "together", `{restartScope: Job, restartStrategy: InPlace, backoffLimit: 3, replicaSpecs: [
		{type: worker, replicas: 2, restartPolicy: {policy: OnFailure}, template: `+asRestricted(inPlace("print jobAttempt $(jobAttempt) then obey"), "")+`}]}`)
	s.awaitRunning("together", "2/2")
	for rank := range 2 {
		s.awaitLog(job, "worker", rank, "jobAttempt 0")
	}
	for name, pod := range s.pods(job) {
		require.Equal(s.t, "genericjob-wrapper", pod.Spec.InitContainers[0].Name, name)
		for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			require.Equal(s.t, "100m", c.Resources.Requests.Cpu().String(), "%s: %s", name, c.Name)
			require.Empty(s.t, c.Resources.Limits, "%s: %s", name, c.Name)
		}
		for _, v := range pod.Spec.Volumes {
			require.Nil(s.t, v.Projected, "%s: a token for the API", name)
		}
	}
	s.until("the quota counts the job, and no init container beside the code", func() bool {
		quota := &corev1.ResourceQuota{}
		require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "training"}, quota))
		used := quota.Status.Used
		jobs, pods, cpu := used["count/genericjobs.batch.tensorstack.dev"], used["count/pods"], used["requests.cpu"]
		return jobs.Value() == 1 && pods.Value() == 2 && cpu.MilliValue() == 200
	})
	before := s.identities(job)
	s.end(job, "worker", 1, 3)
	for rank := range 2 {
		s.awaitLog(job, "worker", rank, "jobAttempt 1")
	}
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	require.EqualValues(s.t, 1, s.awaitPhase("together", v1beta1.JobSucceeded).Status.BackoffCount)
}

func tenantGetsNewPods(s *space) {
	template := asRestricted(pod("print up $(jobAttempt) then obey"), `"labels": {"part-of": "night"}, "annotations":
		{"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}`)
	job := s.submitAsTeam("PyTorchTrainingJob", "anew", `{runPolicy: {backoffLimit: 3}, replicaSpecs: [
		{type: worker, replicas: 2, restartPolicy: OnFailure, template: `+template+`}]}`)
	s.awaitRunning("anew", "2/2")
	s.awaitLog(job, "worker", 0, "up")
	s.awaitLog(job, "worker", 1, "up")
	s.end(job, "worker", 1, 3)
	s.await("anew", "both have new pods", func(j *v1beta1.GenericJob) bool { return j.Status.JobAttempt == 1 && j.Status.Running == "2/2" })
	for name, pod := range s.pods(job) {
		require.Equal(s.t, "night", pod.Labels["part-of"], name)
		require.Equal(s.t, "true", pod.Annotations["karpenter.sh/do-not-disrupt"], name)
		require.Equal(s.t, "false", pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"], name)
	}
	out, err := s.asTeam("exec", s.pods(job)["worker-0"].Name, "--", "/worker", "print", "looked around")
	require.NoError(s.t, err, out)
	require.Contains(s.t, out, "looked around")
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	s.awaitPhase("anew", v1beta1.JobSucceeded)
	s.requireRuns(job, "worker", 2, 2)
}

func tenantIsRefused(s *space) {
	refused := func(spec, words string) {
		s.t.Helper()
		file := filepath.Join(s.t.TempDir(), "job.yaml")
		text := "{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, metadata: {name: refused}, spec: " + spec + "}"
		require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
		var out string
		s.until("a job is refused with "+words, func() bool {
			var err error
			out, err = s.asTeam("create", "--dry-run=server", "-f", file)
			return err != nil && strings.Contains(out, words)
		})
	}
	onHost := strings.Replace(pod("exit 0"), `{"spec": {`, `{"spec": {"hostNetwork": true, `, 1)
	refused(`{replicaSpecs: [{type: worker, template: `+onHost+`}]}`, "spec.replicaSpecs of type worker: hostNetwork, hostPID and hostIPC are not allowed")
	refused(`{replicaSpecs: [{type: worker, replicas: 65, template: `+pod("exit 0")+`}]}`, "the job has 65 replicas over all types")
	refused(`{avoidNodes: {}, replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`, "spec.avoidNodes: anna may not set or change it")
	// Pod Security has the last word: a pod that no policy of the kit refuses.
	s.submitAsTeam("GenericJob", "asroot", `{replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	require.Contains(s.t, s.awaitBlocked("asroot", v1beta1.ReasonCreateFailed), `violates PodSecurity "restricted:latest"`)
}

// budgetRows finds the forms of a budget in the kit's README, and what each of two columns says of it.
var budgetRows = regexp.MustCompile("(?m)^\\| `(m[a-zA-Z]+: [0-9]+%?)` \\| ([^|]+) \\| ([^|]+) \\|$")

// budgetsThatWork tries each form of a budget with a job that has spec.replicas, and so a scale, and with jobs that have none. The README says what
// becomes of it.
func budgetsThatWork(s *space) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "tenant", "README.md"))
	require.NoError(s.t, err)
	rows := budgetRows.FindAllStringSubmatch(string(raw), -1)
	require.Len(s.t, rows, 5)
	worker := `replicaSpecs: [{type: worker, replicas: 2, template: ` + asRestricted(pod("obey"), "") + `}]}`
	s.submitAsTeam("GenericJob", "scaled", `{replicas: 2, `+worker)
	s.submitAsTeam("GenericJob", "plain", `{`+worker)
	s.submitAsTeam("PyTorchTrainingJob", "training", `{`+worker)
	for column, jobs := range [][]string{{"scaled"}, {"plain", "training"}} {
		for _, job := range jobs {
			s.awaitRunning(job, "2/2")
			for i, row := range rows {
				s.hasBudget(fmt.Sprintf("%s-%d", job, i), job, row[1], row[2+column])
			}
		}
	}
}

// hasBudget gives a job a budget, and waits until its status is what the README says.
func (s *space) hasBudget(name, job, form, says string) {
	s.t.Helper()
	out, err := s.apply(fmt.Sprintf("{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: %s}, spec: {%s, selector: {matchLabels: {%s: %s}}}}",
		name, form, v1beta1.LabelJobName, job))
	require.NoError(s.t, err, out)
	allowed, reason := int32(0), policyv1.InsufficientPodsReason
	switch {
	case strings.HasPrefix(says, "one may"):
		allowed, reason = 1, policyv1.SufficientPodsReason
	case strings.HasSuffix(says, "`SyncFailed`"):
		reason = policyv1.SyncFailedReason
	}
	s.until(fmt.Sprintf("%s of job %s: %s", form, job, says), func() bool {
		budget := &policyv1.PodDisruptionBudget{}
		require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, budget))
		for _, c := range budget.Status.Conditions {
			if c.Type == policyv1.DisruptionAllowedCondition {
				return c.Reason == reason && budget.Status.DisruptionsAllowed == allowed
			}
		}
		return false
	})
}

func missingClaimIsTold(s *space) {
	class := "gpu." + s.ns + ".example"
	s.t.Cleanup(func() { _ = exec.Command(kubectl, "delete", "deviceclass", class, "--ignore-not-found").Run() })
	template := strings.Replace(asRestricted(pod("exit 0"), ""), `"spec": {`, `"spec": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}], `, 1)
	template = strings.Replace(template, `"name": "main",`, `"name": "main", "resources": {"claims": [{"name": "gpu"}]},`, 1)
	s.submitAsTeam("GenericJob", "claims", `{replicaSpecs: [{type: worker, template: `+template+`}]}`)
	told := func(words string) {
		s.t.Helper()
		s.await("claims", "says "+words, func(j *v1beta1.GenericJob) bool {
			return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, words)
		})
	}
	told(`Waiting for replica worker-0: the scheduler has not looked at its pod, which it does once a ResourceClaim of the ResourceClaimTemplate "one-gpu" is there; check that the namespace of the job has this template`)
	s.until("an event of the pod says that there is no such template", func() bool {
		out, err := s.asTeam("get", "events", "--field-selector", "reason=FailedResourceClaimCreation")
		return err == nil && strings.Contains(out, `"one-gpu" not found`)
	})
	out, err := s.apply(fmt.Sprintf(`
{apiVersion: resource.k8s.io/v1, kind: DeviceClass, metadata: {name: %[1]s}, spec: {selectors: [{cel: {expression: "device.driver == '%[1]s'"}}]}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: one-gpu}, spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %[1]s}}]}}}}
`, class))
	require.NoError(s.t, err, out)
	told("cannot allocate all claims")
	told("no node has the devices of its ResourceClaims free")
}

// keptFromDrains drains a node on which there are a job that waits for no drain, and one that does.
func keptFromDrains(s *space) {
	s.t.Cleanup(func() { _ = exec.Command(kubectl, "uncordon", second).Run() })
	worker := func(template, metadata string) string {
		return `replicaSpecs: [{type: worker, template: ` + asRestricted(template, metadata) + `}]}`
	}
	inPlaceThere := strings.Replace(there(true, "print up then obey"), `"args"`, `"command": ["/worker"], "args"`, 1)
	kept := s.submitAsTeam("GenericJob", "kept", `{restartStrategy: InPlace, `+worker(inPlaceThere, `"labels": {"keep-from-drains": "true"}`))
	free := s.submitAsTeam("GenericJob", "free", `{`+worker(there(false, "print up then obey 0"), ""))
	for _, job := range []*v1beta1.GenericJob{kept, free} {
		s.awaitRunning(job.Name, "1/1")
		s.awaitLog(job, "worker", 0, "up")
		require.Equal(s.t, second, s.pods(job)["worker-0"].Spec.NodeName)
	}
	s.until("the budget sees the pod", func() bool {
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "keep-from-drains"}}
		require.NoError(s.t, s.Get(s.ctx, client.ObjectKeyFromObject(budget), budget))
		return budget.Status.CurrentHealthy == 1 && budget.Status.DisruptionsAllowed == 0
	})
	before := s.identities(kept)

	text, err := s.kubectl("drain", second, "--ignore-daemonsets", "--timeout=10s")
	require.Error(s.t, err, text)
	require.Contains(s.t, text, "--delete-emptydir-data", "the volume of the wrapper")
	text, err = s.kubectl("drain", second, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=40s")
	require.Error(s.t, err, text)
	require.Contains(s.t, text, "would violate the pod's disruption budget")
	s.await("free", "it runs elsewhere", func(j *v1beta1.GenericJob) bool { return j.Status.DisruptionCount == 1 && j.Status.Running == "1/1" })
	s.requireOn(free, "local")
	require.Equal(s.t, before, s.identities(kept), "the job goes on")

	s.end(kept, "worker", 0, 0)
	done := s.awaitPhase("kept", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.DisruptionCount+done.Status.BackoffCount)
	text, err = s.kubectl("drain", second, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=3m")
	require.NoError(s.t, err, text)
	s.end(free, "worker", 0, 0)
	s.awaitPhase("free", v1beta1.JobSucceeded)
	s.requireRuns(free, "worker", 2)
	s.requireRuns(kept, "worker", 1)
}
