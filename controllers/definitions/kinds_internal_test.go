package definitions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/definition"
)

// informer is one of a kind whose cache is filled, or not.
type informer struct {
	cache.Informer
	synced bool
}

// HasSynced implements cache.Informer.
func (i informer) HasSynced() bool { return i.synced }

// TestAKindWhoseCacheIsNotFilledHidesNoOther from the metrics, which would count too few jobs of it.
func TestAKindWhoseCacheIsNotFilledHidesNoOther(t *testing.T) {
	k := &Kinds{running: map[string]*servedKind{}, fillings: map[string]*filling{}}
	for name, synced := range map[string]bool{"BJob": true, "AJob": true, "SlowJob": false} {
		kind := largeKind
		kind.Kind = name
		revised := &training.Revised{}
		revised.Serve(name, &training.Reconciler{})
		k.running[name], k.fillings[name] = &servedKind{kind: kind, revised: revised, jobs: informer{synced: synced}}, &filling{}
	}
	known := k.Known()
	require.Len(t, known, 2)
	require.Equal(t, []string{"AJob", "BJob"}, []string{known[0].Kind, known[1].Kind})
	require.NotNil(t, k.unfilled("SlowJob"))
	require.Nil(t, k.unfilled("AJob"))
	require.NotContains(t, k.fillings, "AJob", "the next cache of the kind has a time of its own")
}

// TestAConfigMapWakesTheJobThatControlsIt: one of a kind that another group has by the same name is another job's.
func TestAConfigMapWakesTheJobThatControlsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		ref   metav1.OwnerReference
		wakes bool
	}{
		"its job":          {metav1.OwnerReference{APIVersion: "example.com/v2", Kind: "LargeJob", Controller: ptr.To(true)}, true},
		"owned, no more":   {metav1.OwnerReference{APIVersion: "example.com/v2", Kind: "LargeJob"}, false},
		"of another group": {metav1.OwnerReference{APIVersion: "other.com/v2", Kind: "LargeJob", Controller: ptr.To(true)}, false},
		"of another kind":  {metav1.OwnerReference{APIVersion: "example.com/v2", Kind: "OtherJob", Controller: ptr.To(true)}, false},
	} {
		tc.ref.Name = "j"
		o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "team", OwnerReferences: []metav1.OwnerReference{tc.ref}}}
		var want []ctrl.Request
		if tc.wakes {
			want = []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: "team", Name: "j"}}}
		}
		require.Equal(t, want, (&servedKind{kind: largeKind}).owner(t.Context(), o), name)
	}
}

// TestJobsOfADefinitionComeFromTheirOwnCache: the shared one would begin to watch a kind that it does not know.
func TestJobsOfADefinitionComeFromTheirOwnCache(t *testing.T) {
	shared, jobs := &counting{}, &counting{}
	both := twoCaches{Reader: shared, jobs: jobs}
	require.NoError(t, both.Get(t.Context(), client.ObjectKey{}, &definition.Job{}))
	require.NoError(t, both.Get(t.Context(), client.ObjectKey{}, &corev1.ConfigMap{}))
	require.NoError(t, both.Get(t.Context(), client.ObjectKey{}, &corev1.Pod{}))
	require.Equal(t, []int{2, 1}, []int{shared.gets, jobs.gets})
}

// counting is a cache that counts what is read of it.
type counting struct {
	client.Reader
	gets int
}

// Get implements client.Reader.
func (c *counting) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	c.gets++
	return nil
}
