package v1beta1_test

import (
	"testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func nodeLost(seconds int32) edit {
	return spec(func(s *v1beta1.GenericJobSpec) { s.NodeLost = &v1beta1.NodeLost{AfterSeconds: seconds} })
}

func TestNodeLost(t *testing.T) {
	tryRules(t, job, map[string]ruleCase{
		"it takes time":      {nodeLost(1), nodeLost(0), atLeast("spec.nodeLost.afterSeconds", 1)},
		"it takes a day":     {nodeLost(86400), nodeLost(86401), atMost("spec.nodeLost.afterSeconds", 86400)},
		"it is not negative": {nodeLost(30), nodeLost(-1), atLeast("spec.nodeLost.afterSeconds", 1)},
	})
	tryWaiting(t, job, map[string]waiting[*v1beta1.GenericJob]{
		"nodeLost": {nodeLost(30), "nodeLost is immutable unless the job is paused: set spec.runMode.pause.enabled"},
	})
}
