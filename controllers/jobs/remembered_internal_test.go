package jobs

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// The undo may come while the job has no reconcile, and another edit much later: that one has its own time.
func TestASecondEditWaitsForItsUndoAsTheFirstDid(t *testing.T) {
	owner := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "owner"}}
	edited := func(compiledIn, generation int64) *v1beta1.GenericJob {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid", Generation: generation,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob))}}}
		framework.AnnotateCompiled(job, compiledIn, false)
		return job
	}
	at := func(after time.Duration) time.Time { return time.Unix(1000, 0).Add(after) }
	m := &remembered{}
	require.False(t, m.awaitsUndo(edited(1, 1), at(0)))
	require.True(t, m.awaitsUndo(edited(1, 2), at(0)))
	require.True(t, m.awaitsUndo(edited(1, 3), at(undoneWithin-1)), "another edit before the first is undone")
	require.False(t, m.awaitsUndo(edited(1, 3), at(undoneWithin)), "nobody can undo it")
	require.True(t, m.awaitsUndo(edited(4, 5), at(time.Hour)), "it was undone in generation 4, and edited again")

	gone := edited(4, 5)
	gone.DeletionTimestamp = &metav1.Time{}
	require.False(t, m.awaitsUndo(gone, at(time.Hour)), "a deletion raises the generation too")
	require.Zero(t, m.edit)
	alone := edited(1, 2)
	alone.OwnerReferences = nil
	require.False(t, m.awaitsUndo(alone, at(0)), "nobody owns it")
}
