package status

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/text"
)

// longestQuote is how many bytes of a name are quoted: a template may have a name of any length.
const longestQuote = 100

// warnings are events about fields that have no effect. All warnings of one reason are one event, because Kubernetes would count several as one. They
// come with the first status, so once in the life of a job. A job that was compiled from a training job has none: whoever compiled it tells the author
// of that.
func (w *writer) warnings() []Event {
	if w.Job.Status.LastUpdateTime != nil || spec.TrainingJob(w.Job) != nil {
		return nil
	}
	var list []Event
	if hosts := w.replacedHosts(); len(hosts) > 0 {
		list = append(list, NewEvent(true, v1beta1.ReasonHostNameReplaced,
			strings.Join(hosts, "; ")+": replicas find each other by the operator's names, so these have no effect. Remove them."))
	}
	if fields := w.ignoredFields(); len(fields) > 0 {
		list = append(list, NewEvent(true, v1beta1.ReasonFieldIgnored, strings.Join(fields, "; ")+"."))
	}
	return list
}

// replacedHosts returns the host names in templates that have no effect, because the operator's names take their place.
func (w *writer) replacedHosts() (list []string) {
	for i := range w.Job.Spec.ReplicaSpecs {
		r := &w.Job.Spec.ReplicaSpecs[i]
		replaced := func(field, own, ours string) {
			if own != "" {
				list = append(list, fmt.Sprintf("spec.replicaSpecs[%s].template.spec.%s is %q, where each pod gets %s", r.Type, field, text.Cut(own, longestQuote), ours))
			}
		}
		replaced("hostname", r.Template.Spec.Hostname, "<job>-<type>-<rank>")
		if w.Job.Spec.Service != nil {
			replaced("subdomain", r.Template.Spec.Subdomain, "the name of the job's Service")
		}
	}
	return list
}

// restartsByRule reports whether a rule of a failure policy restarts replicas, whatever their restart policy.
func restartsByRule(p *v1beta1.FailurePolicy) bool {
	return p != nil && slices.ContainsFunc(p.Rules, func(r v1beta1.FailurePolicyRule) bool { return r.Action == v1beta1.FailureActionRestart })
}

// ignoredFields are fields that have no effect because of other fields.
func (w *writer) ignoredFields() (list []string) {
	for i := range w.Job.Spec.ReplicaSpecs {
		r := &w.Job.Spec.ReplicaSpecs[i]
		if l := r.RestartPolicy; l != nil && l.Policy == v1beta1.RestartNever && l.Limit != nil && *l.Limit > 0 && !restartsByRule(w.Job.Spec.FailurePolicy) {
			list = append(list, fmt.Sprintf("spec.replicaSpecs[%s].restartPolicy.limit is %d, but policy Never restarts nothing: use OnFailure, or remove the limit", r.Type, *l.Limit))
		}
	}
	for _, why := range spec.WhyNotInPlace(&w.Job.Spec, w.NoWrapper) {
		list = append(list, "spec.restartStrategy is InPlace, but "+why)
	}
	for _, why := range spec.WhyNoHeartbeat(&w.Job.Spec, w.NoWrapper) {
		list = append(list, "spec.heartbeat is set, but "+why)
	}
	list = append(list, w.ignoredPolicy()...)
	for _, why := range spec.WhyNoProgress(&w.Job.Spec, w.NoWrapper) {
		list = append(list, "spec.progress is set, but "+why)
	}
	for _, t := range spec.UnknownTypes(&w.Job.Spec) {
		list = append(list, fmt.Sprintf("spec.runMode.debug.replicaSpecs names type %q, which the job does not have: correct or remove the entry", text.Cut(t, longestQuote)))
	}
	return list
}

// ignoredPolicy returns what of the failure policy has no effect because of other fields.
func (w *writer) ignoredPolicy() (list []string) {
	if why := spec.WhyNoSteps(w.Job); why != "" {
		list = append(list, "spec.failurePolicy.noProgress is set, but "+why)
	}
	if why := spec.WhyNoElsewhere(&w.Job.Spec); why != "" {
		list = append(list, "spec."+why)
	}
	return list
}
