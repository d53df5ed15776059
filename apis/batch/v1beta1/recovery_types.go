package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Recovery is how a job came back from the last loss of time: from what ended its code until all replicas ran again, and until the next step. Its
// times are in order, in whole seconds.
type Recovery struct {
	// cause is what had ended the code: restart, hang, disruption or node.
	Cause TimeCause `json:"cause"`
	// began is when the loss began, as in status.time: when code ended, showed its last sign of life, or its node was not Ready any more.
	Began metav1.Time `json:"began"`
	// detected is when the operator acted on that.
	Detected metav1.Time `json:"detected"`
	// replaced is when the containers of all replicas had started again. It is empty as long as some have not.
	// +optional
	Replaced *metav1.Time `json:"replaced,omitempty"`
	// stepped is when the code told the first step since. It is empty until the operator has heard of one; see kernel/time.md.
	// +optional
	Stepped *metav1.Time `json:"stepped,omitempty"`
}
