package build

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The names of what is added to pods that restart in place.
const (
	wrapperContainer = "genericjob-wrapper"
	orderVolume      = "genericjob-order"
	podVariable      = "GENERICJOB_POD"
)

// wrapperPath is where a container finds the wrapper.
var wrapperPath = path.Join(inplace.Dir, "state", inplace.Binary)

// restartsInPlace reports whether the pods of a replica spec are made to be restarted in place.
func (b *Builder) restartsInPlace(r *v1beta1.ReplicaSpec) bool {
	return RestartsInPlace(b.job, r, b.run.WrapperImage)
}

// RestartsInPlace reports whether new pods of a replica spec can be restarted in place, with the operator's image for that.
func RestartsInPlace(job *v1beta1.GenericJob, r *v1beta1.ReplicaSpec, wrapperImage string) bool {
	return job.Spec.RestartStrategy == v1beta1.RestartInPlace && wrapperImage != "" && !r.Auxiliary &&
		!job.Spec.RunMode.Debugs() && spec.WhyTypeNotInPlace(r) == ""
}

// wrap has the wrapper run the command of the container that trains, by orders, and the kubelet start the container again when it fails. An older
// kubelet ignores the latter, and for an older apiserver it is left out (LeaveOutRestartRules). Then the pod fails, and is replaced.
func (b *Builder) wrap(pod *corev1.Pod, r *v1beta1.ReplicaSpec, order inplace.Order) {
	set(&pod.Annotations, inplace.Annotation, order.String())
	pod.Labels[v1beta1.LabelJobAttempt] = strconv.Itoa(order.JobAttempt)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: orderVolume, VolumeSource: corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "order", FieldRef: fieldRef("metadata.annotations['" + inplace.Annotation + "']")}},
	}}})
	c := b.addWrapper(pod, r, b.holds()...)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: orderVolume, MountPath: path.Join(inplace.Dir, "order"), ReadOnly: true})
	byOrder(c)
	never := corev1.ContainerRestartPolicyNever
	c.RestartPolicy = &never
	c.RestartPolicyRules = []corev1.ContainerRestartRule{{
		Action:    corev1.ContainerRestartRuleActionRestart,
		ExitCodes: &corev1.ContainerRestartRuleOnExitCodes{Operator: corev1.ContainerRestartRuleOnExitCodesOpNotIn, Values: []int32{0}},
	}}
}

// LeaveOutRestartRules removes from a pod the rules by which the kubelet starts its main container again. When the container fails, the pod fails,
// and is replaced.
func LeaveOutRestartRules(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		if c := &pod.Spec.Containers[i]; len(c.Command) > 0 && c.Command[0] == wrapperPath {
			c.RestartPolicy, c.RestartPolicyRules = nil, nil
		}
	}
}

// holds returns the wrapper's flag to hold the end of code that fails, if all replicas restart together. A held end is known by its attempt, so that
// it is not counted again when the container ends. Replicas that restart alone do not need it.
func (b *Builder) holds() []string {
	if b.job.Spec.RestartScope != v1beta1.RestartScopeJob {
		return nil
	}
	return []string{"-hold=" + inplace.Hold.String()}
}

// addWrapper puts the wrapper into a pod, and has it run the command of the container that trains. It returns that container.
func (b *Builder) addWrapper(pod *corev1.Pod, r *v1beta1.ReplicaSpec, flags ...string) *corev1.Container {
	pod.Spec.Volumes = append(pod.Spec.Volumes,
		corev1.Volume{Name: inplace.Volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	c := &pod.Spec.Containers[spec.Main(&r.Template)]
	pod.Spec.InitContainers = append([]corev1.Container{b.installer(&pod.Spec, c)}, pod.Spec.InitContainers...)
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: inplace.Volume, MountPath: path.Join(inplace.Dir, "state")})
	c.Env = append(c.Env, corev1.EnvVar{Name: podVariable, ValueFrom: &corev1.EnvVarSource{FieldRef: fieldRef("metadata.uid")}})
	c.Command = slices.Concat([]string{
		wrapperPath, "run", "-pod=$(" + podVariable + ")",
		"-port=" + strconv.Itoa(WrapperPort(r)), "-grace=" + spec.Grace(&r.Template).String(),
		"-termination-message=" + cmp.Or(c.TerminationMessagePath, corev1.TerminationMessagePathDefault),
	}, readOutput(c), flags, b.heartbeat(), []string{"--"}, c.Command)
	return c
}

// readOutput returns the wrapper's flag to read the last output of code that fails. A template with the policy File asks for no output in the status.
func readOutput(c *corev1.Container) []string {
	if c.TerminationMessagePolicy == corev1.TerminationMessageReadFile {
		return nil
	}
	return []string{"-read-output"}
}

// firstOrder returns the first order of a new pod.
func (b *Builder) firstOrder(attempt int) inplace.Order {
	o := inplace.Order{Attempt: attempt, Go: attempt, JobAttempt: int(b.run.JobAttempt)}
	if b.run.BarrierIsClosed {
		o.Go = 0
	}
	return o
}

// byOrder changes variables that read the attempt from the pod's label: they get it from the order, because the label does not change.
func byOrder(c *corev1.Container) {
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.labels['"+v1beta1.LabelAttempt+"']" {
			c.Env[i] = corev1.EnvVar{Name: c.Env[i].Name, Value: inplace.AttemptReference}
		}
	}
}

// WrapperPort returns the port at which the wrapper in a replica's pods answers: the first from inplace.Port on that no container declares.
func WrapperPort(r *v1beta1.ReplicaSpec) int {
	for port := inplace.Port; ; port++ {
		declares := func(c corev1.Container) bool {
			return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return int(p.ContainerPort) == port })
		}
		if !slices.ContainsFunc(r.Template.Spec.Containers, declares) {
			return port
		}
	}
}

func fieldRef(field string) *corev1.ObjectFieldSelector {
	return &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: field}
}
