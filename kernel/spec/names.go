package spec

import (
	"cmp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TrainingJob returns the training job that a GenericJob was compiled from; nil if there is none. Anything else may control a job, too, such as a
// workflow of which the job is a step.
func TrainingJob(job *v1beta1.GenericJob) *metav1.OwnerReference {
	if job.Annotations[v1beta1.AnnotationCompiledGeneration] == "" {
		return nil
	}
	return metav1.GetControllerOf(job)
}

// PodName returns the name of a replica's pod: <job>-<hash5>-<type>-<rank>, or <job>-<type>-<rank> if the job wants plain names.
func PodName(job *v1beta1.GenericJob, replicaType string, rank int) string {
	return NamesOf(job).Pod(replicaType, rank)
}

// Names makes and recognises the names of a job's pods. It hashes once, and not for each of thousands of pods.
type Names struct {
	job  *v1beta1.GenericJob
	base string // with which all names begin
}

// NamesOf returns the Names of a job's pods.
func NamesOf(job *v1beta1.GenericJob) Names {
	return Names{job, base(job, job.Spec.PodNames == v1beta1.PodNamesPlain)}
}

func base(job *v1beta1.GenericJob, plain bool) string {
	if plain {
		return job.Name + "-"
	}
	return job.Name + "-" + v1beta1.Hash5(job.Name, string(job.UID)) + "-"
}

// Pod returns the name of a replica's pod.
func (n Names) Pod(replicaType string, rank int) string {
	return n.base + replicaType + "-" + strconv.Itoa(rank)
}

// Is reports whether a name is the one that Pod would make.
func (n Names) Is(name, replicaType string, rank int) bool {
	return isName(name, n.base, replicaType, rank)
}

// Was reports whether a name is the one that Pod would make with the other value of spec.podNames. Users may edit spec.podNames in a pause, and pods
// from before must not be left behind with our finalizer.
func (n Names) Was(name, replicaType string, rank int) bool {
	return isName(name, base(n.job, n.job.Spec.PodNames != v1beta1.PodNamesPlain), replicaType, rank)
}

func isName(name, base, replicaType string, rank int) bool {
	end, ok := strings.CutPrefix(name, base)
	if ok {
		end, ok = strings.CutPrefix(end, replicaType)
	}
	var digits [20]byte
	return ok && len(end) > 1 && end[0] == '-' && end[1:] == string(strconv.AppendInt(digits[:0], int64(rank), 10))
}

// ServiceName returns the name of the job's Service: the name of the job, unless the status has another because that was taken.
func ServiceName(job *v1beta1.GenericJob) string { return cmp.Or(job.Status.ServiceName, job.Name) }

// longestLabel is the length that DNS allows a Service's name.
const longestLabel = 63

// OtherServiceName returns the name of the job's Service if somebody else's Service has the name of the job. No other job gets the same.
func OtherServiceName(job *v1beta1.GenericJob) string {
	hash := "-" + v1beta1.Hash5(job.Name, string(job.UID))
	return job.Name[:min(len(job.Name), longestLabel-len(hash))] + hash
}
