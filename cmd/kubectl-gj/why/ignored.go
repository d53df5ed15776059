package why

import (
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// ignoring are the reasons of events about fields that have no effect.
var ignoring = []string{v1beta1.ReasonFieldIgnored, v1beta1.ReasonHostNameReplaced}

// others is what is not known of an operator: its default for jobs without avoidNodes.
const others = ". Where the operator has --avoid-nodes, that does for jobs without avoidNodes"

// Ignored says which fields of a job have no effect, and what to do about each. The operator tells it in events when the job begins, and
// Kubernetes soon forgets those. So the operator's own code is asked again.
func Ignored(f *jobs.Family, now time.Time) []string {
	if job, ok := f.Job.(*v1beta1.GenericJob); ok {
		return ignoredBy(job, now)
	}
	if f.IsDefined() { // only the operator can compile it
		return nil
	}
	program, err := training.Compile(*f.Kind.Framework, f.Kind.Kind, f.Job.DeepCopyObject().(client.Object))
	if err != nil || program.Foreign {
		return nil
	}
	return ignoredOf(&program, f.Status())
}

// IfNew asks the kernel what it would decide on such a job if it were new. An operator that avoids nodes does so for all jobs.
func IfNew(job *v1beta1.GenericJob, now time.Time, avoidsNodes bool) kernel.Decision {
	newborn := job.DeepCopy()
	newborn.Status, newborn.DeletionTimestamp = v1beta1.GenericJobStatus{}, nil
	w := kernel.World{Job: newborn, Now: now, MaxCreates: 1, Settings: kernel.Settings{WrapperImage: "there is one"}}
	if avoidsNodes {
		w.Settings.AvoidNodes = &v1beta1.AvoidNodes{}
	}
	d := kernel.Plan(w)
	if d.Postponed != nil {
		d = *d.Postponed
	}
	return d
}

// AboutFields returns the events about fields that have no effect.
func AboutFields(events []kernel.Event) (list []kernel.Event) {
	for _, e := range events {
		if slices.Contains(ignoring, e.Reason) {
			list = append(list, e)
		}
	}
	return list
}

func ignoredBy(job *v1beta1.GenericJob, now time.Time) (list []string) {
	unowned := job.DeepCopy() // of one that has an owner the kernel tells nothing
	unowned.OwnerReferences = nil
	for _, e := range AboutFields(IfNew(unowned, now, counts(&job.Status)).Events) {
		for i, text := range strings.Split(strings.TrimSuffix(e.Message, "."), "; spec.") {
			if i > 0 {
				text = "spec." + text
			}
			list = append(list, text)
		}
	}
	if i := slices.Index(list, "spec."+spec.WhyNoElsewhere(&job.Spec)); i >= 0 && job.Spec.AvoidNodes == nil {
		list[i] += others
	}
	return list
}

// counts reports whether the operator counts failures by node, be it by its own default.
func counts(s *v1beta1.GenericJobStatus) bool { return len(s.NodeFailures) > 0 }

// ignoredOf returns the same for a training job, whose GenericJob has no such events.
func ignoredOf(program *framework.Program, s v1beta1.GenericJobStatus) (list []string) {
	elsewhere := spec.WhyNoElsewhere(&program.Spec)
	for _, e := range AboutFields(training.Warnings(*program)) {
		text := strings.TrimSuffix(e.Message, ".")
		switch {
		case elsewhere == "" || !strings.Contains(text, elsewhere):
		case program.Spec.AvoidNodes != nil:
			text = strings.TrimSuffix(text, others)
		case counts(&s):
			continue
		}
		list = append(list, text)
	}
	return list
}
