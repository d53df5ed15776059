package code_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/code"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

func TestWhoCannotBeginAgain(t *testing.T) {
	for want, c := range map[string]struct {
		job  func(*v1beta1.GenericJob)
		pods func(*jobs.Family)
	}{
		"GenericJob/mnist is paused, so it has no pods: end the pause first, with `kubectl gj resume gj/mnist -n team`": {
			job: func(j *v1beta1.GenericJob) {
				j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
			}},
		"is in debug mode: its pods sleep": {
			job: func(j *v1beta1.GenericJob) {
				j.Spec.RunMode = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}
			}},
		"is over: its phase is Failed": {job: func(j *v1beta1.GenericJob) { j.Status.Phase = v1beta1.JobFailed }},
		"spec.restartStrategy is not set, which is Recreate. Set it to InPlace, in a pause (`kubectl gj pause gj/mnist -n team --wait`)": {
			job: func(j *v1beta1.GenericJob) { j.Spec.RestartStrategy = "" }},
		"though spec.restartStrategy is InPlace: hostNetwork is on": {
			job: func(j *v1beta1.GenericJob) { j.Spec.ReplicaSpecs[0].Template.Spec.HostNetwork = true }},
		"worker-0 has a pod that is being deleted, worker-1 has no pod. Nothing was changed": {
			pods: func(f *jobs.Family) {
				f.Pods = f.Pods[:1]
				f.Pods[0].DeletionTimestamp = &metav1.Time{}
			}},
		"worker-1 has a container that is being started again": {
			pods: func(f *jobs.Family) {
				f.Pods[1].Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			}},
		"worker-1 has no pod. Nothing was changed": { // the rank is kept, though fewer are asked for
			job: func(j *v1beta1.GenericJob) {
				j.Spec.ReplicaSpecs[0].Replicas = new(int32(1))
				j.Spec.FailureRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(1)}}}
			}},
		"has no replica that runs": {
			job: func(j *v1beta1.GenericJob) {
				j.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "0-1"}}
			}},
	} {
		f := familyOf(t, 2, c.job)
		if c.pods != nil {
			c.pods(f)
		}
		w := &code.Work{Restarts: true}
		require.ErrorContains(t, w.Once(t.Context(), f), want)
	}
}

// Only its definition knows which field of a kind means what.
func TestAKindThatIsDefinedIsNotToldOfAField(t *testing.T) {
	f := familyOf(t, 1, func(j *v1beta1.GenericJob) { j.Spec.RestartStrategy = "" })
	kind := jobs.Defined(schema.GroupVersionKind{Group: "frameworks.example.com", Version: "v1", Kind: "JAXJob"})
	f.Kind, f.Job = kind, kind.New()
	f.Job.SetName("mnist")
	err := (&code.Work{Restarts: true}).Once(t.Context(), f)
	require.ErrorContains(t, err, "JAXJob/mnist: the pods of type worker have no wrapper, which alone can begin code again: restartStrategy of its GenericJob is not set, which is Recreate")
	require.ErrorContains(t, err, "The TrainingFramework of JAXJob says by which field it becomes InPlace, if by any")
}
