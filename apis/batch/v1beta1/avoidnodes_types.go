package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// AvoidNodes has a job keep off nodes on which its code fails. All fields have defaults: {} is enough.
type AvoidNodes struct {
	// after is how many failures on one node have the job's new pods avoid it. Of failures that belong together the first counts, for the node on
	// which it came. What follows from the end of another counts for none. A pod that a node rejects counts for that node, and so does the
	// loss of the node. Default 2.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +optional
	After *int32 `json:"after,omitempty"`
	// within is how long a failure counts, in hours, minutes and seconds as in 24h or 1h30m: from one minute to 8,760h. A node is avoided until so
	// few failures are left that they are fewer than after. Default 24h.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('8760h')",message="want a time from 1m to 8760h, as in 24h or 1h30m"
	// +optional
	Within AvoidTime `json:"within,omitempty"`
	// atMost is how many nodes the job avoids at a time because of failures, rejections and conditions. Code that fails everywhere would else keep itself
	// from every node. One that is only lost does not count. The last node of the cluster is never avoided so. 0: none is, whatever the operator's default is. Default 1.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=16
	// +optional
	AtMost *int32 `json:"atMost,omitempty"`
}

// AvoidTime is a time in hours, minutes and seconds.
//
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=18
// +kubebuilder:validation:Pattern=`^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,6}s)?$`
type AvoidTime string

// AvoidReason says why a job avoids a node.
//
// +kubebuilder:validation:Enum=Failed;Rejected;Lost;Condition
type AvoidReason string

// The reasons.
const (
	// AvoidFailed: the job's code failed there, and came first.
	AvoidFailed AvoidReason = "Failed"
	// AvoidRejected: its kubelet turned a pod away for a reason that is the node's own.
	AvoidRejected AvoidReason = "Rejected"
	// AvoidLost: its kubelet does not answer.
	AvoidLost AvoidReason = "Lost"
	// AvoidCondition: it has a condition that the operator was told to keep pods off.
	AvoidCondition AvoidReason = "Condition"
)

// AvoidedNode is a node that the job's new pods avoid.
type AvoidedNode struct {
	// node is the name of the node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// reason is that of the last failure on the node. Failed: code of the job failed there. Rejected: the node turned a pod away. Lost: the node
	// does not answer. Condition: the node has a condition that the operator was told to keep pods off; that counts before failures.
	Reason AvoidReason `json:"reason"`
	// message says what happened there last.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// failures is how many failures counted when the node was first avoided; 0 of a lost node that had few, or for a condition.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// since is when it was first avoided.
	Since metav1.Time `json:"since"`
	// until is when it is no longer avoided. More failures move it. Without it the node is avoided as long as its trouble lasts. A lost node is avoided
	// until it is Ready again, a node with a condition until it has that no more. If enough failures count for a lost node, it has until, too.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// IsLost reports whether the node is avoided only because it does not answer.
func (n AvoidedNode) IsLost() bool { return n.Until == nil && n.Reason != AvoidCondition }

// NodeFailures are failures of a job on one node that still count.
type NodeFailures struct {
	// node is the name of the node.
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`
	// reason is that of the last one.
	Reason AvoidReason `json:"reason"`
	// message says what happened there last.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// times are when they came, as far as is known, the last ones last. Of a lost node it is when Kubernetes found that it does not answer.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Times []metav1.Time `json:"times,omitempty"`
	// enough is when the last failure came that is enough by itself, because a rule of failurePolicy with elsewhere matches it.
	// +optional
	Enough *metav1.Time `json:"enough,omitempty"`
	// earlier is what happened there before. It is there as long as the last failure may be taken back, because another one came first.
	// +optional
	Earlier *EarlierFailure `json:"earlier,omitempty"`
}

// EarlierFailure is what happened on a node before its last failure.
type EarlierFailure struct {
	// reason is that of the failure before the last one.
	Reason AvoidReason `json:"reason"`
	// message says what happened there.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// enough is what it was before.
	// +optional
	Enough *metav1.Time `json:"enough,omitempty"`
}
