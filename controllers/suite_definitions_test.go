package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/definitions"
)

// newKind is the kind of a test.
func newKind(name string) v1beta1.FrameworkKind {
	return v1beta1.FrameworkKind{Group: strings.ToLower(name) + ".example.com", Version: "v1alpha1", Kind: name}
}

// installKind gives the cluster JAXJobs under another name.
func (c *cluster) installKind(kind v1beta1.FrameworkKind) {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "crd.yaml"))
	require.NoError(c.t, err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(c.t, yaml.UnmarshalStrict(raw, crd))
	lower := strings.ToLower(kind.Kind)
	crd.Name = lower + "s." + kind.Group
	crd.Spec.Group = kind.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: lower + "s", Singular: lower}
	require.NoError(c.t, c.Create(c.ctx, crd))
	c.until(kind.Kind+" is served", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		return c.List(c.ctx, list) == nil
	})
}

// grantKind lets the operator do with the kind what the role of the catalog says. Kubernetes' controller of aggregated roles, which
// does not run here, would add it to the operator's.
func (c *cluster) grantKind(kind v1beta1.FrameworkKind) {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "roles.yaml"))
	require.NoError(c.t, err)
	plural := strings.ToLower(kind.Kind) + "s"
	first, _, _ := strings.Cut(strings.NewReplacer("frameworks.example.com", kind.Group, "jaxjobs", plural).Replace(string(raw)), "\n---\n")
	role := &rbacv1.ClusterRole{}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(first), role))
	require.Equal(c.t, map[string]string{definitions.LabelAggregate: "true"}, role.Labels)
	role.Name = plural
	require.NoError(c.t, c.Create(c.ctx, role))
	require.NoError(c.t, c.Create(c.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: plural},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: plural},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:serviceaccount:system:manager"}},
	}))
}

// define applies the definition of JAX for another kind.
func (c *cluster) define(name string, kind v1beta1.FrameworkKind, edits ...string) *v1beta1.TrainingFramework {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "framework.yaml"))
	require.NoError(c.t, err)
	f := &v1beta1.TrainingFramework{}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.NewReplacer(edits...).Replace(string(raw))), f))
	f.Name, f.Spec.Kind = name, kind
	have := &v1beta1.TrainingFramework{}
	err = c.Get(c.ctx, client.ObjectKey{Name: name}, have)
	if apierrors.IsNotFound(err) {
		require.NoError(c.t, c.Create(c.ctx, f))
		c.t.Cleanup(func() { _ = c.Delete(context.Background(), f) }) // the test's own context has ended
		return f
	}
	require.NoError(c.t, err)
	have.Spec = f.Spec
	c.until("the definition is edited", func() bool {
		err := c.Update(c.ctx, have)
		if apierrors.IsConflict(err) {
			require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: name}, have))
			have.Spec = f.Spec
		}
		return err == nil
	})
	return have
}

// awaitDefinition waits until a condition of a definition is so, and answers to its newest edit.
func (c *cluster) awaitDefinition(name, condition string, is metav1.ConditionStatus, reason string) (*v1beta1.TrainingFramework, string) {
	c.t.Helper()
	f := &v1beta1.TrainingFramework{}
	var have *metav1.Condition
	c.until(fmt.Sprintf("TrainingFramework %s is %s=%s, %s", name, condition, is, reason), func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: name}, f))
		have = meta.FindStatusCondition(f.Status.Conditions, condition)
		return have != nil && have.Status == is && have.Reason == reason && have.ObservedGeneration == f.Generation
	})
	return f, have.Message
}

// submitJAX creates a job of a kind of a definition, with one process that has these arguments.
func (c *cluster) submitJAX(kind v1beta1.FrameworkKind, name, arguments string) *unstructured.Unstructured {
	c.t.Helper()
	job := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal([]byte(fmt.Sprintf(`{apiVersion: %s/%s, kind: %s, metadata: {name: %s, namespace: %s},
		spec: {template: {spec: {containers: [{name: jax, image: busybox, args: %s}]}}}}`, kind.Group, kind.Version, kind.Kind, name, c.ns, arguments)), &job.Object))
	require.NoError(c.t, c.Create(c.ctx, job))
	return job
}

func (c *cluster) awaitJAX(job *unstructured.Unstructured, phase v1beta1.JobPhase) {
	c.t.Helper()
	c.until(fmt.Sprintf("%s %s is %s", job.GetKind(), job.GetName(), phase), func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		shown, _, _ := unstructured.NestedString(job.Object, "status", "phase")
		return shown == string(phase)
	})
}

// awaitCompiled waits for the GenericJob of a job.
func (c *cluster) awaitCompiled(name string) *v1beta1.GenericJob {
	c.t.Helper()
	c.until("GenericJob "+name, func() bool {
		return c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, &v1beta1.GenericJob{}) == nil
	})
	return c.job(name)
}

func envOf(job *v1beta1.GenericJob) string {
	return job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env[3].Name
}

// watches is how many watches of a resource the apiserver has.
func (c *cluster) watches(resource string) int {
	c.t.Helper()
	set, err := kubernetes.NewForConfig(apiserver)
	require.NoError(c.t, err)
	raw, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(c.ctx)
	require.NoError(c.t, err)
	n := 0
	for _, line := range regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*resource="`+resource+`".*\} (\d+)$`).FindAllStringSubmatch(string(raw), -1) {
		var one int
		_, err := fmt.Sscan(line[1], &one)
		require.NoError(c.t, err)
		n += one
	}
	return n
}

// awaitHeld waits until a job is blocked for its spec, and returns why.
func (c *cluster) awaitHeld(job *unstructured.Unstructured) (message string) {
	c.t.Helper()
	c.until(job.GetName()+" is blocked", func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		list, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
		for _, one := range list {
			condition := one.(map[string]any)
			if condition["type"] == string(v1beta1.ConditionBlocked) && condition["status"] == "True" {
				message = condition["message"].(string)
				return condition["reason"] == v1beta1.ReasonRevisionUnknown
			}
		}
		return false
	})
	return message
}
