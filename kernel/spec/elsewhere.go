package spec

import (
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// WhyNoElsewhere says why rules of a failure policy send no replica elsewhere, and what to do about it. It is "" if they can, or if no rule does.
func WhyNoElsewhere(s *v1beta1.GenericJobSpec) string {
	if s.FailurePolicy == nil {
		return ""
	}
	for i := range s.FailurePolicy.Rules {
		switch {
		case !s.FailurePolicy.Rules[i].Elsewhere:
		case s.AvoidNodes == nil:
			return fmt.Sprintf("failurePolicy.rules[%d].elsewhere is true, but the job avoids no nodes: set avoidNodes, as in {}, or remove elsewhere", i)
		case ptr.Deref(s.AvoidNodes.AtMost, avoidAtMost) == 0:
			return fmt.Sprintf("failurePolicy.rules[%d].elsewhere is true, but avoidNodes.atMost is 0: raise it, or remove elsewhere", i)
		}
	}
	return ""
}
