package spec

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

// Labels by which users of Kueue name a job's queue and its rank in it.
const (
	LabelQueue         = "kueue.x-k8s.io/queue-name"
	LabelPriorityClass = "kueue.x-k8s.io/priority-class"
)

// Queue is the queue of Kueue's that a job wants to wait in; nil if it wants none. Labels say so where spec.scheduler says nothing.
func Queue(job *v1beta1.GenericJob) *v1beta1.KueueScheduler {
	switch s := job.Spec.Scheduler; {
	case s != nil:
		return s.Kueue
	case job.Labels[LabelQueue] != "":
		return &v1beta1.KueueScheduler{QueueName: job.Labels[LabelQueue], PriorityClass: job.Labels[LabelPriorityClass]}
	default:
		return nil
	}
}
