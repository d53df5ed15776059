package kernel

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/status"
)

// World is all that Plan looks at.
type World struct {
	// Job is the job as the caller last saw it. Plan does not change it.
	Job *v1beta1.GenericJob
	// Pods are the pods that the job's labels find, in any order. Those that the job does not control are left alone.
	Pods []*corev1.Pod
	// Orphans are pods of an earlier job of this name, to be let go. Nothing is created while there are any.
	Orphans []*corev1.Pod
	// Services are the Services that the job controls.
	Services []*corev1.Service
	// Gang is what the cluster has of the job's gang scheduler; its zero value will do for a job without one.
	Gang GangObjects
	// Kueue is what the cluster has of the Kueue queue in which the job waits. Its zero value will do for a job without one.
	Kueue Kueue
	// Reports are the answers of pods that restart in place, by UID. A pod that has not answered has none. The caller asks the pods of
	// barrier.Awaited, and sometimes those of barrier.MayHold.
	Reports map[types.UID]inplace.Report
	// ProgressReport is what the ProgressPod reports; its zero value if none was asked, or has answered.
	ProgressReport inplace.Report
	// FurthestReport is what the FurthestPod reports; its zero value if none was asked, or has answered.
	FurthestReport inplace.Report
	// Nodes are the nodes that the caller has read live, by name: those whose state decides what a pod means (see podstate.Judge.DependsOnNode). A pod on
	// a node that answers may still run, so it is neither deleted by force nor replaced. If an answer makes a pod need force
	// (podstate.Judge.NeedsForce), the caller has asked in this reconcile. Other answers may be older.
	Nodes map[string]podstate.Node
	// NodeCount is how many nodes the cluster has; 0 if that is not known. Only jobs with avoidNodes ask.
	NodeCount int
	// NodeProblems are what speaks against nodes beside what the job has seen itself: their conditions first, then failures of other jobs. Only jobs with
	// avoidNodes ask.
	NodeProblems []NodeProblem
	// JobIsLive says that Job is what the apiserver holds, and not just what a cache has of it.
	JobIsLive bool
	// MaxCreates is how many pods of a type the caller can create before it plans again. Plan asks for no more, however many are missing. 0 means no
	// limit.
	MaxCreates int
	// Now is the time of this reconcile.
	Now time.Time
	// Settings are the operator's own settings.
	Settings Settings
}

// GangObjects is what the cluster has of a job's gang scheduler.
type GangObjects struct {
	// Missing names the kind that the cluster does not know, "" if it knows it.
	Missing string
	// Version is the first of build.GangVersions that the cluster serves; "" stands for the first of all.
	Version string
	// Objects are the job's PodGroups that exist. There is one, except where PodGroups cannot be changed and new ones take their place.
	Objects []*unstructured.Unstructured
}

// Settings are settings of the operator that Plan depends on.
type Settings struct {
	// ForceReplaceAfter is how long a pod may stay Terminating beyond its grace period. After that, if its node does not answer, the pod counts as lost
	// with the node: it is deleted by force and replaced. It takes less time if the node is known to be lost. 0 means never.
	ForceReplaceAfter time.Duration
	// NodeLostAfter is how long pods tolerate a node that is not Ready, in jobs that do not say it. 0 leaves that to Kubernetes.
	NodeLostAfter time.Duration
	// AvoidNodes holds for jobs that have no avoidNodes. Nil: they avoid no node for failures.
	AvoidNodes *v1beta1.AvoidNodes
	// ClusterDomain is the cluster's DNS domain. Default "cluster.local".
	ClusterDomain string
	// WrapperImage is the image that holds the wrapper of pods that restart in place, at /wrapper. "": no pod does.
	WrapperImage string
}

// Decision is what Plan decided. The caller must, in this order:
//
//  1. Write Status if it differs from the job's, under the resourceVersion of World.Job, and stop if that fails.
//  2. Emit Events if the status was written.
//  3. If it wrote nothing, and an action needs the fence (Action.NeedsFence), read the job live, and stop if its resourceVersion is another.
//  4. If an action creates a pod in another mode generation or job attempt than the first, list the pods live, once for each such beginning.
//     Stop if Pods lacks one that may run.
//  5. Carry out Actions tier by tier, some or all. If it wrote Status, it may plan again instead.
//  6. Plan again after RequeueAfter, if that is not zero.
//
// If an action is refused for a reason that the user must hear of, the caller carries out the decision of RecordRefusals.
type Decision struct {
	// Status is to be written as a whole. Status may share memory with the status of World.Job.
	Status  v1beta1.GenericJobStatus
	Actions []Action
	// TypesLackingPods are the types that lack more pods than Actions create, in the order of the spec. The caller should plan again when it has created
	// those of Actions.
	TypesLackingPods []string
	Events           []Event
	RequeueAfter     time.Duration
	// Postponed is set if the first status of the job need not be written yet (see status.PostponedFor). It holds that status and its events. Only
	// RecordRefusals uses it.
	Postponed *Decision
	// Stale says that some pod is newer than the job's status, so that nothing could be decided. A caller that finds the
	// job to be live nevertheless should plan again with World.JobIsLive.
	Stale bool
}

// Event is something to tell the user about the job.
type Event = status.Event

// NodeProblem is what speaks against a node beside what the job has seen there itself.
type NodeProblem = ledger.NodeProblem
