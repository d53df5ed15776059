package controllers

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/definitions"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// oneStore is a cache that holds objects of any kind in one store.
type oneStore struct {
	cache.Cache
	cache.Informer
	held toolscache.Indexer
}

func (s oneStore) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return struct {
		cache.Informer
		indexed
	}{s.Informer, indexed{s.held}}, nil
}

type indexed struct{ in toolscache.Indexer }

func (i indexed) GetIndexer() toolscache.Indexer { return i.in }

// held returns an object as the cache has it. A large one is packed there.
func held[T client.Object](t *testing.T, o T, bytes int) T {
	t.Helper()
	o.SetAnnotations(map[string]string{"size": strings.Repeat("x", bytes)})
	_, err := compact.Object(o)
	require.NoError(t, err)
	require.Equal(t, bytes > 16<<10, compact.SpecIsPacked(o))
	return o
}

// TestAJobOfAnotherClusterIsNotCounted: its status is a copy of what there is elsewhere.
func TestAJobOfAnotherClusterIsNotCounted(t *testing.T) {
	for _, bytes := range []int{10, 20_000} {
		jobs := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, nil)
		for name, by := range map[string]*v1beta1.ManagedBy{"ours": nil, "theirs": ptr.To(v1beta1.ManagedByMultiKueue)} {
			job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: name}, Spec: v1beta1.GenericJobSpec{ManagedBy: by}}
			job.Status.Phase = v1beta1.JobRunning
			require.NoError(t, jobs.Add(held(t, job, bytes)))
		}
		elected := make(chan struct{})
		close(elected)
		reader := &jobReader{ctx: t.Context(), cache: oneStore{held: jobs}, elected: elected, defined: func() []definitions.Kind { return nil }}
		var counted []string
		require.True(t, reader.each(func(job metrics.Job) { counted = append(counted, job.Namespace) }))
		require.Equal(t, []string{"ours"}, counted, "%d bytes", bytes)

		for by, want := range map[v1beta1.ManagedBy]bool{v1beta1.ManagedByGenericJob: true, v1beta1.ManagedByMultiKueue: false} {
			job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "x", UID: types.UID(by)}}
			job.Spec.ManagedBy, job.Status.Phase = &by, v1beta1.JobRunning
			_, is := trainingJob(v1beta1.GroupVersion.WithKind("TensorFlowTrainingJob"), registered(), held(t, job, bytes), nil)
			require.Equal(t, want, is, "%s, %d bytes", by, bytes)
		}
	}
}

func registered() framework.Registration { return framework.Register(tensorflow.Translator) }
