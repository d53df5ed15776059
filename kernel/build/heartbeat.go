package build

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/spec"
)

// isWatched reports whether somebody looks for signs of life or progress in the pods of a replica spec.
func (b *Builder) isWatched(r *v1beta1.ReplicaSpec) bool {
	return (b.job.Spec.Heartbeat != nil || b.job.Spec.Progress != nil) && b.run.WrapperImage != "" && !r.Auxiliary && !b.job.Spec.RunMode.Debugs() && spec.WhyNoWrapper(r) == ""
}

// wrapOnce has the wrapper run the command of a pod that does not restart in place. The wrapper starts it at once, and only once.
func (b *Builder) wrapOnce(pod *corev1.Pod, r *v1beta1.ReplicaSpec, attempt int) {
	b.addWrapper(pod, r, "-order="+inplace.Order{Attempt: attempt, Go: attempt, JobAttempt: int(b.run.JobAttempt)}.String())
}

// heartbeat returns the wrapper's flags for the signs of life and the progress of the job.
func (b *Builder) heartbeat() []string {
	h := b.job.Spec.Heartbeat
	if h == nil {
		return b.progress()
	}
	sign := "-beat-file=" + h.File
	if h.Stdout != "" {
		sign = "-beat-line=" + h.Stdout
	}
	return append([]string{
		literal(sign),
		fmt.Sprintf("-beat-startup=%ds", ptr.Deref(h.StartupSeconds, spec.HeartbeatStartup)),
		fmt.Sprintf("-beat-steady=%ds", ptr.Deref(h.SteadySeconds, spec.HeartbeatSteady)),
	}, b.progress()...)
}

// progress returns the wrapper's flag for lines that tell progress, unless the lines that are signs of life tell it.
func (b *Builder) progress() []string {
	line := spec.Progress(&b.job.Spec)
	if b.job.Spec.Progress == nil || line == nil {
		return nil
	}
	return []string{literal("-progress-line=" + line.Pattern)}
}

// literal escapes a flag, so that the kubelet expands no variable in it.
func literal(flag string) string { return strings.ReplaceAll(flag, "$", "$$") }
