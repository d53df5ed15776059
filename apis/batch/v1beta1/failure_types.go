package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReplicaFailure is how a replica failed, once.
type ReplicaFailure struct {
	// pod is the name of the pod.
	Pod string `json:"pod"`
	// node is the name of the node that the pod was on. Extension.
	// +optional
	Node string `json:"node,omitempty"`
	// container is the container whose exit made it fail, empty if none did.
	// +optional
	Container string `json:"container,omitempty"`
	// exitCode is the container's exit code.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// time is when the pod's code ended, by the clock of its node.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// reason is the kubelet's, as in Error, OOMKilled or Evicted.
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is the end of what the container last said, of 256 bytes at most: its termination message, or else its log. Under torchrun it is
	// what that says of the process that failed first.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Message string `json:"message,omitempty"`
	// processRank is the rank of the process, as the framework counts, if its words tell it. It need not be the replica's. Extension.
	// +optional
	ProcessRank *int32 `json:"processRank,omitempty"`
	// exception is the type and the text of the exception by which the code ended, if its words tell one. Extension.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Exception string `json:"exception,omitempty"`
	// frame is the last place of the user's own code in the traceback, as in "/train.py:12, in main". Extension.
	// +kubebuilder:validation:MaxLength=200
	// +optional
	Frame string `json:"frame,omitempty"`
	// workerExitCode is what the process has exited with, where its launcher tells: torchrun itself ends with 1. Extension.
	// +optional
	WorkerExitCode *int32 `json:"workerExitCode,omitempty"`
	// workerSignal is what killed the process, as in SIGKILL, where its launcher tells. Extension.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	WorkerSignal string `json:"workerSignal,omitempty"`
	// follows says by what words this failure follows from the end of another, as in "a peer closed its connection". It is empty for a
	// failure that may be a cause. Extension.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Follows string `json:"follows,omitempty"`
	// cause says what kind of failure it is. It is empty in what an earlier build has recorded. Extension.
	// +optional
	Cause *Cause `json:"cause,omitempty"`
}

// CauseKind is a kind of failure. Words of code tell most of them: kernel/output has the lines, each with its source.
//
// +kubebuilder:validation:Enum=Exception;OutOfMemory;DeviceOutOfMemory;Hardware;Network;Storage;Timeout;Hang;Config;NotANumber;Teardown;Unknown
type CauseKind string

// The kinds of failure.
const (
	// CauseException is an error of the user's code, or of a library, that is of no other kind. A fault such as SIGSEGV is one, too.
	CauseException CauseKind = "Exception"
	// CauseOutOfMemory is too little memory of the host, or of /dev/shm.
	CauseOutOfMemory CauseKind = "OutOfMemory"
	// CauseDeviceOutOfMemory is too little memory of a GPU or another device.
	CauseDeviceOutOfMemory CauseKind = "DeviceOutOfMemory"
	// CauseHardware is a device, or its driver, that does not work.
	CauseHardware CauseKind = "Hardware"
	// CauseNetwork is a name that has no address, a service that cannot be reached, or a connection that has broken.
	CauseNetwork CauseKind = "Network"
	// CauseStorage is a disk that is full, or a file that cannot be read or written.
	CauseStorage CauseKind = "Storage"
	// CauseTimeout is a wait that has taken too long, for a peer or by a limit of the job.
	CauseTimeout CauseKind = "Timeout"
	// CauseHang is code that gave no sign of life for as long as its heartbeat allows.
	CauseHang CauseKind = "Hang"
	// CauseConfig is a mistake that comes again with each start: an argument, a file, a module, a version.
	CauseConfig CauseKind = "Config"
	// CauseNotANumber is a loss or a gradient that is not a number.
	CauseNotANumber CauseKind = "NotANumber"
	// CauseTeardown is an end that somebody asked for, with SIGTERM or an interrupt.
	CauseTeardown CauseKind = "Teardown"
	// CauseUnknown is what nothing tells.
	CauseUnknown CauseKind = "Unknown"
)

// CauseRole tells if a failure may be the cause of others.
//
// +kubebuilder:validation:Enum=Root;Cascade
type CauseRole string

// The roles of a failure.
const (
	// CauseRoot is of a failure that may be the cause of others.
	CauseRoot CauseRole = "Root"
	// CauseCascade is of a failure that follows from the end of another; follows says by what words.
	CauseCascade CauseRole = "Cascade"
)

// Cause is what kind of failure one is.
type Cause struct {
	// kind is the kind of failure.
	Kind CauseKind `json:"kind"`
	// role tells if the failure may be the cause of others.
	Role CauseRole `json:"role"`
	// codes are what can be looked up: the signal that killed the process, and numbers of the driver's as in "Xid 79".
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=16
	// +listType=atomic
	// +optional
	Codes []string `json:"codes,omitempty"`
}

// FirstFailure is the failure that came first, of several that belong together.
type FirstFailure struct {
	ReplicaFailure `json:",inline"`
	// why says which pod failed and how, in one sentence.
	// +kubebuilder:validation:MaxLength=800
	// +optional
	Why string `json:"why,omitempty"`
	// summary is that with how sure it is and how many failed, too, as conditions tell it.
	// +kubebuilder:validation:MaxLength=1200
	// +optional
	Summary string `json:"summary,omitempty"`
	// jobAttempt is the attempt of the whole job in which the code failed; see status.jobAttempt.
	// +optional
	JobAttempt int32 `json:"jobAttempt,omitempty"`
	// others is the number of other replicas that have failed since, until the next start.
	// +optional
	Others int32 `json:"others,omitempty"`
	// orElse are pods that may have failed first as well: their code ended within the same second, or hangs as well. Nobody can tell more.
	// +kubebuilder:validation:MaxItems=4
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=atomic
	// +optional
	OrElse []string `json:"orElse,omitempty"`
	// probable says that nothing proves that this failure is the cause. Either it follows from the end of another, which is not known, or one of
	// those in orElse may be the cause.
	// +optional
	Probable bool `json:"probable,omitempty"`
}
