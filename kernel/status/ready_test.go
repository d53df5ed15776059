package status

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// saying is a status of a phase with conditions, each as its type, status and reason.
func saying(phase v1beta1.JobPhase, conditions ...[3]string) v1beta1.GenericJobStatus {
	s := v1beta1.GenericJobStatus{Phase: phase}
	for _, c := range conditions {
		Set(&s, start, v1beta1.JobConditionType(c[0]), c[1] == "True", c[2], c[0]+" says so.")
	}
	return s
}

func TestReadyFollowsFromWhatElseIsSaid(t *testing.T) {
	tests := map[string]struct {
		s       v1beta1.GenericJobStatus
		is      v1beta1.JobConditionType
		reason  string
		message string
	}{
		"it has not started":                {saying(v1beta1.JobPending, [3]string{"Running", "False", "PodsNotReady"}), v1beta1.ConditionReconciling, "PodsNotReady", "Running says so."},
		"it waits in a queue":               {saying(v1beta1.JobPending, [3]string{"Running", "False", "Queued"}), v1beta1.ConditionReconciling, "Queued", "Running says so."},
		"it runs":                           {saying(v1beta1.JobRunning, [3]string{"Running", "True", "-"}), v1beta1.ConditionReady, "Started", startedMessage},
		"replicas are replaced":             {saying(v1beta1.JobRunning, [3]string{"Running", "False", "PodsNotReady"}), v1beta1.ConditionReady, "Started", startedMessage},
		"it is being paused":                {saying(v1beta1.JobRunning, [3]string{"Running", "False", "Pausing"}), v1beta1.ConditionReconciling, "Pausing", "Running says so."},
		"its quota is taken away":           {saying(v1beta1.JobRunning, [3]string{"Running", "False", "Evicted"}), v1beta1.ConditionReconciling, "Evicted", "Running says so."},
		"it is paused":                      {saying(v1beta1.JobPaused, [3]string{"Running", "False", "Paused"}, [3]string{"Paused", "True", "Paused"}), v1beta1.ConditionReady, "Paused", "Paused says so."},
		"it goes on after a pause":          {saying(v1beta1.JobResuming, [3]string{"Running", "False", "PodsNotReady"}, [3]string{"Paused", "False", "Resumed"}), v1beta1.ConditionReconciling, "PodsNotReady", "Running says so."},
		"the cluster refuses a pod":         {saying(v1beta1.JobPending, [3]string{"Running", "False", "PodsNotReady"}, [3]string{"Blocked", "True", "CreateFailed"}), v1beta1.ConditionReconciling, "CreateFailed", "Blocked says so."},
		"... of a job that runs":            {saying(v1beta1.JobRunning, [3]string{"Running", "False", "PodsNotReady"}, [3]string{"Blocked", "True", "CreateFailed"}), v1beta1.ConditionReconciling, "CreateFailed", "Blocked says so."},
		"somebody else's object has a name": {saying(v1beta1.JobPending, [3]string{"Running", "False", "PodsNotReady"}, [3]string{"Blocked", "True", "NameConflict"}), v1beta1.ConditionReconciling, "NameConflict", "Blocked says so."},
		"an edit cannot run":                {saying(v1beta1.JobRunning, [3]string{"Running", "True", "-"}, [3]string{"Blocked", "True", "InvalidSpec"}), v1beta1.ConditionStalled, "InvalidSpec", "Blocked says so."},
		"a scale cannot be":                 {saying(v1beta1.JobRunning, [3]string{"Running", "True", "-"}, [3]string{"Blocked", "True", "ScaleRefused"}), v1beta1.ConditionStalled, "ScaleRefused", "Blocked says so."},
		"nobody can read its status":        {saying(v1beta1.JobUnknown, [3]string{"Blocked", "True", "LedgerUnreadable"}), v1beta1.ConditionStalled, "LedgerUnreadable", "Blocked says so."},
		"it has failed":                     {saying(v1beta1.JobFailed, [3]string{"Failed", "True", "DeadlineExceeded"}), v1beta1.ConditionStalled, "DeadlineExceeded", "Failed says so."},
		"it has succeeded":                  {saying(v1beta1.JobSucceeded, [3]string{"Succeeded", "True", "Succeeded"}), v1beta1.ConditionReady, "Succeeded", "Succeeded says so."},
		"a finished job cannot be read":     {saying(v1beta1.JobSucceeded, [3]string{"Succeeded", "True", "Succeeded"}, [3]string{"Blocked", "True", "LedgerUnreadable"}), v1beta1.ConditionReady, "Succeeded", "Succeeded says so."},
		"nothing is said yet":               {saying(v1beta1.JobPending), v1beta1.ConditionReconciling, "-", "The job is Pending."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, before := range []v1beta1.JobConditionType{"", v1beta1.ConditionReconciling, v1beta1.ConditionStalled} {
				s := *tc.s.DeepCopy()
				if before != "" {
					Set(&s, start, before, true, "Before", "It was so.")
				}
				SetReady(&s, after(time.Minute))
				var held []v1beta1.JobConditionType
				for _, c := range s.Conditions {
					if isDerived(c) && c.Status == metav1.ConditionTrue {
						held = append(held, c.Type)
					}
				}
				require.Equal(t, []v1beta1.JobConditionType{tc.is}, held)
				require.Equal(t, tc.message, Condition(s.Conditions, tc.is).Message)
				require.Equal(t, tc.reason, Condition(s.Conditions, tc.is).Reason)
				ready := Condition(s.Conditions, v1beta1.ConditionReady)
				require.Equal(t, tc.is == v1beta1.ConditionReady, ready.Status == metav1.ConditionTrue)
				require.Equal(t, tc.message, ready.Message)
				again := *s.DeepCopy()
				SetReady(&again, after(time.Hour))
				require.Equal(t, s, again, "it is said once")
			}
		})
	}
}

// An upgrade of the operator must not write the status of each job.
func TestReadyIsToldBesideWhatIsNews(t *testing.T) {
	require.True(t, hasReady(&v1beta1.GenericJobStatus{}), "a new job")
	old := saying(v1beta1.JobRunning, [3]string{"Running", "True", "-"})
	require.False(t, hasReady(&old))
	SetReady(&old, start)
	require.True(t, hasReady(&old))
}
