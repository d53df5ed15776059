package jobs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// A job whose newest edit has no effect is not what somebody waits for who has just edited it.
func TestAJobRefusesItsEdit(t *testing.T) {
	for reason, want := range map[string]bool{
		v1beta1.ReasonInvalidSpec: true, v1beta1.ReasonInvalidDefinition: true, v1beta1.ReasonRevisionUnknown: true, "Forbidden": false, "": false,
	} {
		job := &v1beta1.GenericJob{}
		if reason != "" {
			job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionBlocked, Status: metav1.ConditionTrue, Reason: reason}}
		}
		require.Equal(t, want, (&jobs.Family{Kind: jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), GenericJob: job, Job: job}).Refuses(), reason)
	}
}
