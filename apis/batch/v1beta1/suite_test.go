package v1beta1_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// cluster is the apiserver that all tests of this package share.
var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }))
}

// newClient is a client whose requests fail where the apiserver would drop a field.
func newClient(t *testing.T) client.Client {
	t.Helper()
	return client.WithFieldValidation(lenientClient(t, nil), metav1.FieldValidationStrict)
}

// lenientClient is a client as kubectl's is: fields that the schema does not know are dropped, with a warning.
func lenientClient(t *testing.T, warnings rest.WarningHandler) client.Client {
	t.Helper()
	config := rest.CopyConfig(cluster.Config)
	config.WarningHandler = warnings
	c, err := client.New(config, client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	return c
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	return scheme
}

// kinds are an empty object of each of our kinds of jobs, by the kind's name. A TrainingFramework is no job: see its own tests.
func kinds(t *testing.T) map[string]client.Object {
	t.Helper()
	found := map[string]client.Object{}
	for kind, goType := range newScheme(t).KnownTypes(v1beta1.GroupVersion) {
		if o, ok := reflect.New(goType).Interface().(client.Object); ok && kind != v1beta1.KindTrainingFramework {
			found[kind] = o
		}
	}
	require.Contains(t, found, v1beta1.KindGenericJob)
	return found
}

// manifest is what a user would write to get j.
func manifest(t *testing.T, j client.Object) *unstructured.Unstructured {
	t.Helper()
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(j)
	require.NoError(t, err)
	delete(object, "status")
	u := &unstructured.Unstructured{Object: object}
	gvk, err := apiutil.GVKForObject(j, newScheme(t))
	require.NoError(t, err)
	u.SetGroupVersionKind(gvk)
	return u
}

// newNamespace makes a namespace. Nobody deletes it: the apiserver dies with the tests.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	require.NoError(t, c.Create(t.Context(), ns))
	return ns.Name
}

// job is the smallest job that has all that the rules speak of.
func job(edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	j := &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job"},
		Spec: v1beta1.GenericJobSpec{
			SuccessRules: []v1beta1.FinishRule{{"ps": nil}},
			FailureRules: []v1beta1.FinishRule{{"worker": nil}},
			Service:      &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: "http", Port: 2222}}},
			Scheduler:    &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: "default"}},
			ReplicaSpecs: []v1beta1.ReplicaSpec{replicas("ps", 1), replicas("worker", 3)},
		},
	}
	for _, edit := range edits {
		edit(j)
	}
	return j
}

func replicas(replicaType string, n int32) v1beta1.ReplicaSpec {
	return v1beta1.ReplicaSpec{
		Type:          replicaType,
		Replicas:      ptr.To(n),
		RestartPolicy: &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, Limit: ptr.To[int32](1)},
		Template:      template("main"),
	}
}

// template is a pod template with containers of these names.
func template(containers ...string) corev1.PodTemplateSpec {
	t := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{}}}
	for _, name := range containers {
		t.Spec.Containers = append(t.Spec.Containers, corev1.Container{Name: name, Image: "image:1"})
	}
	return t
}

// said is what an apiserver says of a refusal, as the newest ones word it. Others say in between, in their own
// language, of what type the value is that a rule refuses or that is there twice.
func said(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(ofType.ReplaceAllString(err.Error(), "Invalid value: "), "map[string]interface {}{", "{")
}

var ofType = regexp.MustCompile(`Invalid value: "(object|array|string|integer)": `)

// named renames a job, to a name of n characters if it is too short.
func named[T client.Object](name string, n int) func(T) {
	return func(j T) { j.SetName(name + strings.Repeat("x", max(0, n-len(name)))) }
}

// all is several edits in one.
func all[T any](edits ...func(T)) func(T) {
	return func(j T) {
		for _, e := range edits {
			e(j)
		}
	}
}
