package controllers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// What etcd holds of a namespace, as a file, and from a file. Objects that came through the apiserver would have other
// UIDs, by which everything belongs together, and would be as this version's apiserver wants them.

// shelves are where etcd keeps the kinds that make up jobs, owners first.
var shelves = []struct {
	kind  schema.GroupVersionKind
	shelf string
}{
	{v1beta1.GroupVersion.WithKind("TensorFlowTrainingJob"), "batch.tensorstack.dev/tensorflowtrainingjobs"},
	{v1beta1.GroupVersion.WithKind("PyTorchTrainingJob"), "batch.tensorstack.dev/pytorchtrainingjobs"},
	{kubeflowv1.GroupVersion.WithKind("PyTorchJob"), "kubeflow.org/pytorchjobs"},
	{v1beta1.GroupVersion.WithKind("GenericJob"), "batch.tensorstack.dev/genericjobs"},
	{schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "configmaps"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Service"}, "services/specs"},
	{schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "pods"},
}

func writeStored(c *cluster, folder string) {
	c.t.Helper()
	var documents []string
	for _, s := range shelves {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(s.kind)
		require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(c.ns)))
		require.NoError(c.t, meta.EachListItem(list, func(o runtime.Object) error {
			u := o.(*unstructured.Unstructured)
			u.SetManagedFields(nil)
			u.SetResourceVersion("")
			text, err := u.MarshalJSON() // which is YAML, on one line
			documents = append(documents, string(text))
			return err
		}))
	}
	text := "# What etcd held of jobs in the middle of their lives: written by make prepare-release.\n" + strings.Join(documents, "---\n")
	require.NoError(c.t, os.WriteFile(filepath.Join(folder, "stored.yaml"), []byte(text), 0o644))
}

func readStored(t *testing.T, folder string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "stored.yaml"))
	require.NoError(t, err)
	var objects []*unstructured.Unstructured
	for _, document := range strings.Split(string(text), "\n---\n") {
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(document), &u.Object))
		objects = append(objects, u)
	}
	return objects
}

// restore puts the objects where the apiserver would have written them, and waits until it serves them.
func restore(c *cluster, env *envtest.Environment, objects []*unstructured.Unstructured) {
	c.t.Helper()
	for _, u := range objects {
		value, err := u.MarshalJSON()
		require.NoError(c.t, err)
		put(c, env, fmt.Sprintf("/registry/%s/%s/%s", shelfOf(c.t, u), u.GetNamespace(), u.GetName()), value)
	}
	for _, u := range objects {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(u.GroupVersionKind())
		c.until("the apiserver has "+u.GetName(), func() bool { return c.Get(c.ctx, client.ObjectKeyFromObject(u), have) == nil })
		require.Equal(c.t, u.GetUID(), have.GetUID())
	}
}

func shelfOf(t *testing.T, u *unstructured.Unstructured) string {
	t.Helper()
	for _, s := range shelves {
		if s.kind == u.GroupVersionKind() {
			return s.shelf
		}
	}
	require.FailNow(t, "no shelf", "of %s", u.GroupVersionKind())
	return ""
}

// put asks etcd by JSON: Go sends bytes as base64 there, and that is how etcd wants them.
func put(c *cluster, env *envtest.Environment, key string, value []byte) {
	c.t.Helper()
	body, err := json.Marshal(map[string][]byte{"key": []byte(key), "value": value})
	require.NoError(c.t, err)
	address := env.ControlPlane.Etcd.URL.JoinPath("v3/kv/put").String()
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, address, bytes.NewReader(body))
	require.NoError(c.t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(c.t, err)
	defer response.Body.Close()
	require.Equal(c.t, http.StatusOK, response.StatusCode, key)
}

// requireReadable reads an object as the operator does. One of our kinds must be what this version would take from anybody.
func requireReadable(c *cluster, u *unstructured.Unstructured) {
	c.t.Helper()
	typed, err := c.Scheme().New(u.GroupVersionKind())
	require.NoError(c.t, err)
	strictly := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, typed, true)
	require.NoError(c.t, strictly, "%s %s has a field that is gone", u.GetKind(), u.GetName())
	if u.GroupVersionKind().Group == "" {
		return
	}
	another := u.DeepCopy()
	another.SetName(u.GetName() + "-2")
	another.SetUID("")
	another.SetCreationTimestamp(metav1.Time{})
	strict := client.WithFieldValidation(c.WithWatch, metav1.FieldValidationStrict)
	require.NoError(c.t, strict.Create(c.ctx, another, client.DryRunAll), "%s %s", u.GetKind(), u.GetName())
}
