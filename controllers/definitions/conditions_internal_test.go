package definitions

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestADefinitionIsReadyIfItsNewestEditServes(t *testing.T) {
	type said struct {
		is     metav1.ConditionStatus
		reason string
	}
	is := said{metav1.ConditionTrue, v1beta1.ReasonAccepted}
	serves := said{metav1.ConditionTrue, v1beta1.ReasonServing}
	tests := map[string]struct {
		accepted, serving said
		want              string
	}{
		"it serves":                                         {is, serves, v1beta1.FrameworkReady},
		"the jobs that there are are being read":            {is, said{metav1.ConditionUnknown, v1beta1.ReasonServing}, v1beta1.FrameworkReconciling},
		"the kind is missing":                               {said{metav1.ConditionUnknown, v1beta1.ReasonKindMissing}, said{metav1.ConditionFalse, v1beta1.ReasonKindMissing}, v1beta1.FrameworkReconciling},
		"rights are missing":                                {is, said{metav1.ConditionFalse, v1beta1.ReasonRightsMissing}, v1beta1.FrameworkReconciling},
		"an edit is mistaken, and the one before it serves": {said{metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition}, serves, v1beta1.FrameworkStalled},
		"another serves the kind":                           {said{metav1.ConditionFalse, v1beta1.ReasonKindConflict}, said{metav1.ConditionFalse, v1beta1.ReasonKindConflict}, v1beta1.FrameworkStalled},
		"jobs have to end first":                            {said{metav1.ConditionFalse, v1beta1.ReasonTooManyRevisions}, serves, v1beta1.FrameworkReconciling},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
			setCondition(d, v1beta1.FrameworkAccepted, tc.accepted.is, tc.accepted.reason, "Of Accepted.")
			setCondition(d, v1beta1.FrameworkServing, tc.serving.is, tc.serving.reason, "Of Serving.")
			setReconciling(d)
			require.True(t, meta.IsStatusConditionTrue(d.Status.Conditions, v1beta1.FrameworkReconciling))
			setReady(d)
			for _, c := range []string{v1beta1.FrameworkReady, v1beta1.FrameworkReconciling, v1beta1.FrameworkStalled} {
				require.Equal(t, c == tc.want, meta.IsStatusConditionTrue(d.Status.Conditions, c), c)
			}
			ready := meta.FindStatusCondition(d.Status.Conditions, v1beta1.FrameworkReady)
			require.Contains(t, []string{"Of Accepted.", "Of Serving."}, ready.Message)
			require.EqualValues(t, 2, ready.ObservedGeneration)
		})
	}
}

// TestADefinitionWhoseRivalIsNotAcceptedHearsThat: nobody serves the kind then, and its author should know which of the two to delete.
func TestADefinitionWhoseRivalIsNotAcceptedHearsThat(t *testing.T) {
	kind := frameworkKind("a.example.com", "FirstJob")
	r := newReplacing(t, kind)
	r.define("a", kind, "one")
	a := &v1beta1.TrainingFramework{}
	require.NoError(t, r.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, a))
	setCondition(a, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, "spec.phase: is wrong")
	require.NoError(t, r.Client.Status().Update(t.Context(), a))
	r.define("b", kind, "two")
	require.Equal(t, "TrainingFramework a is older and defines a kind FirstJob, of group a.example.com, though it is not accepted itself (InvalidDefinition). Delete one of the two.",
		r.see("b").Message)
	require.Equal(t, v1beta1.ReasonServing, r.see("a").Reason)
	require.Equal(t, "TrainingFramework a is older and defines a kind FirstJob, of group a.example.com. Delete one of the two.", r.see("b").Message)
}
