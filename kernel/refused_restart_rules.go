package kernel

import (
	"regexp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// restartRule finds containers whose restart policy or rules an apiserver calls invalid.
var restartRule = regexp.MustCompile(`spec\.containers\[(\d+)\]\.restartPolicy`)

// NamesRestartRules reports whether a pod was refused because of the restart rules that the operator puts into it. Apiservers before Kubernetes 1.34
// refuse such rules. A webhook may have moved the container, so its index tells nothing. But if the template has restart rules of its own, only the
// index of the main container stands for the operator's.
func (r Refusal) NamesRestartRules(job *v1beta1.GenericJob) bool {
	i := slices.IndexFunc(job.Spec.ReplicaSpecs, func(s v1beta1.ReplicaSpec) bool { return s.Type == r.Action.Type })
	if r.Reason != v1beta1.ReasonCreateInvalid || r.Action.Verb != CreatePod || i < 0 || job.Spec.RestartStrategy != v1beta1.RestartInPlace {
		return false
	}
	s := &job.Spec.ReplicaSpecs[i]
	if spec.WhyTypeNotInPlace(s) != "" {
		return false
	}
	own := slices.ContainsFunc(s.Template.Spec.Containers, func(c corev1.Container) bool {
		return c.RestartPolicy != nil || len(c.RestartPolicyRules) > 0
	})
	main := strconv.Itoa(spec.Main(&s.Template))
	return slices.ContainsFunc(restartRule.FindAllStringSubmatch(r.Message, -1), func(found []string) bool { return !own || found[1] == main })
}
