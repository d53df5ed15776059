package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Recovery is how a job came back from the last loss of time. It goes from what ended the job's code until enough replicas ran again, and until the
// next step. Its times are in order, in whole seconds.
type Recovery struct {
	// cause is what had ended the code: restart, hang, disruption or node.
	Cause TimeCause `json:"cause"`
	// began is when the loss began, as in status.time. That is when code ended, showed its last sign of life, or its node was not Ready any more.
	Began metav1.Time `json:"began"`
	// detected is when the operator acted on that.
	Detected metav1.Time `json:"detected"`
	// replaced is when the containers of enough replicas had started again. It is empty as long as too few have.
	// +optional
	Replaced *metav1.Time `json:"replaced,omitempty"`
	// stepped is when the code told the first step since. It is empty until the operator has heard of one; see kernel/time.md.
	// +optional
	Stepped *metav1.Time `json:"stepped,omitempty"`
}
