package suite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const argoImage = "localhost/argoexec:dev"

// TestArgo has Argo Workflows run the workflows of deploy/integrations/argo.yaml. Its controller and its executor are those of its module.
func TestArgo(t *testing.T) {
	if !withIntegrations {
		t.Skip("Argo Workflows is not there; make e2e-integrations builds and starts it")
	}
	s := newSpace(t)
	s.serveKubeflow()
	s.startArgo()
	s.applyWorkflows()
	t.Run("a job that succeeds", func(t *testing.T) { workflowGoesOn(s.within(t)) })
	t.Run("a job that fails", func(t *testing.T) { workflowFails(s.within(t)) })
	t.Run("a step that loses its pod", func(t *testing.T) { workflowFindsItsJob(s.within(t)) })
	t.Run("a job of Kubeflow's", func(t *testing.T) { kubeflowWorkflow(s.within(t)) })
}

// within is the space for a part of a test.
func (s *space) within(t *testing.T) *space {
	return &space{WithWatch: s.WithWatch, t: t, ctx: t.Context(), ns: s.ns, births: births{seen: s.seen}}
}

// startArgo runs Argo's controller for the namespace, for the rest of the test.
func (s *space) startArgo() {
	t := s.t
	t.Helper()
	archive := filepath.Join(t.TempDir(), "argoexec.tar")
	goRun(t, "image", "-ref", argoImage, "-out", archive, "-entrypoint", "/bin/argoexec", strings.TrimSpace(goRun(t, "path", "argoexec")))
	goRun(t, "load", archive)
	crds := filepath.Join(moduleOf(t, "argo", "github.com/argoproj/argo-workflows/v4"), "manifests", "base", "crds", "minimal")
	t.Cleanup(func() {
		text, err := exec.Command(kubectl, "delete", "--ignore-not-found", "--timeout=2m", "--kustomize", crds).CombinedOutput()
		require.NoError(t, err, string(text))
	})
	kubectlOf(t, "apply", "--server-side", "--kustomize", crds)
	kubectlOf(t, "wait", "--for=condition=Established", "--timeout=1m", "crd", "--all")
	text, err := s.apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: workflow-controller-configmap}, data: {metricsConfig: "{enabled: false}"}}`)
	require.NoError(t, err, text)
	t.Setenv("LEADER_ELECTION_DISABLE", "true")
	runScheduler(t, "workflow-controller", "--kubeconfig="+os.Getenv("KUBECONFIG"), "--namespace="+s.ns, "--namespaced",
		"--executor-image="+argoImage, "--executor-image-pull-policy=Never")
}

// applyWorkflows applies the recipe, with the image and the commands of these tests.
func (s *space) applyWorkflows() {
	s.t.Helper()
	read, err := os.ReadFile(filepath.Join(root, "deploy", "integrations", "argo.yaml"))
	require.NoError(s.t, err)
	text := string(read)
	for from, to := range map[string]string{
		"registry.example/train:v1":                    image + ", imagePullPolicy: Never",
		"command: [prepare]":                           "command: [/worker, print, prepared]",
		"command: [evaluate, ":                         "command: [/worker, print, evaluated, ",
		`command: ["{{workflow.parameters.command}}"]`: `command: [/worker, -c, "{{workflow.parameters.command}}"]`,
		"restartPolicy: {policy: OnFailure, limit: 3}": "restartPolicy: {policy: OnFailure, limit: 0}",
		"runPolicy: {backoffLimit: 3}":                 "runPolicy: {backoffLimit: 0}",
	} {
		require.Contains(s.t, text, from)
		text = strings.ReplaceAll(text, from, to)
	}
	said, err := s.apply(text)
	require.NoError(s.t, err, said)
}

// workflow starts one of a template, whose job takes these steps. The job has its name.
func (s *space) workflow(name, template, steps string) {
	s.t.Helper()
	text, err := s.apply(`{apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: ` + name + `}, spec: {workflowTemplateRef: {name: ` + template +
		`}, arguments: {parameters: [{name: command, value: "` + steps + `"}]}}}`)
	require.NoError(s.t, err, text)
}

// awaitWorkflow waits for the end of a workflow.
func (s *space) awaitWorkflow(name, phase string) {
	s.t.Helper()
	s.until(name+" ends", func() bool {
		is := s.ofWorkflow(name, "{.status.phase}")
		if is == "" || is == "Pending" || is == "Running" {
			return false
		}
		require.Equal(s.t, phase, is, "%s", s.ofWorkflow(name, "{.status}"))
		return true
	})
}

func (s *space) ofWorkflow(name, path string) string {
	s.t.Helper()
	text, err := s.kubectl("get", "workflow", name, "--output", "jsonpath="+path)
	require.NoError(s.t, err, text)
	return text
}

// stepPods are the pods of a step of a workflow, by the name of their template.
func (s *space) stepPods(workflow, template string) []corev1.Pod {
	s.t.Helper()
	list := &corev1.PodList{}
	require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns), client.MatchingLabels{"workflows.argoproj.io/workflow": workflow}))
	var found []corev1.Pod
	for _, pod := range list.Items {
		if strings.Contains(pod.Annotations["workflows.argoproj.io/node-name"], template) {
			found = append(found, pod)
		}
	}
	return found
}

// workflowGoesOn: the step ends when the job does, the next one gets its name, and the job goes with the workflow.
func workflowGoesOn(s *space) {
	s.workflow("good", "train-and-evaluate", "print trained")
	s.awaitWorkflow("good", "Succeeded")
	job := s.job("good")
	require.Equal(s.t, v1beta1.JobSucceeded, job.Status.Phase)
	owner := metav1.GetControllerOf(job)
	require.NotNil(s.t, owner)
	require.Equal(s.t, "Workflow good", owner.Kind+" "+owner.Name)
	after := s.stepPods("good", ".evaluate")
	require.Len(s.t, after, 1)
	require.False(s.t, after[0].CreationTimestamp.Before(job.Status.CompletionTime), "the next step waits for the end of the job")
	text, err := s.kubectl("logs", after[0].Name, "--container", "main")
	require.NoError(s.t, err, text)
	require.Contains(s.t, text, "evaluated good")
	text, err = s.kubectl("delete", "workflow", "good")
	require.NoError(s.t, err, text)
	s.awaitGone(job)
}

// workflowFails: a job that fails fails its step at once, and nothing comes after it.
func workflowFails(s *space) {
	s.workflow("bad", "train-and-evaluate", "exit 3")
	s.awaitWorkflow("bad", "Failed")
	require.Equal(s.t, v1beta1.JobFailed, s.job("bad").Status.Phase)
	require.Contains(s.t, s.ofWorkflow("bad", "{.status.nodes}"), "failure condition '{status.phase == [Failed]}' evaluated true")
	require.Len(s.t, s.stepPods("bad", ".train"), 1, "a step whose job has failed is not tried again")
	require.Empty(s.t, s.stepPods("bad", ".evaluate"))
}

// workflowFindsItsJob: the pod of a step is deleted. The job does not notice, and the step's next pod waits for it.
func workflowFindsItsJob(s *space) {
	s.workflow("found", "train-and-evaluate", "obey")
	s.until("the job is there", func() bool {
		return s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: "found"}, &v1beta1.GenericJob{}) == nil
	})
	job := s.awaitRunning("found", "2/2")
	pods := s.stepPods("found", ".train")
	require.Len(s.t, pods, 1)
	require.NoError(s.t, s.Delete(s.ctx, &pods[0], client.GracePeriodSeconds(0)))
	s.until("the step has another pod", func() bool {
		now := s.stepPods("found", ".train")
		return len(now) == 1 && now[0].UID != pods[0].UID && now[0].Status.Phase == corev1.PodRunning
	})
	s.finish(job, 0, 1)
	s.awaitWorkflow("found", "Succeeded")
	require.Equal(s.t, job.UID, s.job("found").UID)
	require.Zero(s.t, s.job("found").Status.BackoffCount)
}

// kubeflowWorkflow: the same conditions for a job without a phase.
func kubeflowWorkflow(s *space) {
	s.workflow("theirs-good", "train-kubeflow", "print trained")
	s.workflow("theirs-bad", "train-kubeflow", "exit 3")
	s.awaitWorkflow("theirs-good", "Succeeded")
	s.awaitWorkflow("theirs-bad", "Failed")
	for name, is := range map[string]string{"theirs-good": "Succeeded", "theirs-bad": "Failed"} {
		text, err := s.kubectl("get", "pytorchjob", name, "--output", "jsonpath={.status.conditions[-1:].type}")
		require.NoError(s.t, err, text)
		require.Equal(s.t, is, text)
	}
	require.Contains(s.t, s.ofWorkflow("theirs-bad", "{.status.nodes}"), "type == [Failed]}' evaluated true")
}
