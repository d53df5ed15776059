package definitions

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// TestAKindThatCannotBeListedHidesNoOther: a conversion webhook that is down, for example. CRDs of kinds that are defined are not read, for they are
// large.
func TestAKindThatCannotBeListedHidesNoOther(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	kind := func(name string) schema.GroupVersionKind {
		return schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: name}
	}
	crd := func(name string) *apiextensionsv1.CustomResourceDefinition {
		return &apiextensionsv1.CustomResourceDefinition{
			ObjectMeta: metav1.ObjectMeta{Name: definition.CRDName(name, "example.com"), Annotations: map[string]string{v1beta1.AnnotationSchema: "made"}},
			Spec: apiextensionsv1.CustomResourceDefinitionSpec{
				Group: "example.com", Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: name}, Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true}},
			},
		}
	}
	objects := []client.Object{crd("DefinedJob"), crd("BrokenJob"), crd("OtherJob"), &v1beta1.TrainingFramework{
		ObjectMeta: metav1.ObjectMeta{Name: "defined"}, Spec: v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "DefinedJob"}},
	}}
	deleted := &v1beta1.TrainingFramework{ // in the foreground, as Argo CD does it
		ObjectMeta: metav1.ObjectMeta{Name: "goes", DeletionTimestamp: &metav1.Time{Time: time.Now()}, Finalizers: []string{metav1.FinalizerDeleteDependents}},
		Spec:       v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "TheirJob"}},
	}
	objects = append(objects, deleted)
	for _, name := range []string{"BrokenJob", "OtherJob", "DefinedJob", "TheirJob"} {
		scheme.AddKnownTypeWithName(kind(name), &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind(name+"List"), &unstructured.UnstructuredList{})
	}
	for _, name := range []string{"BrokenJob", "OtherJob", "TheirJob"} {
		job := &unstructured.Unstructured{}
		job.SetGroupVersionKind(kind(name))
		job.SetNamespace("team")
		job.SetName("waits")
		job.SetUID(types.UID("uid-of-" + name))
		objects = append(objects, job)
	}
	var read []string
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "BrokenJobList" {
				return errors.New("conversion webhook: connection refused")
			}
			return c.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
			if _, ok := o.(*apiextensionsv1.CustomResourceDefinition); ok {
				read = append(read, key.Name)
			}
			return c.Get(ctx, key, o, options...)
		},
	}).Build()
	recorder := events.NewFakeRecorder(10)
	u := newUnserved(&Reconciler{Client: c, Live: c, Recorder: recorder}, logr.Discard())
	u.add(kind("TheirJob"))
	require.ErrorContains(t, u.look(t.Context()), "look for jobs of kind BrokenJob: conversion webhook")
	require.Equal(t, []string{"brokenjobs.example.com", "otherjobs.example.com"}, read)
	require.Contains(t, <-recorder.Events, "No TrainingFramework serves the kind OtherJob")
	require.Len(t, recorder.Events, 1, "the job of a definition that is being deleted hears of it, too")
	require.Contains(t, <-recorder.Events, "No TrainingFramework serves the kind TheirJob")
	require.ErrorContains(t, u.look(t.Context()), "BrokenJob")
	require.Empty(t, recorder.Events)
}

// TestAKindThatTheClusterDoesNotHaveAnyMoreIsForgotten: to ask for it makes the client look all kinds up again. One that may not be listed may be
// later.
func TestAKindThatTheClusterDoesNotHaveAnyMoreIsForgotten(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, apiextensionsv1.AddToScheme(scheme))
	kind := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "GoneJob"}
	resource := schema.GroupResource{Group: kind.Group, Resource: "gonejobs"}
	for kept, answers := range map[bool][]error{
		true:  {apierrors.NewForbidden(resource, "", errors.New("no rights")), errors.New("connection refused")},
		false: {apierrors.NewNotFound(resource, ""), &meta.NoKindMatchError{GroupKind: kind.GroupKind(), SearchedVersions: []string{kind.Version}}},
	} {
		for _, answer := range answers {
			c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if list.GetObjectKind().GroupVersionKind().Kind == "GoneJobList" {
						return answer
					}
					return c.List(ctx, list, options...)
				},
			}).Build()
			u := newUnserved(&Reconciler{Client: c, Live: c}, logr.Discard())
			u.add(kind)
			_ = u.look(t.Context())
			require.Equal(t, kept, u.gone[kind], "%v", answer)
		}
	}
}
