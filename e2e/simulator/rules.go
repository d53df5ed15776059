package simulator

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// ruleFor is the rule of the failure policy for an exit code; nil if there is none. It is found apart from the operator's code.
func ruleFor(job *v1beta1.GenericJob, p *corev1.Pod, code int32) *v1beta1.FailurePolicyRule {
	if job.Spec.FailurePolicy == nil {
		return nil
	}
	for i, r := range job.Spec.FailurePolicy.Rules {
		ofType := len(r.Match.Types) == 0 || slices.Contains(r.Match.Types, p.Labels[v1beta1.LabelReplicaType])
		if ofType && slices.Contains(r.Match.ExitCodes, code) {
			return &job.Spec.FailurePolicy.Rules[i]
		}
	}
	return nil
}

// noteRule notes that code has ended by an exit code for which a rule fails the job. Where all replicas restart together the first failure alone is
// decided about, and a disruption excuses it.
func (r *record) noteRule(job *v1beta1.GenericJob, p *corev1.Pod, code int32) {
	rule := ruleFor(job, p, code)
	if rule != nil && rule.Elsewhere {
		r.left.note(p)
	}
	if rule != nil && rule.Action == v1beta1.FailureActionFail && job.Spec.RestartScope != v1beta1.RestartScopeJob {
		r.mustFail = p.Labels[v1beta1.LabelReplicaType] + "-" + p.Labels[v1beta1.LabelReplicaRank]
	}
}

// rulesWritten checks that no replica restarts whose code has ended so that a rule fails the job. What fails while the job is stopped for its queue
// does not count.
func (t *truth) rulesWritten(was, is *v1beta1.GenericJob) {
	rec := t.recordOf(is.UID)
	if rec.mustFail == "" || is.Status.CompletionTime != nil || rec.unsettled || rec.evicted || rec.replicas[rec.mustFail].doubts > 0 {
		return
	}
	i := strings.LastIndex(rec.mustFail, "-")
	rank, _ := strconv.Atoi(rec.mustFail[i+1:])
	before, after := ledgerRecord(&was.Status, rec.mustFail[:i], rank), ledgerRecord(&is.Status, rec.mustFail[:i], rank)
	if after.Restarts > before.Restarts {
		t.violated("a rule that fails the job is passed over", "%s restarts", rec.mustFail)
	}
}

// checkRules checks that a job has ended whose code has ended so that a rule fails it, and that only rules leave restarts uncounted.
func (t *truth) checkRules(job *v1beta1.GenericJob) {
	s, rec := &job.Status, t.recordOf(job.UID)
	if name := rec.mustFail; name != "" && s.CompletionTime == nil && !rec.unsettled && !rec.evicted && rec.replicas[name].doubts == 0 {
		t.violated("a rule that fails the job is passed over", "%s has failed, and the job is %s", name, s.Phase)
	}
	if s.ExceptedCount > 0 && job.Spec.FailurePolicy == nil {
		t.violated("a restart was not counted", "%d, and there is no rule", s.ExceptedCount)
	}
}
