package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// Apiservers before Kubernetes 1.34 refuse a field of pods that no user has written.
func TestNoJobFailsByTheOperatorsOwnRestartRules(t *testing.T) {
	const others = "may not be set for non-init containers"
	aside := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "main"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "logs"})
	})
	own := kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": "main"}
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "logs", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyNever)})
	})
	ofNode := kt.Template(func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork = true })
	tests := map[string]struct {
		job   *v1beta1.GenericJob
		field string
		fails bool
	}{
		"the policy":                        {kt.Job(kt.Type("worker", 1), kt.InPlace), "spec.containers[0].restartPolicy: Forbidden: " + others, false},
		"the rules":                         {kt.Job(kt.Type("worker", 1), kt.InPlace), "spec.containers[0].restartPolicyRules[0].action: Unsupported", false},
		"after a webhook has put one first": {kt.Job(kt.Type("worker", 1, aside), kt.InPlace), "spec.containers[1].restartPolicy: Forbidden: " + others, false},
		"of a container that has its own":   {kt.Job(kt.Type("worker", 1, own), kt.InPlace), "spec.containers[1].restartPolicy: Forbidden: " + others, true},
		"beside such a container":           {kt.Job(kt.Type("worker", 1, own), kt.InPlace), "spec.containers[0].restartPolicy: Forbidden: " + others, false},
		"another field":                     {kt.Job(kt.Type("worker", 1), kt.InPlace), "spec.restartPolicy: Unsupported value", true},
		"of a pod that has no wrapper":      {kt.Job(kt.Type("worker", 1, ofNode), kt.InPlace), "spec.containers[0].restartPolicy: Forbidden: " + others, true},
		"of a job that replaces pods":       {kt.Job(kt.Type("worker", 1)), "spec.containers[0].restartPolicy: Forbidden: " + others, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, tc.job, kt.Start)
			create := d.Actions[len(d.Actions)-1]
			require.Equal(t, kernel.CreatePod, create.Verb)
			refusal := kernel.Refusal{Action: create, Object: "Pod x", Reason: v1beta1.ReasonCreateInvalid, Message: `Pod "x" is invalid: ` + tc.field}
			require.Equal(t, !tc.fails, refusal.NamesRestartRules(tc.job))
			job := after(tc.job, kernel.RecordRefusals(kernel.World{Job: tc.job, Now: kt.Start, Settings: kt.Settings}, d, []kernel.Refusal{refusal}))
			d = plan(t, job, kt.At(time.Second))
			require.Equal(t, tc.fails, d.Status.Phase == v1beta1.JobFailed)
		})
	}
}
