package spec

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Labels by which users of Kueue name a job's queue and its priority class.
const (
	LabelQueue         = "kueue.x-k8s.io/queue-name"
	LabelPriorityClass = "kueue.x-k8s.io/priority-class"
)

// TopologyGate is the scheduling gate that Kueue removes from a pod when it has chosen the pod's node.
const TopologyGate = "kueue.x-k8s.io/topology"

// LabelPrebuilt is the label, or the annotation, that names a Workload which was made before its job. MultiKueue makes such Workloads for
// the copies of jobs on other clusters.
const LabelPrebuilt = "kueue.x-k8s.io/prebuilt-workload-name"

// Prebuilt returns the name of the Workload that somebody else has made for a job; "" if nobody has.
func Prebuilt(job metav1.Object) string {
	return cmp.Or(job.GetAnnotations()[LabelPrebuilt], job.GetLabels()[LabelPrebuilt])
}

// PrebuiltMessage says what to do about a Workload of that name: a second one would take its quota twice.
func PrebuiltMessage(name string) string {
	return "The job names a Workload that somebody else has made for it, " + name + ", as MultiKueue does: jobs of this kind queue by a Workload of their operator's alone. " +
		"Remove " + LabelPrebuilt + " from its labels and annotations, and it queues by itself."
}

// Kueue returns the Kueue queue in which a job wants to wait; nil if it wants none. Without spec.scheduler, Kueue's labels decide.
func Kueue(job *v1beta1.GenericJob) *v1beta1.KueueScheduler {
	switch s := job.Spec.Scheduler; {
	case s != nil:
		return s.Kueue
	case job.Labels[LabelQueue] != "":
		return &v1beta1.KueueScheduler{QueueName: job.Labels[LabelQueue], PriorityClass: job.Labels[LabelPriorityClass]}
	default:
		return nil
	}
}
