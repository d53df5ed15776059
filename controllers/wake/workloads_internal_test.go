package wake

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func (q *notedQueue) Add(r ctrl.Request) { q.added[r.NamespacedName] = 0 }

// A tenant may write a megabyte into the annotations of each Workload.
func TestOfAWorkloadOnlyWhoseItIsStaysInMemory(t *testing.T) {
	kind := schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta1", Resource: "workloads"}
	scheme := metadatafake.NewTestScheme()
	require.NoError(t, metav1.AddMetaToScheme(scheme))
	there := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "kueue.x-k8s.io/v1beta1", Kind: "Workload"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "team", Name: "workload", UID: "uid", ResourceVersion: "7",
			Labels:        map[string]string{v1beta1.LabelJobName: "job", "of": "the tenant"},
			Annotations:   map[string]string{"large": "text"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kueue"}},
		},
	}
	w := &Workloads{Client: metadatafake.NewSimpleMetadataClient(scheme, there), Kind: kind}
	informer := w.informer(metav1.NamespaceAll)
	go informer.Run(t.Context().Done())
	require.Eventually(t, informer.HasSynced, 5*time.Minute, 10*time.Millisecond)
	held := informer.GetStore().List()
	require.Len(t, held, 1)
	require.Equal(t, metav1.ObjectMeta{
		Namespace: "team", Name: "workload", UID: "uid", ResourceVersion: "7", Labels: map[string]string{v1beta1.LabelJobName: "job"},
	}, held[0].(*metav1.PartialObjectMetadata).ObjectMeta)

	q := &notedQueue{added: map[types.NamespacedName]time.Duration{}}
	w.queue = q
	w.see(held[0])
	require.Contains(t, q.added, types.NamespacedName{Namespace: "team", Name: "job"})
}
