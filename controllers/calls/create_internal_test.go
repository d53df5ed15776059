package calls

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/status"
)

// TestAPodThatLostALabelIsTold: the create of such a pod passed for done, and the job waited for it for ever.
func TestAPodThatLostALabelIsTold(t *testing.T) {
	const told = "Pod ns/job-8a2f3-worker-0 exists already, made for this job, but somebody has changed its label batch.tensorstack.dev/"
	for name, tc := range map[string]struct {
		edit func(*corev1.Pod)
		want string // "" if nothing is refused
	}{
		"nothing is lost":        {func(*corev1.Pod) {}, ""},
		"a label of another use": {func(p *corev1.Pod) { p.Labels["mine"] = "1" }, ""},
		"its rank":               {func(p *corev1.Pod) { delete(p.Labels, v1beta1.LabelReplicaRank) }, told + `replica-rank from "0" to "": put the label back, or delete the Pod, and the job goes on by itself.`},
		"another rank":           {func(p *corev1.Pod) { p.Labels[v1beta1.LabelReplicaRank] = "7" }, told + `replica-rank from "0" to "7": put the label back, or delete the Pod, and the job goes on by itself.`},
		"its type":               {func(p *corev1.Pod) { delete(p.Labels, v1beta1.LabelReplicaType) }, told + `replica-type from "worker" to "": put the label back, or delete the Pod, and the job goes on by itself.`},
		"its job":                {func(p *corev1.Pod) { delete(p.Labels, v1beta1.LabelJobUID) }, told + `job-uid from "job" to "": put the label back, and the job goes on by itself. Do not delete the Pod without that label: its finalizer would keep it.`},
		"it is nobody's":         {func(p *corev1.Pod) { p.OwnerReferences = nil }, "Pod ns/job-8a2f3-worker-0 exists already: it is left alone, as it may be somebody else's. Delete it, and the job goes on by itself; or give the job another name."},
	} {
		t.Run(name, func(t *testing.T) {
			job := newNamespace().start("job", 1)
			create := func() error { return job.Executor.Create(t.Context(), "create", job.Builder.Pod(creates(1)[0])) }
			require.NoError(t, create())
			tc.edit(job.pods[job.names[0]])
			err := create()
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			var refused *RefusalError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, v1beta1.ReasonNameConflict, refused.Reason)
			d := kernel.RecordRefusals(kernel.World{Job: job.Job}, kernel.Decision{}, []kernel.Refusal{refused.Refusal})
			require.Equal(t, tc.want, status.Condition(d.Status.Conditions, v1beta1.ConditionBlocked).Message)
		})
	}
}
