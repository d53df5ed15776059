package kubeflow_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

func TestTheOperatorsGangSchedulerPlacesEveryJob(t *testing.T) {
	gpus := corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}
	full := &kubeflowv1.SchedulingPolicy{
		MinAvailable: ptr.To[int32](2), Queue: "team", MinResources: gpus, PriorityClass: "high", ScheduleTimeoutSeconds: ptr.To[int32](60),
	}
	tests := map[string]struct {
		scheduler string
		policy    *kubeflowv1.SchedulingPolicy
		want      *v1beta1.SchedulePolicy
		ignored   string
	}{
		"no gang scheduler": {policy: full, ignored: "only priorityClass has an effect"},
		"volcano": {scheduler: "volcano", policy: full, ignored: "scheduleTimeoutSeconds", want: &v1beta1.SchedulePolicy{
			MinMember: ptr.To[int32](2), Volcano: &v1beta1.VolcanoScheduler{Queue: "team", PriorityClassName: "high", MinResources: gpus}}},
		"volcano, and no policy": {scheduler: "volcano", want: &v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}}},
		"coscheduling": {scheduler: "scheduler-plugins-scheduler", policy: full, ignored: "queue", want: &v1beta1.SchedulePolicy{
			MinMember: ptr.To[int32](2), Coscheduling: &v1beta1.Coscheduling{
				SchedulerName: "scheduler-plugins-scheduler", ScheduleTimeoutSeconds: ptr.To[int32](60), MinResources: gpus}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			run := kubeflowv1.RunPolicy{SchedulingPolicy: tc.policy}
			tf := &kubeflowv1.TFJob{}
			tf.Spec.RunPolicy, tf.Spec.TFReplicaSpecs = run, map[string]*kubeflowv1.ReplicaSpec{"Worker": replicas("tensorflow", 3)}
			torch := &kubeflowv1.PyTorchJob{}
			torch.Spec.RunPolicy, torch.Spec.PyTorchReplicaSpecs = run, map[string]*kubeflowv1.ReplicaSpec{"Worker": replicas("pytorch", 3)}
			all := kubeflow.All(tc.scheduler, true)
			for _, compile := range []func() (framework.Program, error){
				func() (framework.Program, error) { return all[0].Compile(tf) },
				func() (framework.Program, error) { return all[1].Compile(torch) },
			} {
				program, err := compile()
				require.NoError(t, err)
				require.Equal(t, tc.want, program.Spec.Scheduler)
				if tc.ignored == "" {
					require.Empty(t, program.Warnings)
					continue
				}
				require.Len(t, program.Warnings, 1)
				require.Equal(t, "SchedulingPolicyIgnored", program.Warnings[0].Reason)
				require.Contains(t, program.Warnings[0].Message, tc.ignored)
			}
		})
	}
}

// served is what serves a job in an operator of all kinds.
func served(gangScheduler string, job client.Object) framework.Registration {
	all := kubeflow.All(gangScheduler, true)
	return all[slices.IndexFunc(all, func(r framework.Registration) bool { return reflect.TypeOf(r.New()) == reflect.TypeOf(job) })]
}

func TestAnElasticPyTorchJobBeginsWithTheFewest(t *testing.T) {
	job := &kubeflowv1.PyTorchJob{}
	job.Spec.ElasticPolicy = &kubeflowv1.ElasticPolicy{MinReplicas: ptr.To[int32](2), MaxReplicas: ptr.To[int32](4)}
	job.Spec.PyTorchReplicaSpecs = map[string]*kubeflowv1.ReplicaSpec{"Worker": replicas("pytorch", 3)}
	least := func() int32 {
		program, err := served("volcano", job).Compile(job)
		require.NoError(t, err)
		return *program.Spec.Scheduler.MinMember
	}
	require.EqualValues(t, 2, least())
	job.Spec.PyTorchReplicaSpecs["Master"] = replicas("pytorch", 1)
	require.EqualValues(t, 3, least())
	job.Spec.RunPolicy.SchedulingPolicy = &kubeflowv1.SchedulingPolicy{MinAvailable: ptr.To[int32](1)}
	require.EqualValues(t, 1, least())

	job.Spec.RunPolicy.SchedulingPolicy.MinAvailable = ptr.To[int32](0)
	_, err := served("volcano", job).Compile(job)
	require.EqualError(t, err, "spec.runPolicy.schedulingPolicy.minAvailable is 0: want 1 or more")
	job.Spec.RunPolicy.ManagedBy = ptr.To(kubeflowv1.ManagedByMultiKueue)
	program, err := served("volcano", job).Compile(job)
	require.NoError(t, err)
	require.True(t, program.Foreign)
}
