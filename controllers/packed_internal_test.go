package controllers

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/controllers/definitions"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// oneStore is a cache that holds objects of any kind in one store.
type oneStore struct {
	cache.Cache
	cache.Informer
	objects toolscache.Indexer
}

func (s oneStore) GetInformerForKind(context.Context, schema.GroupVersionKind, ...cache.InformerGetOption) (cache.Informer, error) {
	return struct {
		cache.Informer
		indexed
	}{s.Informer, indexed{s.objects}}, nil
}

type indexed struct{ in toolscache.Indexer }

func (i indexed) GetIndexer() toolscache.Indexer { return i.in }

// cached returns an object as the cache has it. A large one is packed there.
func cached[T client.Object](t *testing.T, o T, bytes int) T {
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
			require.NoError(t, jobs.Add(cached(t, job, bytes)))
		}
		elected := make(chan struct{})
		close(elected)
		reader := &jobReader{ctx: t.Context(), cache: oneStore{objects: jobs}, elected: elected, defined: func() []definitions.Kind { return nil }}
		var counted []string
		require.True(t, reader.each(func(job metrics.Job) { counted = append(counted, job.Namespace) }))
		require.Equal(t, []string{"ours"}, counted, "%d bytes", bytes)
	}
}

// TestADefinitionServesWhileItsJobsAreRead: they are told of their phases by their own reconciler, as soon as it knows them. GenericJobs' would tell the
// same before. An operator that has just started finds what the last one wrote.
func TestADefinitionServesWhileItsJobsAreRead(t *testing.T) {
	all := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, nil)
	for kind, serving := range map[string]metav1.ConditionStatus{"FilledJob": metav1.ConditionTrue, "FillingJob": metav1.ConditionUnknown, "RefusedJob": metav1.ConditionFalse, "EndingJob": metav1.ConditionTrue} {
		f := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: kind}, Spec: v1beta1.TrainingFrameworkSpec{Kind: v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: kind}}}
		f.Status.Conditions = []metav1.Condition{{Type: v1beta1.FrameworkServing, Status: serving}}
		if kind == "EndingJob" {
			f.DeletionTimestamp = &metav1.Time{}
		}
		require.NoError(t, all.Add(f))
	}
	elected := make(chan struct{})
	close(elected)
	reader := &jobReader{ctx: t.Context(), cache: oneStore{objects: all}, elected: elected, hasDefinitions: true, defined: func() []definitions.Kind { return nil }}
	serves := func(kind string) bool {
		return reader.serves(&metav1.OwnerReference{APIVersion: "example.com/v1", Kind: kind})
	}
	for kind, want := range map[string]bool{"FilledJob": true, "FillingJob": true, "RefusedJob": false, "EndingJob": false, "UnknownJob": false} {
		require.Equal(t, want, serves(kind), kind)
	}
	require.False(t, reader.serves(&metav1.OwnerReference{APIVersion: "other.com/v1", Kind: "FilledJob"}), "a kind of the same name")
	reader.hasDefinitions = false
	require.False(t, serves("FilledJob"), "this operator serves no definitions")
}

// TestATrainingJobOfAnotherClusterIsNotCounted, of whatever kind and size, before its end and after it. A kind whose translator knows foreign jobs
// must be known to compact, too.
func TestATrainingJobOfAnotherClusterIsNotCounted(t *testing.T) {
	frameworks := append(translators.All(), kubeflow.All("", true)...)
	scheme, err := NewScheme(frameworks...)
	require.NoError(t, err)
	for _, f := range frameworks {
		kind, err := apiutil.GVKForObject(f.New(), scheme)
		require.NoError(t, err)
		for _, phase := range []v1beta1.JobPhase{v1beta1.JobRunning, v1beta1.JobSucceeded} {
			for _, bytes := range []int{10, 20_000} {
				for by, want := range map[string]bool{"{}": true, `{"managedBy": "kueue.x-k8s.io/multikueue"}`: false} {
					which := fmt.Sprintf("%s %s of %d bytes, %s", phase, kind.Kind, bytes, by)
					job := f.New()
					require.NoError(t, json.Unmarshal([]byte(`{"spec": `+by+`}`), job))
					if strings.HasPrefix(kind.Group, "kubeflow.org") {
						require.NoError(t, json.Unmarshal([]byte(`{"spec": {"runPolicy": `+by+`}}`), job))
					}
					require.NoError(t, f.Mirror(job, v1beta1.GenericJobStatus{Phase: phase}))
					require.NotEmpty(t, f.Phase(job), which) // Kubeflow's kinds show Running once pods do
					require.Equal(t, phase.IsFinal(), f.Phase(job).IsFinal(), which)
					program, _ := f.Compile(job) // it lacks much, but a foreign one need not be right
					require.Equal(t, program.Foreign, compact.IsForeign(job), which)
					_, counted := trainingJob(kind, f, cached(t, job, bytes), nil)
					require.Equal(t, want, counted, which)
				}
			}
		}
	}
}

// TestAJobOfADefinitionIsNotCompiledToBeCounted: a definition may be dear, and a scrape sees all jobs.
func TestAJobOfADefinitionIsNotCompiledToBeCounted(t *testing.T) {
	f := framework.Register(tensorflow.Translator)
	f.Revision = "0123456789"
	f.Compile = func(client.Object) (framework.Program, error) {
		t.Error("it is compiled")
		return framework.Program{}, nil
	}
	job, counted := trainingJob(v1beta1.GroupVersion.WithKind("DearJob"), f, &v1beta1.TensorFlowTrainingJob{}, nil)
	require.True(t, counted)
	require.Equal(t, metrics.ReasonNoGenericJob, job.Reason)
}
