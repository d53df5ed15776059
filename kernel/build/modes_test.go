package build

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestModes(t *testing.T) {
	probe := &corev1.Probe{PeriodSeconds: 1}
	template := corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init", Command: []string{"fetch"}}},
		Containers: []corev1.Container{
			{Name: "main", Command: []string{"train"}, Args: []string{"--rank=$(rank)"}, Env: []corev1.EnvVar{{Name: "RANK", Value: "$(rank)"}},
				LivenessProbe: probe, ReadinessProbe: probe, StartupProbe: probe, Lifecycle: &corev1.Lifecycle{}},
			{Name: "side", Command: []string{"log"}, Args: []string{"-v"}, LivenessProbe: probe},
		},
	}
	debug := func(sets ...v1beta1.ReplicaDebugSet) v1beta1.RunMode {
		return v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true, ReplicaSpecs: sets}}
	}
	resume := func(specs ...v1beta1.ResumeSpec) v1beta1.RunMode {
		return v1beta1.RunMode{Pause: &v1beta1.PauseMode{ResumeSpecs: specs}}
	}
	resumed := Run{Begun: true, Resumed: true}
	expanded := func(edit func(*corev1.PodSpec)) corev1.PodSpec { // the template as a worker 1 has it, but for the edit
		want := *template.DeepCopy()
		want.RestartPolicy, want.Hostname = corev1.RestartPolicyNever, "job-worker-1"
		want.Containers[0].Args[0], want.Containers[0].Env[0].Value = "--rank=1", "1"
		edit(&want)
		keepLastWords(&want)
		return want
	}
	idle := func(command ...string) func(*corev1.PodSpec) {
		return func(p *corev1.PodSpec) {
			p.Containers = []corev1.Container{{Name: "main", Command: command, Env: p.Containers[0].Env}, {Name: "side", Command: command}}
		}
	}
	as := func(*corev1.PodSpec) {}

	tests := map[string]struct {
		mode v1beta1.RunMode
		run  Run
		note string // the annotation that names the main container
		want corev1.PodSpec
	}{
		"no mode, no edit":                         {v1beta1.RunMode{}, Run{}, "", expanded(as)},
		"debug pods wait, and nothing kills them":  {debug(), Run{}, "", expanded(idle("sleep", "inf"))},
		"a type has its own debug command":         {debug(v1beta1.ReplicaDebugSet{Type: "worker", Command: []string{"sshd", "$(rank)"}}), Run{}, "", expanded(idle("sshd", "1"))},
		"another type's is not its own":            {debug(v1beta1.ReplicaDebugSet{Type: "ps", Command: []string{"sshd"}, SkipInitContainer: true}), Run{}, "", expanded(idle("sleep", "inf"))},
		"init containers are skipped when told so": {debug(v1beta1.ReplicaDebugSet{Type: "worker", SkipInitContainer: true}), Run{}, "", expanded(func(p *corev1.PodSpec) { idle("sleep", "inf")(p); p.InitContainers = nil })},
		"debug wins over a resumed run":            {v1beta1.RunMode{Debug: debug().Debug, Pause: resume(v1beta1.ResumeSpec{Type: "worker", Args: []string{"x"}}).Pause}, resumed, "", expanded(idle("sleep", "inf"))},
		"resume specs are not for a first run":     {resume(v1beta1.ResumeSpec{Type: "worker", Command: []string{"x"}}), Run{Begun: true}, "", expanded(as)},
		"a resumed run without them is as before":  {v1beta1.RunMode{}, resumed, "", expanded(as)},
		"what a resume spec leaves out stays":      {resume(v1beta1.ResumeSpec{Type: "worker", Args: []string{"--resume", "$(type)"}}), resumed, "", expanded(func(p *corev1.PodSpec) { p.Containers[0].Args = []string{"--resume", "worker"} })},
		"command and args": {resume(v1beta1.ResumeSpec{Type: "worker", Command: []string{"again"}, Args: []string{"-a"}}), resumed, "", expanded(func(p *corev1.PodSpec) {
			p.Containers[0].Command, p.Containers[0].Args = []string{"again"}, []string{"-a"}
		})},
		"the data is there already":                    {resume(v1beta1.ResumeSpec{Type: "worker", SkipInitContainer: true}), resumed, "", expanded(func(p *corev1.PodSpec) { p.InitContainers = nil })},
		"a resume spec of another type":                {resume(v1beta1.ResumeSpec{Type: "ps", SkipInitContainer: true, Command: []string{"x"}}), resumed, "", expanded(as)},
		"the container that trains may be another":     {resume(v1beta1.ResumeSpec{Type: "worker", Command: []string{"x"}}), resumed, "side", expanded(func(p *corev1.PodSpec) { p.Containers[1].Command = []string{"x"} })},
		"a name that no container has means the first": {resume(v1beta1.ResumeSpec{Type: "worker", Command: []string{"x"}}), resumed, "none", expanded(func(p *corev1.PodSpec) { p.Containers[0].Command = []string{"x"} })},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(mode(tc.mode), worker(func(p *corev1.PodTemplateSpec) {
				p.Spec = template
				p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": tc.note}
			}))
			require.Equal(t, tc.want, podOf(t, job, tc.run, 1).Spec)
		})
	}
}

func TestAPodWithoutContainersIsLeftToTheAPIServer(t *testing.T) {
	job := jobOf(mode(v1beta1.RunMode{Pause: &v1beta1.PauseMode{ResumeSpecs: []v1beta1.ResumeSpec{{Type: "worker", Command: []string{"x"}}}}}),
		worker(func(p *corev1.PodTemplateSpec) { p.Spec.Containers = nil }))
	require.Empty(t, podOf(t, job, Run{Resumed: true}, 0).Spec.Containers)
}

// Two pods of one type share nothing: who edits one of them does not edit the other.
func TestPodsShareNoMemory(t *testing.T) {
	debug := mode(v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true, ReplicaSpecs: []v1beta1.ReplicaDebugSet{{Type: "worker", Command: []string{"a", "b"}}}}})
	template := worker(func(p *corev1.PodTemplateSpec) {
		p.Labels, p.Annotations = map[string]string{"a": "b"}, map[string]string{"a": "b"}
		p.Spec.DNSConfig = &corev1.PodDNSConfig{Searches: append(make([]string, 0, 8), "example.com")}
	})
	for name, job := range map[string]*v1beta1.GenericJob{"plain": jobOf(template, service()), "debug": jobOf(template, service(), debug)} {
		t.Run(name, func(t *testing.T) {
			b := NewBuilder(job, Run{})
			one, other := b.Pod("worker", 0, 0), b.Pod("worker", 1, 0)
			before := other.DeepCopy()
			one.Labels["a"], one.Annotations["a"] = "x", "x"
			one.Spec.Containers[0].Command = append(one.Spec.Containers[0].Command[:0], "x", "x")
			one.Spec.DNSConfig.Searches[1] = "x"
			require.Equal(t, before, other)
		})
	}
}
