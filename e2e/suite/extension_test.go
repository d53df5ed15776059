package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestExtension runs the operator of e2e/extension, a module from outside with the kind JAXJob. It puts that in the place of the stock
// one, and puts the stock one back at the end. It disturbs every job of the cluster, so it runs alone.
func TestExtension(t *testing.T) {
	s := newSpace(t)
	stock := &appsv1.Deployment{}
	require.NoError(t, s.Get(s.ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, stock))
	s.loadExtension("manager", ".", "example.com/jax-operator:dev")
	s.loadExtension("rendezvous", "./rendezvous", "example.com/rendezvous:dev")
	defer func() {
		s.run(nil, "make", "--silent", "deploy", "IMG="+stock.Spec.Template.Spec.Containers[0].Image)
		for _, file := range []string{"frameworks.example.com_jaxjobs.yaml", "rbac.yaml"} {
			s.run(nil, kubectl, "delete", "--ignore-not-found", "-f", "e2e/extension/deploy/"+file)
		}
	}()
	// An author has this from `go generate`; the checkout tracks one copy of it.
	s.run(nil, "cp", "deploy/frameworks/jax/crd.yaml", "e2e/extension/deploy/frameworks.example.com_jaxjobs.yaml")
	s.run(nil, kubectl, "apply", "-k", "e2e/extension/deploy")
	s.run(nil, kubectl, "rollout", "status", "-n", operatorNamespace, "deployment/"+operatorName, "--timeout=3m")

	raw, err := os.ReadFile(filepath.Join(root, "e2e", "extension", "sample.yaml"))
	require.NoError(t, err)
	sample := string(raw)
	s.wrongJAXJobsAreRefused(sample)
	s.processesMeet(sample)
	s.crashRestartsAll(sample)
	s.othersGoOn()
}

func (s *space) loadExtension(name, source, ref string) {
	binary := filepath.Join(s.t.TempDir(), name)
	s.run([]string{"CGO_ENABLED=0"}, "go", "-C", "e2e/extension", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, source)
	s.run(nil, "go", "-C", "e2e/localcluster", "run", ".", "image", "-ref", ref, "-out", binary+".tar", binary)
	s.run(nil, "go", "-C", "e2e/localcluster", "run", ".", "load", binary+".tar")
}

func (s *space) apply(text string) (string, error) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "object.yaml")
	require.NoError(s.t, os.WriteFile(file, []byte(text), 0o600))
	return s.kubectl("apply", "-f", file)
}

func (s *space) wrongJAXJobsAreRefused(sample string) {
	for from, tc := range map[string]struct{ to, refusal string }{
		"name: jax":   {"name: main", "must have a container named jax"},
		"replicas: 3": {"replicas: 0", "spec.replicas in body should be greater than or equal to 1"},
		"name: meet":  {"name: " + strings.Repeat("a", 54), "shorten metadata.name"},
		"spec:\n  r":  {"spec:\n  runMode: {debug: {replicaSpecs: [{type: worker}]}}\n  r", "the only type is process"},
	} {
		text, err := s.apply(strings.Replace(sample, from, tc.to, 1))
		require.Error(s.t, err, tc.to)
		require.Contains(s.t, text, tc.refusal)
	}
}

// awaitJAXJob waits until a JAXJob has succeeded.
func (s *space) awaitJAXJob(name string) v1beta1.TrainingJobStatus {
	s.t.Helper()
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "frameworks.example.com/v1alpha1", "kind": "JAXJob"}}
	status := v1beta1.TrainingJobStatus{}
	s.until("JAXJob "+name+" ends", func() bool {
		require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, job))
		shown, _, err := unstructured.NestedMap(job.Object, "status")
		require.NoError(s.t, err)
		require.NoError(s.t, runtime.DefaultUnstructuredConverter.FromUnstructured(shown, &status))
		return status.CompletionTime != nil
	})
	require.Equal(s.t, v1beta1.JobSucceeded, status.Phase, "%v", status.Conditions)
	require.Equal(s.t, job.GetGeneration(), status.ObservedGeneration)
	return status
}

func (s *space) processesMeet(sample string) {
	text, err := s.apply(sample)
	require.NoError(s.t, err, text)
	shown := s.awaitJAXJob("meet")
	job := s.job("meet")
	require.Equal(s.t, job.Status.Conditions, shown.Conditions)
	require.Equal(s.t, job.Status.Tasks, shown.Tasks)
	require.EqualValues(s.t, 3, shown.Aggregate.Succeeded)
	require.Zero(s.t, shown.BackoffCount)
	for rank := range 3 {
		require.Contains(s.t, s.logs(job, "process", rank), fmt.Sprintf(
			"COORDINATOR_ADDRESS=meet-process-0.meet.%s.svc.cluster.local\nCOORDINATOR_PORT=6666\nNUM_PROCESSES=3\nPROCESS_ID=%d\n", s.ns, rank))
	}
	for _, other := range []string{"1", "2"} {
		require.Contains(s.t, s.logs(job, "process", 0), "heard process "+other)
	}
	text, err = s.kubectl("get", "jax", "meet")
	require.NoError(s.t, err, text)
	require.Regexp(s.t, `(?m)^meet +Succeeded +0 `, text)

	text, err = s.kubectl("delete", "jaxjob", "meet")
	require.NoError(s.t, err, text)
	s.awaitGone(job)
	s.awaitPods(job)
	s.awaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "meet", Namespace: s.ns}})
}

// crashRestartsAll lets process 1 fail once: the others, which have succeeded, run again with it.
func (s *space) crashRestartsAll(sample string) {
	crash := fmt.Sprintf(`name: jax
          args: ["1"]
          env: [{name: ATTEMPT, valueFrom: {fieldRef: {fieldPath: "metadata.labels['%s']"}}}]`, v1beta1.LabelAttempt)
	text, err := s.apply(strings.NewReplacer("name: meet", "name: crash", "name: jax", crash).Replace(sample))
	require.NoError(s.t, err, text)
	require.EqualValues(s.t, 1, s.awaitJAXJob("crash").BackoffCount)
	s.requireRuns(s.job("crash"), "process", 2, 2, 2)
}
