package kernel

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/kueue"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Verb says what an Action does.
type Verb string

// The verbs, in the order in which their tiers are carried out. First come those that stop, mark or release pods, then what new pods need. New pods
// follow, and at last the end of the job.
const (
	// StopPod marks a pod as stopped, under its resourceVersion, and then deletes it gracefully. If the pod has changed meanwhile, nothing happens: it
	// may have ended, and the next reconcile must see that first.
	StopPod Verb = "StopPod"
	// MarkPod marks a pod as disrupted, under its resourceVersion.
	MarkPod Verb = "MarkPod"
	// ReleasePod removes the tracking finalizer.
	ReleasePod Verb = "ReleasePod"
	// EndPod has the kubelet end what still runs in a pod, which stays with its logs: it lowers activeDeadlineSeconds to 1, under the
	// pod's resourceVersion.
	EndPod Verb = "EndPod"
	// OrderPod tells a pod that restarts in place what to do, under its resourceVersion: it writes Order into its annotation.
	OrderPod Verb = "OrderPod"
	// DeletePod deletes the pod with this UID, gracefully.
	DeletePod Verb = "DeletePod"
	// ForceDeletePod deletes the pod with this UID without waiting for its node.
	ForceDeletePod Verb = "ForceDeletePod"
	// DeleteObject deletes Object, if QuotaPrecondition holds.
	DeleteObject Verb = "DeleteObject"
	// WriteObjectStatus writes the status of Object, if its resourceVersion is the same and QuotaPrecondition holds.
	WriteObjectStatus Verb = "WriteObjectStatus"
	// CreateService creates Service.
	CreateService Verb = "CreateService"
	// UpdateService sets the ports of an existing Service.
	UpdateService Verb = "UpdateService"
	// ApplyObject creates Object, or updates the existing one to match it.
	ApplyObject Verb = "ApplyObject"
	// CreateObject creates Object.
	CreateObject Verb = "CreateObject"
	// CreatePod creates the pod of a replica; PodBuilder.Pod makes it.
	CreatePod Verb = "CreatePod"
	// DeleteJob deletes the job itself, if it still has the resourceVersion that was planned from.
	DeleteJob Verb = "DeleteJob"
)

// Tier numbers the verbs by the order in which they are carried out. The actions of a tier are independent of each other. If an action fails, only
// two things wait for it. Pods wait for what they need from the tier before. The deletion of the job waits for everything.
func (v Verb) Tier() int {
	switch v {
	case StopPod, MarkPod, ReleasePod, EndPod, OrderPod, DeletePod, ForceDeletePod, DeleteObject, WriteObjectStatus:
		return 0
	case CreateService, UpdateService, ApplyObject, CreateObject:
		return 1
	case CreatePod:
		return 2
	default:
		return 3
	}
}

// NeedsFence reports whether the caller must know that the job is current: something is created, code is started again, or quota is given away.
func (a Action) NeedsFence() bool {
	return a.Verb.Creates() || a.Verb == OrderPod || a.QuotaPrecondition != nil
}

// Creates reports whether the verb brings something into being.
func (v Verb) Creates() bool { return v.Provides() || v == CreatePod }

// Provides reports whether pods need what the verb does before they are created.
func (v Verb) Provides() bool { return v.Tier() == 1 }

// Words returns the verb as users know it.
func (v Verb) Words() string {
	switch v {
	case StopPod:
		return "stop"
	case MarkPod, OrderPod:
		return "annotate"
	case ReleasePod:
		return "take the finalizer off"
	case EndPod:
		return "end what still runs in"
	case DeletePod, ForceDeletePod, DeleteObject, DeleteJob:
		return "delete"
	case UpdateService, WriteObjectStatus:
		return "update"
	case ApplyObject:
		return "apply"
	default:
		return "create"
	}
}

// Action is one thing to do. It is data: it can be printed and compared.
type Action struct {
	Verb Verb
	// Pod is the observed pod that the action is about.
	Pod *corev1.Pod
	// Order is what OrderPod tells Pod.
	Order inplace.Order
	// Service is what CreateService and UpdateService want.
	Service *corev1.Service
	// Object is what the verbs for objects are about.
	Object *unstructured.Unstructured
	// QuotaPrecondition is set if the action gives quota away. The caller lists the job's pods live, because a cache may lag. If other pods run than the
	// precondition names, it refuses the action.
	QuotaPrecondition *QuotaPrecondition
	// Type, Rank and Attempt say which replica CreatePod is about.
	Type    string
	Rank    int
	Attempt int
	// Reason says in a few words why.
	Reason string
}

// QuotaPrecondition names the pods of the job that keep their quota, because they may run.
type QuotaPrecondition struct {
	// Ranks are the replicas that have not finished, by type.
	Ranks map[string]ledger.Ranks
	// Others is how many other pods of each type are not over yet, as far as is known.
	Others map[string]int
}

// Replica names the replica that the action is about, as in "worker-0"; "" if it is about none.
func (a Action) Replica() string {
	switch {
	case a.Pod != nil:
		return a.Pod.Labels[v1beta1.LabelReplicaType] + "-" + a.Pod.Labels[v1beta1.LabelReplicaRank]
	case a.Verb == CreatePod:
		return fmt.Sprintf("%s-%d", a.Type, a.Rank)
	default:
		return ""
	}
}

// String prints an action on one line, for logs and stories.
func (a Action) String() string {
	switch {
	case a.Verb == OrderPod:
		return fmt.Sprintf("%s %s %s: %s", a.Verb, a.Pod.Name, a.Order, a.Reason)
	case a.Pod != nil:
		return fmt.Sprintf("%s %s: %s", a.Verb, a.Pod.Name, a.Reason)
	case a.Verb == CreatePod:
		return fmt.Sprintf("%s %s-%d attempt %d: %s", a.Verb, a.Type, a.Rank, a.Attempt, a.Reason)
	case a.Service != nil:
		return fmt.Sprintf("%s %s: %s", a.Verb, a.Service.Name, a.Reason)
	case a.Object != nil:
		return fmt.Sprintf("%s %s %s: %s", a.Verb, a.Object.GetKind(), a.Object.GetName(), a.Reason)
	default:
		return fmt.Sprintf("%s: %s", a.Verb, a.Reason)
	}
}

// PodBuilder makes the pods that CreatePod actions ask for.
type PodBuilder struct {
	pods   *build.Builder
	kueue  Kueue
	avoids []string // the nodes that new pods avoid
}

// NewPodBuilder returns the PodBuilder of a job with the status that the actions were decided with.
func NewPodBuilder(job *v1beta1.GenericJob, settings Settings) *PodBuilder {
	s := &job.Status
	run := build.Run{
		ClusterDomain: settings.ClusterDomain, NodeLostAfter: settings.NodeLostAfter, ModeGeneration: s.ModeGeneration, Begun: s.StartTime != nil, Resumed: s.Mode == spec.ModeResumed,
		JobAttempt: s.JobAttempt, BarrierIsClosed: barrier.IsClosed(job), WrapperImage: settings.WrapperImage,
	}
	if s.Gang != nil {
		run.Gang = s.Gang.Group
	}
	return &PodBuilder{pods: build.NewBuilder(job, run), avoids: namesOf(s.AvoidedNodes)}
}

// In has the PodBuilder make pods that go where the job's queue has admitted them.
func (b *PodBuilder) In(k Kueue) *PodBuilder {
	b.kueue = k
	return b
}

// Pod makes the pod of an action's replica. It returns nil if the job has no such replica type.
func (b *PodBuilder) Pod(a Action) *corev1.Pod {
	pod := b.pods.Pod(a.Type, a.Rank, a.Attempt)
	if pod == nil {
		return nil
	}
	if b.kueue.Workload != nil {
		kueue.PlacementOf(b.kueue.Workload, a.Type, b.kueue.Flavors).Apply(pod)
	}
	if !kueue.ChoosesNodes(b.kueue.Workload, a.Type) {
		build.Avoid(pod, b.avoids)
	}
	return pod
}
