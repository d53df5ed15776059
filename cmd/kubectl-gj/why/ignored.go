package why

import (
	"fmt"
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

// ignoredBy asks the kernel what it would tell of such a job if it were new.
func ignoredBy(job *v1beta1.GenericJob, now time.Time) (list []string) {
	newborn := job.DeepCopy()
	newborn.Status, newborn.OwnerReferences, newborn.DeletionTimestamp = v1beta1.GenericJobStatus{}, nil, nil
	w := kernel.World{Job: newborn, Now: now, MaxCreates: 1, Settings: kernel.Settings{WrapperImage: "there is one"}}
	if counts(&job.Status) {
		w.Settings.AvoidNodes = &v1beta1.AvoidNodes{}
	}
	d := kernel.Plan(w)
	if d.Postponed != nil {
		d = *d.Postponed
	}
	for _, e := range d.Events {
		if !slices.Contains(ignoring, e.Reason) {
			continue
		}
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
	for _, w := range program.Warnings {
		if slices.Contains(ignoring, w.Reason) {
			list = append(list, strings.TrimSuffix(w.Message, "."))
		}
	}
	is := &program.Spec
	add := func(field string, reasons ...string) {
		for _, why := range reasons {
			if why != "" {
				list = append(list, "spec.runPolicy."+field+why)
			}
		}
	}
	add("restartStrategy is InPlace, but ", spec.WhyNotInPlace(is, false)...)
	add("heartbeat is set, but ", spec.WhyNoHeartbeat(is, false)...)
	add("failurePolicy.noProgress is set, but ", spec.WhyNoSteps(&v1beta1.GenericJob{Spec: *is}))
	switch why := spec.WhyNoElsewhere(is); {
	case why == "":
	case is.AvoidNodes != nil:
		add("", why)
	case !counts(&s):
		add("", why+others)
	}
	add("progress is set, but ", spec.WhyNoProgress(is, false)...)
	if is.RunMode.Debugs() {
		for _, t := range spec.UnknownTypes(is) {
			list = append(list, fmt.Sprintf("spec.runMode.debug.replicaSpecs names type %q, which the job does not have: correct or remove the entry", t))
		}
	}
	return list
}
