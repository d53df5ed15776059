package tenant

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// In a namespace that asks for queues each job names one, where it counts.
func TestJobsWaitInAQueueWhereTheNamespaceSaysSo(t *testing.T) {
	const team = "queued"
	admin := give(t, team)
	ns := &corev1.Namespace{}
	require.NoError(t, admin.Get(t.Context(), client.ObjectKey{Name: team}, ns))
	patch := client.MergeFrom(ns.DeepCopy())
	ns.Labels["batch.tensorstack.dev/queue"] = "required"
	require.NoError(t, admin.Patch(t.Context(), ns, patch))
	anna := as(t, "anna", "team")
	none := "metadata.labels: there is no kueue.x-k8s.io/queue-name, and in namespace queued jobs wait in a queue: name one that kubectl get localqueues shows"
	for _, text := range []string{
		ours("GenericJob", "", ""), ours("PyTorchTrainingJob", "", ""), ours("TensorFlowTrainingJob", "", ""),
		theirs("TFJob", "2", ""), theirs("PyTorchJob", "2", ""), theirs("XGBoostJob", "2", ""), theirs("PaddleJob", "2", ""), theirs("JAXJob", "2", ""), theirs("MPIJob", "2", ""),
	} {
		require.Eventually(t, func() bool { // neither her rights nor the policies hold at once
			err := anna.Create(t.Context(), job(t, team, text), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
		}, patience, 50*time.Millisecond, text)
		require.ErrorContains(t, anna.Create(t.Context(), job(t, team, text), client.DryRunAll), none, text)
		queued := job(t, team, text)
		queued.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "night"})
		require.NoError(t, anna.Create(t.Context(), queued, client.DryRunAll), text)
	}
	// Where spec.scheduler is set, the operator does not look at the label.
	require.NoError(t, anna.Create(t.Context(), job(t, team, ours("GenericJob", "scheduler: {kueue: {queueName: night}}, ", "")), client.DryRunAll))
	other := job(t, team, ours("GenericJob", "scheduler: {volcano: {}}, ", ""))
	other.SetLabels(map[string]string{"kueue.x-k8s.io/queue-name": "night"})
	require.ErrorContains(t, anna.Create(t.Context(), other, client.DryRunAll), "spec.scheduler: there is no kueue.queueName, and in namespace queued")
	// Of Kubeflow's kinds Kueue queues the job itself. What somebody passes off as made of one is refused.
	made := job(t, team, ours("GenericJob", "", ""))
	made.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "kubeflow.org/v1", Kind: "TFJob", Name: "job", UID: "u", Controller: new(true)}})
	require.ErrorContains(t, anna.Create(t.Context(), made.DeepCopy(), client.DryRunAll), none)
	require.NoError(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "trainer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operator}},
	}))
	manager := as(t, operator)
	require.Eventually(t, func() bool { return manager.Create(t.Context(), made.DeepCopy(), client.DryRunAll) == nil }, patience, 50*time.Millisecond)
	require.ErrorContains(t, manager.Create(t.Context(), job(t, team, ours("GenericJob", "", "")), client.DryRunAll), none, "what it makes of other kinds has the queue")
}
