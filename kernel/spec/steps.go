package spec

import (
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// StepLine returns how the code of a job tells steps that can be compared; nil if it does not. Two presets tell rounds over the data, within which a
// job may move.
func StepLine(s *v1beta1.GenericJobSpec) *ProgressLine {
	line := Progress(s)
	if line == nil || !strings.Contains(line.Pattern, "<step>") {
		return nil
	}
	if p := s.Progress; p != nil && (p.Preset == v1beta1.PresetKeras || p.Preset == v1beta1.PresetLightning) {
		return nil
	}
	return line
}

// WhyNoSteps says why noProgress of a job's failure policy has no effect, and what to do about it. It is "" if it has one, or is not set.
func WhyNoSteps(job *v1beta1.GenericJob) string {
	p := job.Spec.FailurePolicy
	switch {
	case p == nil || p.NoProgress == nil:
		return ""
	case StepLine(&job.Spec) == nil:
		return "nobody reads steps that can be compared: set progress.stdout to an expression with a group named step"
	case job.Spec.RestartScope != v1beta1.RestartScopeJob && members(job) > 1:
		return "replicas restart one by one, so that nobody knows how far the others have come: set restartScope to Job, or remove noProgress"
	default:
		return ""
	}
}

// members returns the number of replicas that are not auxiliary.
func members(job *v1beta1.GenericJob) (n int) {
	for i := range job.Spec.ReplicaSpecs {
		if r := &job.Spec.ReplicaSpecs[i]; !r.Auxiliary {
			n += Kept(job, r)
		}
	}
	return n
}
