package jobs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// Family is a job with what belongs to it.
type Family struct {
	Kind *Kind
	// Job is what the user made.
	Job client.Object
	// GenericJob runs the job; it is Job itself if that is one. Nil as long as there is none.
	GenericJob *v1beta1.GenericJob
	// Pods are those of the GenericJob, by the order of its replica types and by rank.
	Pods []*corev1.Pod
	// Warnings are events about its pods that wait for their volumes, the oldest first; they are read where somebody asks why.
	Warnings []corev1.Event
	// Definition is how the definition of the kind stands; nil if nothing is known of it. It is read where somebody asks why.
	Definition *Definition
	// NotAvoided are events about nodes that the job does not avoid, where only these tell, the oldest first. They are read with the warnings.
	NotAvoided []corev1.Event
}

// Title returns kind and name of the job, as in PyTorchTrainingJob/mnist.
func (f *Family) Title() string { return f.Kind.Kind + "/" + f.Job.GetName() }

// Address returns how commands call the job, as in pj/mnist.
func (f *Family) Address() string { return f.Kind.Short() + "/" + f.Job.GetName() }

// Command returns a command of this program about the job, as a user would type it.
func (f *Family) Command(verb, rest string) string {
	return strings.TrimSpace("kubectl gj " + verb + " " + f.Address() + " -n " + f.Job.GetNamespace() + " " + rest)
}

// Phase returns the phase of the job; empty until the operator has seen it.
func (f *Family) Phase() v1beta1.JobPhase {
	if f.Kind.Framework != nil && (f.GenericJob == nil || !f.Kind.IsKubeflow()) {
		if phase := f.Kind.Framework.Phase(f.Job); phase != "" || !f.IsDefined() || f.GenericJob == nil {
			return phase
		}
	}
	return f.GenericJob.Status.Phase
}

// Status returns what the GenericJob says of itself; empty as long as there is none.
func (f *Family) Status() v1beta1.GenericJobStatus {
	if f.GenericJob == nil {
		return v1beta1.GenericJobStatus{}
	}
	return f.GenericJob.Status
}

// Conditions returns what is said of the job. A job that speaks the GenericJob's words says it itself. Of any other the GenericJob says
// it, and the job adds what it alone can know.
func (f *Family) Conditions() []v1beta1.JobCondition {
	var own []v1beta1.JobCondition
	switch job := f.Job.(type) {
	case *v1beta1.PyTorchTrainingJob:
		own = job.Status.Conditions
	case *v1beta1.TensorFlowTrainingJob:
		own = job.Status.Conditions
	case kubeflow.Job:
		own = translated(f.Kind.Kind, job.State().Conditions)
	case *unstructured.Unstructured:
		own = conditionsOf(job, f.Kind.IsKubeflow())
	}
	if !f.Kind.IsKubeflow() && len(own) > 0 {
		return own
	}
	all := slices.Clone(f.Status().Conditions)
	for _, c := range own {
		if !slices.ContainsFunc(all, func(have v1beta1.JobCondition) bool { return have.Type == c.Type && have.Status == c.Status }) {
			all = append(slices.DeleteFunc(all, func(have v1beta1.JobCondition) bool { return have.Type == c.Type }), c)
		}
	}
	return all
}

// translated returns those of Kubeflow's conditions that a GenericJob has, too, and that hold. Their reasons begin with the kind.
func translated(kind string, list []kubeflow.JobCondition) (out []v1beta1.JobCondition) {
	for _, c := range list {
		switch c.Type {
		case kubeflow.JobBlocked, kubeflow.JobFailed, kubeflow.JobReplicaFailure:
			if c.Status == corev1.ConditionTrue {
				out = append(out, v1beta1.JobCondition{Type: v1beta1.JobConditionType(c.Type), Status: metav1.ConditionTrue,
					Reason: strings.TrimPrefix(c.Reason, kind), Message: c.Message, LastTransitionTime: c.LastTransitionTime})
			}
		default:
		}
	}
	return out
}

// Condition returns the condition of a type; its zero value without it.
func (f *Family) Condition(t v1beta1.JobConditionType) v1beta1.JobCondition {
	for _, c := range f.Conditions() {
		if c.Type == t {
			return c
		}
	}
	return v1beta1.JobCondition{}
}

// Is reports whether a condition holds.
func (f *Family) Is(t v1beta1.JobConditionType) bool {
	return f.Condition(t).Status == metav1.ConditionTrue
}

// IsOver reports whether the job has succeeded or failed.
func (f *Family) IsOver() bool { return f.Phase().IsFinal() }

// Refuses reports whether the job goes on as it was before its last edit, which cannot run.
func (f *Family) Refuses() bool {
	switch f.Condition(v1beta1.ConditionBlocked).Reason {
	case v1beta1.ReasonInvalidSpec, v1beta1.ReasonInvalidDefinition, v1beta1.ReasonRevisionUnknown:
		return true
	default:
		return false
	}
}

// IsCurrent reports whether the job's status answers to its spec as it is now.
func (f *Family) IsCurrent() bool {
	switch job := f.Job.(type) {
	case *v1beta1.GenericJob:
		return job.Status.ObservedGeneration == job.Generation
	case *v1beta1.PyTorchTrainingJob:
		return job.Status.ObservedGeneration == job.Generation
	case *v1beta1.TensorFlowTrainingJob:
		return job.Status.ObservedGeneration == job.Generation
	case kubeflow.Job:
		return job.State().ObservedGeneration == job.GetGeneration()
	case *unstructured.Unstructured:
		return isCurrent(job)
	default:
		return false
	}
}

// Rank returns the replica type and the rank that a pod is labelled with.
func Rank(pod *corev1.Pod) (replicaType string, rank int) {
	rank, err := strconv.Atoi(pod.Labels[v1beta1.LabelReplicaRank])
	if err != nil {
		rank = -1 // somebody has edited it
	}
	return pod.Labels[v1beta1.LabelReplicaType], rank
}

// Replica returns what a pod's replica is called, as in worker-0.
func Replica(pod *corev1.Pod) string {
	return pod.Labels[v1beta1.LabelReplicaType] + "-" + pod.Labels[v1beta1.LabelReplicaRank]
}

// NewFamily puts together what belongs to a job. Pods that the GenericJob does not control are left out.
func NewFamily(kind *Kind, job client.Object, gj *v1beta1.GenericJob, pods []corev1.Pod) *Family {
	f := &Family{Kind: kind, Job: job, GenericJob: gj}
	if gj == nil {
		return f
	}
	place := map[string]int{}
	for i := range gj.Spec.ReplicaSpecs {
		place[gj.Spec.ReplicaSpecs[i].Type] = i
	}
	for i := range pods {
		if metav1.IsControlledBy(&pods[i], gj) {
			f.Pods = append(f.Pods, &pods[i])
		}
	}
	slices.SortStableFunc(f.Pods, func(a, b *corev1.Pod) int {
		typeA, rankA := Rank(a)
		typeB, rankB := Rank(b)
		return cmp.Or(place[typeA]-place[typeB], cmp.Compare(typeA, typeB), rankA-rankB)
	})
	return f
}
