package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestDefinition gives the stock operator the kind of e2e/extension by kubectl alone: JAXJobs, as deploy/frameworks/jax defines them. It
// runs alone, for that other test brings the kind, too.
func TestDefinition(t *testing.T) {
	s := newSpace(t)
	loadFramework(t, "xgboost-jax")
	s.loadExtension("rendezvous", "./rendezvous", "example.com/rendezvous:dev")
	before := s.operatorPods()
	require.Len(t, before, 1)
	defer s.run(nil, kubectl, "delete", "--ignore-not-found", "-k", "deploy/frameworks/jax")

	s.jaxAddsUp()
	raw, err := os.ReadFile(filepath.Join(root, "e2e", "extension", "sample.yaml"))
	require.NoError(t, err)
	s.wrongJAXJobsAreRefused(string(raw))
	s.processesMeet(string(raw))
	s.crashRestartsAll(string(raw))
	s.definitionBringsItsKind()

	after := s.operatorPods()
	require.Len(t, after, 1)
	require.Equal(t, before[0].UID, after[0].UID)
	require.Equal(t, restartsOf(before[0]), restartsOf(after[0]))
}

func restartsOf(pod corev1.Pod) (n int32) {
	for _, c := range pod.Status.ContainerStatuses {
		n += c.RestartCount
	}
	return n
}

// jaxAddsUp runs the sample of the catalog, as soon as the apiserver knows its kind.
func (s *space) jaxAddsUp() {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "frameworks", "jax", "sample.yaml"))
	require.NoError(s.t, err)
	began := time.Now()
	s.run(nil, kubectl, "apply", "-k", "deploy/frameworks/jax")
	s.run(nil, kubectl, "wait", "--for=condition=Established", "crd/jaxjobs.frameworks.example.com", "--timeout=2m")
	text, err := s.apply(strings.Replace(string(raw), "registry.example/jax:v1", "localhost/genericjob-xgboost-jax:dev", 1))
	require.NoError(s.t, err, text)
	s.until("the GenericJob is there", func() bool {
		_, err := s.kubectl("get", "genericjob", "train")
		return err == nil
	})
	s.await("train", "it has run", func(job *v1beta1.GenericJob) bool {
		return job.Status.Phase == v1beta1.JobRunning || job.Status.CompletionTime != nil
	})
	s.t.Logf("from kubectl apply of the definition to the first Running job: %.1f s", time.Since(began).Seconds())
	s.awaitJAXJob("train")
	job := s.job("train")
	require.Contains(s.t, s.logs(job, "process", 0), "process 0 of 2, 2 devices: sum=3")
	require.Contains(s.t, s.logs(job, "process", 1), "process 1 of 2, 2 devices: sum=3")
}

// broughtKind is a definition with the schema of its kind, and what the operator may do with that.
const broughtKind = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: e2e-brought-jobs, labels: {batch.tensorstack.dev/aggregate-to-operator: "true"}}
rules:
  - {apiGroups: [brought.example.com], resources: [broughtjobs], verbs: [get, list, watch, delete]}
  - {apiGroups: [brought.example.com], resources: [broughtjobs/status, broughtjobs/finalizers], verbs: [update]}
---
apiVersion: batch.tensorstack.dev/v1beta1
kind: TrainingFramework
metadata: {name: brought}
spec:
  kind: {group: brought.example.com, version: v1, kind: BroughtJob}
  schema: {type: object, required: [template], properties: {replicas: {type: integer, minimum: 1}, template: {$ref: PodTemplateSpec}}}
  genericJob: {replicaSpecs: [{type: worker, replicas: "${job.spec.?replicas.orValue(1)}", template: "${job.spec.template}"}]}
`

// definitionBringsItsKind: the operator makes the CRD once it may. The jobs outlive the definition.
func (s *space) definitionBringsItsKind() {
	s.t.Helper()
	const crd, schemas = "crd/broughtjobs.brought.example.com", "deploy/framework-schemas/framework_schemas_role.yaml"
	defer s.run(nil, kubectl, "delete", "--ignore-not-found", "-f", schemas)
	defer s.run(nil, kubectl, "delete", "--ignore-not-found", "trainingframework/brought", "clusterrole/e2e-brought-jobs", crd)
	s.run(nil, kubectl, "delete", "--ignore-not-found", "-f", schemas) // an earlier operator may have left it
	text, err := s.apply(broughtKind)
	require.NoError(s.t, err, text)
	s.until("it says that an admin must apply the CRD", func() bool {
		text, err := s.kubectl("get", "trainingframework", "brought")
		return err == nil && strings.Contains(text, "A cluster admin must apply the CRD")
	})
	s.run(nil, kubectl, "apply", "-f", schemas)
	s.run(nil, kubectl, "wait", "--for=condition=Serving", "trainingframework/brought", "--timeout=2m")
	text, err = s.apply("{apiVersion: brought.example.com/v1, kind: BroughtJob, metadata: {name: brought}, spec: {replicas: 2, template: " + pod("exit 0") + "}}")
	require.NoError(s.t, err, text)
	s.until("the BroughtJob has succeeded", func() bool {
		text, err := s.kubectl("get", "broughtjob", "brought")
		return err == nil && strings.Contains(text, "Succeeded")
	})
	s.run(nil, kubectl, "delete", "trainingframework/brought")
	text, err = s.kubectl("get", "broughtjob", "brought")
	require.NoError(s.t, err, text)
	s.run(nil, kubectl, "get", crd)
}
