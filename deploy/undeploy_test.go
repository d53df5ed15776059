package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// cluster is an apiserver with an installation that is to be removed, and nobody who works on it.
type cluster struct {
	*testing.T
	client.Client
	kubeconfig string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	env, err := testenv.Start(filepath.Join("frameworks", "jax"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1beta1.AddToScheme(scheme))
	c, err := client.New(env.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, env.KubeConfig, 0o600))
	return &cluster{T: t, Client: c, kubeconfig: file}
}

// make creates an object, and returns it as the apiserver has it.
func (c *cluster) make(o client.Object) client.Object {
	c.Helper()
	require.NoError(c, c.Create(c.Context(), o), "%T %s", o, o.GetName())
	return o
}

func (c *cluster) isThere(o client.Object) bool {
	c.Helper()
	err := c.Get(c.Context(), client.ObjectKeyFromObject(o), o)
	if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		require.NoError(c, err, "%T %s", o, o.GetName())
	}
	return err == nil
}

// undeploy runs the script as an admin does.
func (c *cluster) undeploy(env ...string) string {
	c.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	command := exec.CommandContext(c.Context(), "./undeploy.sh")
	command.Env = append(append(os.Environ(), "KUBECONFIG="+c.kubeconfig, "KUBECTL="+kubectl), env...)
	text, err := command.CombinedOutput()
	require.NoError(c, err, "%s", text)
	return string(text)
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func deployment(ns, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: onePod()},
	}}
}

func onePod() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}}
}

func jaxJob(ns, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []any{map[string]any{"name": "jax", "image": "jax"}},
	}}}}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "frameworks.example.com", Version: "v1alpha1", Kind: "JAXJob"})
	o.SetNamespace(ns)
	o.SetName(name)
	return o
}

// ownedJob is a GenericJob that says who owns it.
func ownedJob(ns, name, apiVersion, kind, owner string, uid types.UID) *v1beta1.GenericJob {
	return &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: ns, Name: name, Annotations: map[string]string{"note": "a line\nvictims/trains/x\n-A"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: owner, UID: uid, Controller: new(true)}},
		},
		Spec: v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: onePod()}}}},
	}
}

// define has a TrainingFramework, of which the operator has said whether it serves the kind.
func (c *cluster) define(file, name, kind string, serving metav1.ConditionStatus) {
	c.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(c, err)
	f := &v1beta1.TrainingFramework{}
	require.NoError(c, yaml.Unmarshal(raw, f))
	f.Name = name
	if kind != "" {
		f.Spec.Kind = v1beta1.FrameworkKind{Group: "apps", Version: "v1", Kind: kind}
	}
	c.make(f)
	f.Status.Conditions = []metav1.Condition{{Type: v1beta1.FrameworkServing, Status: serving, Reason: "Test", LastTransitionTime: metav1.Now()}}
	require.NoError(c, c.Status().Update(c.Context(), f))
}

// kubectl delete got what a tenant writes into an owner reference, with the admin's rights. It deleted a ClusterRole, and by a line break
// in a name another namespace's Deployment. An owner of a core kind ended the script before it had deleted anything.
func TestUndeployDeletesNothingThatATenantNames(t *testing.T) {
	c := newCluster(t)
	c.make(namespace("evil"))
	c.make(namespace("victims"))
	c.define("frameworks/jax/framework.yaml", "jax", "", metav1.ConditionTrue)
	c.define("frameworks/jax/framework.yaml", "not-served", "Deployment", metav1.ConditionFalse)
	stay := []client.Object{
		c.make(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "precious"}}),
		c.make(deployment("victims", "precious")), c.make(deployment("evil", "own")),
		c.make(jaxJob("victims", "trains")), c.make(jaxJob("evil", "trains")),
		c.make(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: "core"}}),
	}
	goes := []client.Object{c.make(jaxJob("victims", "ours"))}
	trains := stay[3].GetUID()
	for _, o := range []client.Object{
		ownedJob("victims", "ours", "frameworks.example.com/v1alpha1", "JAXJob", "ours", goes[0].GetUID()),
		ownedJob("evil", "cluster-role", "rbac.authorization.k8s.io/v1", "ClusterRole", "precious", stay[0].GetUID()),
		ownedJob("evil", "line", "frameworks.example.com/v1alpha1", "JAXJob", "x\nvictims Deployment apps/v1 precious", "x"),
		ownedJob("evil", "line-in-uid", "frameworks.example.com/v1alpha1", "JAXJob", "x", "x\nvictims/trains/"+trains),
		ownedJob("evil", "flag", "frameworks.example.com/v1alpha1", "JAXJob", "--all", "--all"),
		ownedJob("evil", "core", "v1", "ConfigMap", "core", stay[5].GetUID()),
		ownedJob("evil", "own", "apps/v1", "Deployment", "own", stay[2].GetUID()),
		ownedJob("evil", "trains", "frameworks.example.com/v1alpha1", "JAXJob", "trains", trains), // the UID of another's
	} {
		goes = append(goes, c.make(o))
	}
	text := c.undeploy("UNDEPLOY_WAIT=600")
	for _, o := range stay {
		require.True(t, c.isThere(o), "%T %s/%s\n%s", o, o.GetNamespace(), o.GetName(), text)
	}
	for _, o := range goes {
		require.False(t, c.isThere(o), "%T %s/%s\n%s", o, o.GetNamespace(), o.GetName(), text)
	}
}

// Pods that nobody will release are released, and jobs of a kind that only the admin knows of go when he names it.
func TestUndeployReleasesPodsAndDeletesKindsThatAreNamed(t *testing.T) {
	c := newCluster(t)
	c.make(namespace("team"))
	job, alone := c.make(jaxJob("team", "train")), c.make(jaxJob("team", "has-no-generic-job"))
	c.make(ownedJob("team", "train", "frameworks.example.com/v1alpha1", "JAXJob", "train", job.GetUID()))
	pod := c.make(&corev1.Pod{Spec: onePod(), ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "train-worker-0", Finalizers: []string{"batch.tensorstack.dev/tracking"},
		Labels: map[string]string{v1beta1.LabelJobUID: "x"},
	}})
	text := c.undeploy("UNDEPLOY_WAIT=20", "UNDEPLOY_KINDS=jaxjobs.frameworks.example.com nothings.example.com $(false) --all")
	require.False(t, c.isThere(job), text)
	require.False(t, c.isThere(pod), text)
	require.True(t, c.isThere(alone), text)
	require.Contains(t, text, "nothings.example.com could not be listed; its jobs stay")
}

// TestUndeployGoesOnWhereItWasInterrupted: the kind GenericJob was gone, and another was not yet.
func TestUndeployGoesOnWhereItWasInterrupted(t *testing.T) {
	folder := t.TempDir()
	kubectl, calls := filepath.Join(folder, "kubectl"), filepath.Join(folder, "calls")
	require.NoError(t, os.WriteFile(kubectl, []byte(`#!/usr/bin/env bash
echo "$*" >>"$CALLS"
case "$*" in
"get --kustomize"*deploy/crd* | "get --kustomize ./crd"*) echo customresourcedefinition.apiextensions.k8s.io/pytorchtrainingjobs.batch.tensorstack.dev ;;
*genericjobs*) echo 'error: the server does not have a resource type "genericjobs"' >&2; exit 1 ;;
esac
`), 0o700))
	c := exec.CommandContext(t.Context(), "./undeploy.sh")
	c.Env = append(os.Environ(), "KUBECTL="+kubectl, "CALLS="+calls)
	text, err := c.CombinedOutput()
	require.NoError(t, err, "%s", text)
	done, err := os.ReadFile(calls)
	require.NoError(t, err)
	require.Contains(t, string(done), "delete pytorchtrainingjobs.batch.tensorstack.dev --all", "the script's own kinds")
	require.Contains(t, string(done), "delete --kustomize ./default", "the operator goes, too")
}
