package kubeflow

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/e2e/testenv"
)

var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }, "kubeflow/crd"))
}

// katibs is of Katib's own role what the walk needs.
const katibs = `
kind: ClusterRole
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: katib-controller}
rules:
  - {apiGroups: [kubeflow.org], resources: [tfjobs, pytorchjobs], verbs: [get]}
---
kind: ClusterRoleBinding
apiVersion: rbac.authorization.k8s.io/v1
metadata: {name: katib-controller}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: katib-controller}
subjects: [{kind: ServiceAccount, name: katib-controller, namespace: kubeflow}]
`

// owned is an object of the namespace default that another one controls.
func owned(t *testing.T, text string, owner metav1.OwnerReference) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object))
	o.SetNamespace("default")
	o.SetOwnerReferences([]metav1.OwnerReference{owner})
	return o
}

func controller(o *unstructured.Unstructured) metav1.OwnerReference {
	return *metav1.NewControllerRef(o, o.GroupVersionKind())
}

// walk looks for the Trial above an object as Katib's webhook for pods does: from owner to owner. It returns what the Trial
// owns. Whatever goes wrong means to Katib that the pod is none of its own.
func walk(t *testing.T, katib client.Client, o *unstructured.Unstructured) (string, error) {
	t.Helper()
	for {
		owners := o.GetOwnerReferences()
		require.Len(t, owners, 1)
		if owners[0].Kind == "Trial" && owners[0].APIVersion == "kubeflow.org/v1beta1" {
			return o.GetKind() + " " + o.GetName(), nil
		}
		next := &unstructured.Unstructured{}
		next.SetAPIVersion(owners[0].APIVersion)
		next.SetKind(owners[0].Kind)
		if err := katib.Get(t.Context(), client.ObjectKey{Namespace: o.GetNamespace(), Name: owners[0].Name}, next); err != nil {
			return "", err
		}
		o = next
	}
}

// A trial whose pods Katib does not know for its own gets no metrics, and nothing says so.
func TestKatibFindsTheTrialOfAPod(t *testing.T) {
	admin, err := client.New(cluster.Config, client.Options{})
	require.NoError(t, err)
	cfg := rest.CopyConfig(cluster.Config)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:kubeflow:katib-controller"}
	katib, err := client.New(cfg, client.Options{})
	require.NoError(t, err)

	job := owned(t, `{apiVersion: kubeflow.org/v1, kind: TFJob, metadata: {name: trial}, spec: {tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: a}]}}}}}}`,
		metav1.OwnerReference{APIVersion: "kubeflow.org/v1beta1", Kind: "Trial", Name: "trial", UID: "0"})
	require.NoError(t, admin.Create(t.Context(), job))
	made := owned(t, `{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, metadata: {name: trial}, spec: {replicaSpecs: [{type: worker, template: {spec: {containers: [{name: tensorflow, image: a}]}}}]}}`,
		controller(job))
	require.NoError(t, admin.Create(t.Context(), made))
	pod := owned(t, `{apiVersion: v1, kind: Pod, metadata: {name: trial-worker-0}}`, controller(made))

	apply(t, admin, katibs)
	require.Eventually(t, func() bool {
		_, err := walk(t, katib, owned(t, `{apiVersion: v1, kind: Pod, metadata: {name: without-us}}`, controller(job)))
		return err == nil
	}, 10*time.Minute, 100*time.Millisecond, "Katib has its own rights")
	_, err = walk(t, katib, pod)
	require.True(t, apierrors.IsForbidden(err), "Katib has no rights on ours by itself: %v", err)
	ours, err := os.ReadFile("component/katib_role.yaml")
	require.NoError(t, err)
	apply(t, admin, string(ours))
	var found string
	require.Eventually(t, func() bool {
		found, err = walk(t, katib, pod)
		return err == nil
	}, 10*time.Minute, 100*time.Millisecond, "the walk ends")
	require.Equal(t, "TFJob trial", found)
	require.True(t, apierrors.IsForbidden(katib.Delete(t.Context(), made)), "it may look, and no more")
}

// apply creates the objects of a text of several documents.
func apply(t *testing.T, c client.Client, text string) {
	t.Helper()
	for _, document := range strings.Split(text, "\n---\n") {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(document), &o.Object))
		require.NoError(t, c.Create(t.Context(), o))
	}
}

// People of a Kubeflow profile have kubeflow-view, -edit or -admin, and not the roles that Kubernetes has of its own.
func TestKubeflowsProfilesHaveTheRightsOfTheirRoles(t *testing.T) {
	const kubernetes, profiles = "rbac.authorization.k8s.io/aggregate-to-", "rbac.authorization.kubeflow.org/aggregate-to-kubeflow-"
	found := 0
	for _, document := range strings.Split(render(t), "\n---\n") {
		role := &rbacv1.ClusterRole{}
		require.NoError(t, yaml.Unmarshal([]byte(document), role))
		if role.Kind != "ClusterRole" || role.Labels[kubernetes+"admin"] != "true" {
			continue
		}
		found++
		for _, rank := range []string{"view", "edit", "admin"} {
			require.Equal(t, role.Labels[kubernetes+rank], role.Labels[profiles+rank], "%s: %s", role.Name, rank)
		}
	}
	require.Equal(t, 5, found, "view and edit, of GenericJobs and of Kubeflow's kinds; and view of definitions")
}
