package v1beta1

// RestartPolicy says when, and how often, a replica that ended is started again.
//
// +kubebuilder:validation:XValidation:rule="!has(self.exitCodes) || (has(self.policy) && self.policy == 'ExitCode')",message="exitCodes has an effect only with policy ExitCode: remove it or set policy to ExitCode"
type RestartPolicy struct {
	// policy is one of Always (after success too), OnFailure (default), Never, and, as an extension, ExitCode (only
	// after the exit codes in exitCodes).
	// +optional
	Policy RestartPolicyType `json:"policy,omitempty"`
	// limit is the number of restarts that each replica of this type may have. Default 0; where the job sets
	// backoffLimit the default is no limit of its own.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Limit *int32 `json:"limit,omitempty"`
	// exitCodes are the exit codes that policy ExitCode retries. Default 130, 137, 138 and 143: killed from outside,
	// or asked for by the program (138). Extension.
	// +kubebuilder:validation:MaxItems=255
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	// +listType=set
	// +optional
	ExitCodes []int32 `json:"exitCodes,omitempty"`
}
