package compact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/hostile"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	mpi "github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// worker is a job of a template that takes so many bytes.
func worker(bytes int) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{
		Name: "large", Namespace: "default", UID: "u", ResourceVersion: "7", Generation: 3, Labels: map[string]string{"a": "b"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "A", UID: "1"}, {Kind: "B", UID: "2", Controller: ptr.To(true)}},
	}}
	job.Spec.SuccessRules = []v1beta1.FinishRule{{"worker": nil}, {"worker": {intstr.FromInt32(0), intstr.FromString("1")}}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "i", Args: []string{strings.Repeat("<", bytes)}}},
	}}}}
	job.Status.Phase = v1beta1.JobRunning
	return job
}

func text(t *testing.T, o any) string {
	t.Helper()
	raw, err := json.Marshal(o)
	require.NoError(t, err)
	return string(raw)
}

func TestALargeJobIsHeldAsJSONAndOpenedAsItWas(t *testing.T) {
	job := worker(100_000)
	want := job.DeepCopy()
	for range 2 { // an informer may call a transform again
		_, err := Object(job)
		require.NoError(t, err)
		require.Empty(t, job.Spec)
		require.Equal(t, want.Status, job.Status)
		require.Equal(t, []metav1.OwnerReference{want.OwnerReferences[1]}, job.OwnerReferences)
		require.InDelta(t, 100_000, size(job), 2000, "a character is not written as six")
	}
	require.NoError(t, open(job))
	require.Equal(t, want, job)

	small := worker(1000)
	want = small.DeepCopy()
	_, err := Object(small)
	require.NoError(t, err)
	require.Equal(t, want, small)
}

// kinds are all kinds of apis that are packed, and those of Kubernetes that a cache holds as they are.
func kinds(t *testing.T) []client.Object {
	t.Helper()
	list := []client.Object{&appsv1.Deployment{}, &autoscalingv2.HorizontalPodAutoscaler{}}
	for version, add := range map[schema.GroupVersion]func(*runtime.Scheme) error{
		v1beta1.GroupVersion: v1beta1.AddToScheme, kubeflow.GroupVersion: kubeflow.AddToScheme, mpi.GroupVersion: mpi.AddToScheme,
	} {
		scheme := runtime.NewScheme()
		require.NoError(t, add(scheme))
		for kind := range scheme.KnownTypes(version) {
			if o, err := scheme.New(version.WithKind(kind)); err == nil && kind != v1beta1.KindTrainingFramework && scheme.Recognizes(version.WithKind(kind+"List")) {
				list = append(list, o.(client.Object))
			}
		}
	}
	require.Greater(t, len(list), 10)
	return list
}

func TestOddObjectsOfAllKindsAreOpenedAsTheyWere(t *testing.T) {
	all := kinds(t)
	for seed := range 400 {
		for _, kind := range all {
			o := kind.DeepCopyObject().(client.Object)
			s := hostile.FromSeed(seed)
			s.Mutate(o, 1+s.N(8))
			o.SetAnnotations(map[string]string{"a": strings.Repeat("x", maxPlain)})
			o.GetObjectKind().SetGroupVersionKind(v1beta1.GroupVersion.WithKind("Any"))
			// As it comes from the apiserver.
			require.NoError(t, json.Unmarshal([]byte(text(t, o)), o))
			o.SetManagedFields(nil)
			want := o.DeepCopyObject()
			_, err := Object(o)
			require.NoError(t, err)
			require.NotZero(t, size(o))
			require.NoError(t, open(o))
			same := text(t, want) == text(t, o) && equality.Semantic.DeepEqual(want, o)
			require.True(t, same, "%T, seed %d", o, seed) // what differs would be too long to be shown
		}
	}
}

// TestNobodyCanForgeAPackedObject: what a reconcile would open is not what a tenant has written there.
func TestNobodyCanForgeAPackedObject(t *testing.T) {
	scheme := newScheme(t)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	for i, o := range []client.Object{worker(1), &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}} {
		o.SetName(fmt.Sprint("forged-", i))
		o.SetNamespace("default")
		o.SetResourceVersion("")
		o.SetOwnerReferences(nil)
		o.SetUID("")
		require.NoError(t, c.Create(t.Context(), o.DeepCopyObject().(client.Object), client.DryRunAll))
		o.SetAnnotations(map[string]string{packedIn: "{}"})
		err := c.Create(t.Context(), o)
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, "metadata.annotations")
	}
}

func TestPodsAndConfigMapsKeepLittleOfWhatTheirAuthorsWrote(t *testing.T) {
	many := func(of string) []string { return []string{of + "/1", v1beta1.FinalizerTracking, of + "/2"} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Finalizers: many("example.com"), Labels: map[string]string{"x": "y", v1beta1.LabelJobUID: "u"},
		OwnerReferences: worker(1).OwnerReferences,
	}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	_, err := Object(pod)
	require.NoError(t, err)
	require.Equal(t, []string{v1beta1.FinalizerTracking}, pod.Finalizers)
	require.Equal(t, worker(1).OwnerReferences[1:], pod.OwnerReferences)
	require.Equal(t, map[string]string{v1beta1.LabelJobUID: "u"}, pod.Labels)

	data := &corev1.ConfigMap{ObjectMeta: pod.ObjectMeta, Data: map[string]string{"a": strings.Repeat("x", 1000)}}
	_, err = Object(data)
	require.NoError(t, err)
	require.Empty(t, data.Data)
	require.Equal(t, "p", data.Name)
	require.Equal(t, worker(1).OwnerReferences[1:], data.OwnerReferences)
}

// The apiserver bounds the text of no reference. One pod with the name of a megabyte would be a megabyte in the cache, and another in the
// index of pods by their job.
func TestAReferenceToNoPossibleControllerIsNotKept(t *testing.T) {
	for name, set := range map[string]func(*metav1.OwnerReference, string){
		"name": func(r *metav1.OwnerReference, s string) { r.Name = s },
		"uid":  func(r *metav1.OwnerReference, s string) { r.UID = types.UID(s) },
		"kind": func(r *metav1.OwnerReference, s string) { r.Kind = s },
	} {
		for _, o := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &metav1.PartialObjectMetadata{}} {
			ref := metav1.OwnerReference{APIVersion: "v1", Kind: "K", Name: "n", UID: "u", Controller: ptr.To(true)}
			set(&ref, strings.Repeat("x", 253))
			o.SetOwnerReferences([]metav1.OwnerReference{ref})
			_, err := Object(o)
			require.NoError(t, err)
			require.Equal(t, []metav1.OwnerReference{ref}, o.GetOwnerReferences(), "%s of %T", name, o)
			set(&ref, strings.Repeat("x", 1<<20))
			o.SetOwnerReferences([]metav1.OwnerReference{ref})
			_, err = Object(o)
			require.NoError(t, err)
			require.Empty(t, o.GetOwnerReferences(), "%s of %T", name, o)
		}
	}
}

// TestALargeServiceKeepsWhatAReconcileCompares: a reconcile reads all Services of a job, and there may be any number.
func TestALargeServiceKeepsWhatAReconcileCompares(t *testing.T) {
	service := func(ports, bytes int) *corev1.Service {
		s := &corev1.Service{ObjectMeta: worker(1).ObjectMeta}
		s.Annotations = map[string]string{"a": strings.Repeat("x", bytes)}
		s.Spec.Selector = map[string]string{v1beta1.LabelJobUID: "u"}
		for i := range ports {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1)})
		}
		return s
	}
	small := service(2, 1000)
	want := small.DeepCopy()
	_, err := Object(small)
	require.NoError(t, err)
	require.Equal(t, want, small)

	for ports, kept := range map[int]int{64: 64, 3000: mostPorts} {
		s := service(ports, 200_000)
		want := s.DeepCopy()
		for range 2 { // an informer may call a transform again
			_, err := Object(s)
			require.NoError(t, err)
			require.Less(t, s.Size(), maxPlain)
			require.Equal(t, want.Spec.Ports[:kept], s.Spec.Ports)
			require.Equal(t, []string{want.Name, string(want.UID), want.ResourceVersion}, []string{s.Name, string(s.UID), s.ResourceVersion})
			require.Equal(t, want.OwnerReferences[1:], s.OwnerReferences)
			require.False(t, SpecIsPacked(s))
		}
	}
}
