package status

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/text"
)

// longestQuote is how much of a name is quoted: a template may hold one of any length.
const longestQuote = 100

// replacedHosts warns of names that templates give their pods in vain: replicas find each other by the operator's, which take
// their place. It is one event for all, as those of one reason are counted as one, and it comes with the job's first status, so
// once in its life. Who compiled a job from one of his own has to tell that one's author.
func (p *page) replacedHosts() []Event {
	if p.Job.Status.LastUpdateTime != nil || metav1.GetControllerOf(p.Job) != nil {
		return nil
	}
	var list []string
	for i := range p.Job.Spec.ReplicaSpecs {
		r := &p.Job.Spec.ReplicaSpecs[i]
		replaced := func(field, own, ours string) {
			if own != "" {
				list = append(list, fmt.Sprintf("spec.replicaSpecs[%s].template.spec.%s is %q, where each pod gets %s", r.Type, field, text.Cut(own, longestQuote), ours))
			}
		}
		replaced("hostname", r.Template.Spec.Hostname, "<job>-<type>-<rank>")
		if p.Job.Spec.Service != nil {
			replaced("subdomain", r.Template.Spec.Subdomain, "the name of the job's Service")
		}
	}
	if len(list) == 0 {
		return nil
	}
	return []Event{NewEvent(true, v1beta1.ReasonHostNameReplaced,
		strings.Join(list, "; ")+": replicas find each other by the operator's names, so these have no effect. Remove them.")}
}
