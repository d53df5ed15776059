package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers"
)

// grantIn lets a user do what the rules say, in one namespace.
func grantIn(t *testing.T, c client.Client, namespace, name, user string, rules []rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	require.NoError(t, c.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}))
	require.NoError(t, c.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
}

// An operator of some namespaces has no right outside of them, but for the lease: no ClusterRole at all.
func TestAnOperatorOfSomeNamespacesNeedsNoRightElsewhere(t *testing.T) {
	scheme, err := controllers.NewScheme()
	require.NoError(t, err)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	for _, name := range []string{"mine", "mine-too", "theirs"} {
		require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	rules := allBut(t, "")
	grantIn(t, c, "mine", "tenant", "tenant", rules)
	grantIn(t, c, "mine-too", "tenant", "tenant", rules)
	grantIn(t, c, "default", "tenant", "tenant", []rbacv1.PolicyRule{
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	})
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}}
	job := func(namespace string) *v1beta1.GenericJob {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: namespace}}
		job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "main", Template: template}}
		job.Spec.Service = &v1beta1.ServiceOption{}
		require.NoError(t, c.Create(t.Context(), job))
		return job
	}
	theirs, jobs := job("theirs"), []*v1beta1.GenericJob{job("mine"), job("mine-too")}
	training := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "training", Namespace: "mine"}}
	training.Spec.ReplicaSpecs = []v1beta1.TensorFlowReplicaSpec{{Type: "worker", Template: *template.DeepCopy()}}
	training.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Name = "tensorflow"
	require.NoError(t, c.Create(t.Context(), training))

	as := rest.CopyConfig(cluster.Config)
	as.Impersonate.UserName = "tenant"
	tenant, err := client.New(as, client.Options{Scheme: scheme})
	require.NoError(t, err)
	eventually(t, "the rights that were granted last hold", func() bool {
		return client.IgnoreNotFound(tenant.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "none"}, &coordinationv1.Lease{})) == nil
	})
	health, log, _ := start(t, envtest.User{Name: "tenant"}, "-namespaces=mine,mine-too")
	eventually(t, "ready", func() bool { return get(t, "http://"+health+"/readyz", "") == http.StatusOK })
	pods := &corev1.PodList{}
	finish := func() {
		require.NoError(t, c.List(t.Context(), pods))
		for i := range pods.Items {
			pod := &pods.Items[i]
			require.NotEqual(t, "theirs", pod.Namespace)
			if pod.Status.Phase != corev1.PodSucceeded {
				pod.Status.Phase = corev1.PodSucceeded
				_ = c.Status().Update(t.Context(), pod) // a conflict is tried again
			}
		}
	}
	for _, job := range jobs {
		eventually(t, job.Namespace+": succeeded", func() bool {
			finish()
			return c.Get(t.Context(), client.ObjectKeyFromObject(job), job) == nil && job.Status.Phase == v1beta1.JobSucceeded
		})
	}
	eventually(t, "the training job succeeded", func() bool {
		finish()
		return c.Get(t.Context(), client.ObjectKeyFromObject(training), training) == nil && training.Status.Phase == v1beta1.JobSucceeded
	})
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	require.Empty(t, theirs.Status.Phase)
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	require.NotContains(t, strings.ToLower(string(text)), "forbidden")
}
