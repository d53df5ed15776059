package v1beta1

// NodeLost says how long the pods of a job wait for a node that has stopped to answer.
type NodeLost struct {
	// afterSeconds is how long a node may be not Ready until Kubernetes deletes the job's pods there. Kubernetes finds a node to be so after
	// some 50 seconds of silence. The pods get tolerations of so many seconds for node.kubernetes.io/not-ready and
	// node.kubernetes.io/unreachable, before those of the template. A toleration of the template that names such a taint stays, and decides for
	// its pods: it may also wait for ever. One without a key, which tolerates all taints, does not count. A node that is Ready again in time has
	// cost nothing.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +required
	AfterSeconds int32 `json:"afterSeconds"`
}
