package operator

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// TestANameOfAMegabyteIsNotLoggedWhole: the apiserver quotes what it refuses, and the operator tries again.
func TestANameOfAMegabyteIsNotLoggedWhole(t *testing.T) {
	long := strings.Repeat("n", 1<<20)
	var out bytes.Buffer
	l := terse(zap.New(zap.WriteTo(&out)))
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", Annotations: map[string]string{"a": long}}}
	for name, log := range map[string]func(){
		"message":    func() { l.Info(long) },
		"text":       func() { l.Info("m", "key", long) },
		"kind":       func() { l.Info("m", "key", corev1.PodPhase(long)) },
		"error":      func() { l.Error(errors.New(long), "m") },
		"errors":     func() { l.Error(errors.Join(errors.New(long), errors.New(long)), long, "key", errors.New(long)) },
		"list":       func() { l.Info("m", "key", []string{long, long}) },
		"status":     func() { l.Info("m", "key", metav1.Status{Message: long}) },
		"object":     func() { l.Info("m", "key", pod) },
		"values":     func() { l.WithValues("key", long).WithName("name").Info("m") },
		"bytes":      func() { l.Info("m", "key", []byte(long)) },
		"what it is": func() { l.WithName("n").V(0).WithValues("a", long).Error(errors.New(long), "m", "b", long) },
	} {
		out.Reset()
		log()
		require.NotEmpty(t, out.String(), name)
		require.Less(t, out.Len(), 12_000, name)
	}
	out.Reset()
	l.Info("short", "key", "value", "of", types.NamespacedName{Namespace: "ns", Name: "job"}, "pod", pod, "n", 3)
	for _, want := range []string{`"msg":"short"`, `"key":"value"`, `{"name":"job","namespace":"ns"}`, `"name":"pod"`, `"n":3`} {
		require.Contains(t, out.String(), want)
	}
}

// client-go calls it an error that an event has nowhere to go any more.
func TestWhatComesTooLateForItsNamespaceIsNoError(t *testing.T) {
	ending := apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "e", errors.New("unable to create new content"))
	ending.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "ns")
	var out bytes.Buffer
	l := terse(zap.New(zap.WriteTo(&out)))
	for _, err := range []error{ending, gone, fmt.Errorf("create: %w", gone)} {
		l.Error(err, "Server rejected event (will not retry!)")
		require.Empty(t, out.String())
		terse(zap.New(zap.WriteTo(&out), zap.UseDevMode(true))).Error(err, "Server rejected event (will not retry!)")
		require.Contains(t, out.String(), "DEBUG")
		out.Reset()
	}
	l.Error(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "p"), "m")
	require.Contains(t, out.String(), `"level":"error"`)
}
