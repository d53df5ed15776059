package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
)

// policy makes a real ValidatingAdmissionPolicy for this namespace, which denies what the CEL expression is false for. It waits until the
// policy works: probe is a create that the policy must deny. The function that it returns takes it away.
func (c *cluster) policy(resource string, operation admissionv1.OperationType, allowed string, probe func() error) (lift func()) {
	c.t.Helper()
	group, plural, _ := strings.Cut(resource, "/")
	version := map[string]string{"": "v1"}[group]
	if version == "" {
		version = "v1beta1"
	}
	name := c.ns + "-" + plural + "-" + strings.ToLower(string(operation))
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{operation},
			Rule:       admissionv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{plural}},
		},
	}}}
	p.Spec.Validations = []admissionv1.Validation{{Expression: allowed, Message: "not in this house"}}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.PolicyName, b.Spec.ValidationActions = name, []admissionv1.ValidationAction{admissionv1.Deny}
	b.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{"kubernetes.io/metadata.name": c.ns},
	}}
	require.NoError(c.t, c.Create(c.ctx, p))
	require.NoError(c.t, c.Create(c.ctx, b))
	c.until("the policy works", func() bool {
		err := probe()
		return err != nil && strings.Contains(err.Error(), "not in this house")
	})
	gone := false
	lift = func() {
		if gone {
			return
		}
		gone = true
		require.NoError(c.t, c.Delete(c.ctx, b))
		require.NoError(c.t, c.Delete(c.ctx, p))
	}
	c.t.Cleanup(func() {
		if !gone { // the namespace's context is over by now
			_ = c.Delete(c.t.Context(), b)
			_ = c.Delete(c.t.Context(), p)
		}
	})
	return lift
}

// probePod tries to create a pod that must be denied, and changes nothing if it is not.
func (c *cluster) probePod() error {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: c.ns}}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "busybox"}}
	return c.Create(c.ctx, pod, client.DryRunAll)
}

// What a policy says by default is 422 Invalid, as of a mistake of the user's; but no cause names a field.
func TestAPolicyThatComesLaterFailsNoJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	before := c.submit("before", "replicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 1}}]")
	c.awaitPhase("before", v1beta1.JobRunning)
	lift := c.policy("/pods", admissionv1.Create, "false", c.probePod)
	answer := c.probePod()
	require.True(t, apierrors.IsInvalid(answer), "%v", answer)
	require.False(t, calls.Invalid(answer), "no cause names a field: %v", answer)
	c.finish(before, "worker-0", 1)
	after := c.submit("after", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	for _, job := range []*v1beta1.GenericJob{before, after} {
		_, told := c.awaitCondition(job.Name, v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
		require.Contains(t, told.Message, "The apiserver refuses to create Pod "+job.Name)
		require.Contains(t, told.Message, "not in this house")
		c.awaitEvent(job, "Warning CreateFailed", "create Pod "+job.Name, "not in this house")
	}
	require.NotContains(t, []v1beta1.JobPhase{c.job("before").Status.Phase, c.job("after").Status.Phase}, v1beta1.JobFailed)
	lift()
	c.awaitPhase("after", v1beta1.JobRunning)
	c.finish(before, "worker-0", 0)
	c.finish(before, "worker-1", 0)
	job := c.awaitPhase("before", v1beta1.JobSucceeded)
	require.Empty(t, condition(job, v1beta1.ConditionBlocked).Type)
}

func TestAPolicyOverServicesFailsNoJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	lift := c.policy("/services", admissionv1.Create, "false", func() error {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: c.ns}}
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
		return c.Create(c.ctx, s, client.DryRunAll)
	})
	job := c.submit("net", "service: {}\n"+twoWorkers)
	_, told := c.awaitCondition("net", v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "The apiserver refuses to create Service net")
	require.Empty(t, c.pods(job), "pods need the Service")
	lift()
	c.awaitPhase("net", v1beta1.JobRunning)
}

func TestAPolicyOverGenericJobsFailsNoTrainingJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	lift := c.policy("batch.tensorstack.dev/genericjobs", admissionv1.Create, "false", func() error {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-", Namespace: c.ns}}
		job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "main", Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
		}}}
		return c.Create(c.ctx, job, client.DryRunAll)
	})
	job := c.train("held", chiefAndTwo)
	told := c.awaitBlocked("held", v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "not in this house")
	c.awaitEvent(job, "Warning CreateFailed", "not in this house")
	lift()
	c.awaitTraining("held", v1beta1.JobRunning)
}
