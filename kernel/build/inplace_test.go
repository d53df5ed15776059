package build

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// inPlace is a job whose workers restart in place.
func inPlace(edits ...func(*corev1.PodTemplateSpec)) *v1beta1.GenericJob {
	return jobOf(func(s *v1beta1.GenericJobSpec) { s.RestartStrategy = v1beta1.RestartInPlace }, worker(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Command, p.Spec.Containers[0].Args = []string{"python", "train.py"}, []string{"--start=$(jobAttempt)"}
		for _, edit := range edits {
			edit(p)
		}
	}))
}

var wrapped = Run{WrapperImage: "operator", JobAttempt: 2}

func TestAPodThatRestartsInPlace(t *testing.T) {
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "data", Image: "image"}}
	})
	pod := podOf(t, job, wrapped, 1)
	m := podstate.NumbersOf(pod)
	require.Equal(t, inplace.Order{Attempt: 4, Go: 4, JobAttempt: 2}, *m.Order)
	require.Equal(t, 2, m.JobAttempt)
	require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy, "of the pod")

	require.Equal(t, []string{wrapperContainer, "data"}, []string{pod.Spec.InitContainers[0].Name, pod.Spec.InitContainers[1].Name})
	require.Equal(t, []string{"/wrapper", "install", inplace.Dir}, pod.Spec.InitContainers[0].Command)
	main := pod.Spec.Containers[0]
	require.Equal(t, []string{"/genericjob.d/state/wrapper", "run", "-pod=$(GENERICJOB_POD)", "-port=10190", "-grace=30s", "-termination-message=/dev/termination-log", "-read-output", "--", "python", "train.py"}, main.Command)
	require.Equal(t, []string{"--start=" + inplace.JobAttemptReference}, main.Args, "it changes while the pod is there")
	require.Equal(t, corev1.ContainerRestartRuleOnExitCodesOpNotIn, main.RestartPolicyRules[0].ExitCodes.Operator)
	require.Equal(t, []int32{0}, main.RestartPolicyRules[0].ExitCodes.Values)
}

// Who wants none of the log in a status has this policy. It is also the one that the apiserver fills in.
func TestTheWrapperReadsTheOutputUnlessThePolicyIsFile(t *testing.T) {
	for policy, reads := range map[corev1.TerminationMessagePolicy]bool{
		"": true, corev1.TerminationMessageFallbackToLogsOnError: true, corev1.TerminationMessageReadFile: false,
	} {
		pod := podOf(t, inPlace(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].TerminationMessagePolicy = policy }), wrapped, 1)
		require.Equal(t, reads, slices.Contains(pod.Spec.Containers[0].Command, "-read-output"), policy)
	}
}

func TestAPodWithoutRestartRulesIsElseTheSame(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "sidecar", RestartPolicy: &always}}
	})
	pod := podOf(t, job, wrapped, 1)
	want := pod.DeepCopy()
	want.Spec.Containers[0].RestartPolicy, want.Spec.Containers[0].RestartPolicyRules = nil, nil
	LeaveOutRestartRules(pod)
	require.Equal(t, want, pod)
	require.Equal(t, &always, pod.Spec.InitContainers[1].RestartPolicy)
}

func TestAPodThatIsMadeWhileOthersWaitDoesToo(t *testing.T) {
	run := wrapped
	run.BarrierIsClosed = true
	require.Equal(t, inplace.Order{Attempt: 4, JobAttempt: 2}, *podstate.NumbersOf(podOf(t, inPlace(), run, 1)).Order)
}

func TestThePortOfTheWrapperIsNobodyElses(t *testing.T) {
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: inplace.Port}, {ContainerPort: inplace.Port + 1}}
	})
	require.Equal(t, inplace.Port+2, WrapperPort(&job.Spec.ReplicaSpecs[1]))
	require.Contains(t, podOf(t, job, wrapped, 0).Spec.Containers[0].Command, "-port=10192")
}

func TestTheAttemptOfAPodThatRestartsInPlaceIsItsOrders(t *testing.T) {
	grace := int64(7)
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Spec.TerminationGracePeriodSeconds = &grace
		p.Spec.Containers[0].Env = []corev1.EnvVar{
			{Name: "ATTEMPT", ValueFrom: &corev1.EnvVarSource{FieldRef: fieldRef("metadata.labels['" + v1beta1.LabelAttempt + "']")}},
			{Name: "RANK", ValueFrom: &corev1.EnvVarSource{FieldRef: fieldRef("metadata.labels['" + v1beta1.LabelReplicaRank + "']")}},
		}
	})
	main := podOf(t, job, wrapped, 0).Spec.Containers[0]
	require.Contains(t, main.Env, corev1.EnvVar{Name: "ATTEMPT", Value: inplace.AttemptReference})
	require.NotNil(t, main.Env[1].ValueFrom, "the rank does not change")
	require.Contains(t, main.Command, "-grace="+(7*time.Second).String())
}

// The product overflowed: the wrapper was told of a grace period below zero, and killed at once what had to save.
func TestAGraceOfAgesIsToldToTheWrapper(t *testing.T) {
	job := inPlace(func(p *corev1.PodTemplateSpec) { p.Spec.TerminationGracePeriodSeconds = ptr.To(int64(math.MaxInt64)) })
	for _, argument := range podOf(t, job, wrapped, 0).Spec.Containers[0].Command {
		if told, ok := strings.CutPrefix(argument, "-grace="); ok {
			grace, err := time.ParseDuration(told)
			require.NoError(t, err)
			require.Greater(t, grace, 100*365*24*time.Hour)
			return
		}
	}
	require.Fail(t, "the wrapper is told of none")
}

func TestWhatIsNotWrapped(t *testing.T) {
	require.NotContains(t, podOf(t, inPlace(), Run{}, 0).Annotations, inplace.Annotation, "no image holds the wrapper")
	job := inPlace(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{inplace.Annotation: "attempt=9 go=9 jobAttempt=9"}
	})
	job.Spec.RestartStrategy = ""
	require.NotContains(t, podOf(t, job, wrapped, 0).Annotations, inplace.Annotation, "a template's own would be taken for an order")
}
