package simulator

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// prebuild has a new job that waits in a queue name a Workload of somebody else's, as MultiKueue's copies of jobs do.
func (l *Life) prebuild(job client.Object) {
	if s := schedulerIn(job); s != nil && s.Kueue != nil && l.tape.Chance(4) {
		job.SetLabels(map[string]string{spec.LabelPrebuilt: "theirs"})
	}
}

// isPrebuilt reports whether the user's job names a Workload of somebody else's.
func (l *Life) isPrebuilt() bool {
	job := l.api.get(key{l.user.kind, jobName})
	return job != nil && spec.Prebuilt(job) != ""
}

// unbuild is a user who does what the job's status says about that.
func (l *Life) unbuild() {
	if k := (key{l.user.kind, jobName}); l.isPrebuilt() {
		l.say("a user removes the name of a Workload from %s", k)
		l.api.edit(k, func(job client.Object) { job.SetLabels(nil) })
	}
}

// schedulerIn is the spec.scheduler of a job of our own kinds; others have none.
func schedulerIn(job client.Object) *v1beta1.SchedulePolicy {
	switch job := job.(type) {
	case *v1beta1.GenericJob:
		return job.Spec.Scheduler
	case *v1beta1.TensorFlowTrainingJob:
		return job.Spec.Scheduler
	case *v1beta1.PyTorchTrainingJob:
		return job.Spec.Scheduler
	default:
		return nil
	}
}

// createdWorkload checks that the job has no other.
func (t *truth) createdWorkload(w client.Object) {
	var job client.Object = t.life.api.jobByUID(metav1.GetControllerOf(w).UID)
	if job == (*v1beta1.GenericJob)(nil) {
		return
	}
	if ref, parent := metav1.GetControllerOf(job), t.parent(); ref != nil && parent != nil && parent.GetUID() == ref.UID {
		job = parent
	}
	if name := spec.Prebuilt(job); name != "" {
		t.violated("a job has two Workloads", "%s and %s", name, w.GetName())
	}
}
