package simulator

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/status"
)

// left is who must not come back to a node, because code failed there and a rule with elsewhere matches that.
type left struct {
	by map[string]string // nodes by the pods whose code failed so, for as long as that is their last end

	// The failure that is first now, if it is such a one: its node, and when the operator has recorded it.
	node  string
	since time.Time
}

// note notes such a failure.
func (l *left) note(p *corev1.Pod) {
	if l.by == nil {
		l.by = map[string]string{}
	}
	l.by[p.Name] = p.Spec.NodeName
}

// leftWritten checks that a status avoids the node of a first failure for which a rule says elsewhere. It does as long as that counts, unless the
// breaker holds.
func (t *truth) leftWritten(was, is *v1beta1.GenericJob, bad, lost int) {
	l, policy, first := &t.recordOf(is.UID).left, is.Spec.AvoidNodes, is.Status.FirstFailure
	if policy == nil || mostAvoided(policy) == 0 || first == nil || !t.isJudged(is, first) {
		l.node = ""
		return
	}
	l.begin(was.Status.FirstFailure, first, t.life.now)
	const clocks = 5 * time.Minute // may differ so much
	isAvoided := slices.ContainsFunc(is.Status.AvoidedNodes, func(n v1beta1.AvoidedNode) bool { return n.Node == l.node })
	breaks := bad >= int(mostAvoided(policy)) || bad+lost+1 >= len(nodes)
	if l.node != "" && !isAvoided && !breaks && t.life.now.Sub(l.since) < countsFor(policy)-clocks {
		t.violated("a rule sends nobody elsewhere", "%s failed on node %s, and avoids %v", first.Pod, l.node, is.Status.AvoidedNodes)
	}
}

// isJudged reports whether rules decide about the first failure of a job. They decide about neither what follows from another end nor what a
// disruption excuses. They know an eviction by no exit code, though the code ended with one.
func (t *truth) isJudged(job *v1beta1.GenericJob, first *v1beta1.FirstFailure) bool {
	hasCode := first.ExitCode != nil || first.WorkerExitCode != nil
	return first.Follows == "" && hasCode && !t.isExcused(job, first)
}

// isExcused reports whether the first failure counts as a disruption, because another replica was disrupted and all restart together. The operator
// alone knows what it had seen by then. It is believed if there was a disruption.
func (t *truth) isExcused(job *v1beta1.GenericJob, first *v1beta1.FirstFailure) bool {
	if job.Spec.RestartScope != v1beta1.RestartScopeJob || !strings.Contains(first.Why, status.WhileDisrupted("")) {
		return false
	}
	for _, r := range t.recordOf(job.UID).replicas {
		if r.disruptions > 0 {
			return true
		}
	}
	return false
}

// countsFor is how long a failure counts.
func countsFor(p *v1beta1.AvoidNodes) time.Duration {
	if d, err := time.ParseDuration(string(p.Within)); err == nil {
		return d
	}
	return 24 * time.Hour
}

// sendsElsewhere reports whether a job has a rule by which one failure is enough to avoid its node.
func sendsElsewhere(job *v1beta1.GenericJob) bool {
	p := job.Spec.FailurePolicy
	return p != nil && slices.ContainsFunc(p.Rules, func(r v1beta1.FailurePolicyRule) bool { return r.Elsewhere })
}

// begin begins anew if another failure is first than before.
func (l *left) begin(had, first *v1beta1.FirstFailure, now time.Time) {
	if had != nil && had.Pod == first.Pod && had.Time.Equal(first.Time) {
		return
	}
	l.node, l.since = "", now
	if l.by[first.Pod] == first.Node {
		l.node = first.Node
	}
}

// speaking is how many failures of the job's own speak against a node: one that is enough is as many as it takes.
func speaking(job *v1beta1.GenericJob, node string) (n int) {
	for _, f := range job.Status.NodeFailures {
		if f.Node == node {
			n = len(f.Times)
			if f.Enough != nil && sendsElsewhere(job) {
				n = max(n, int(leastFailures(job.Spec.AvoidNodes)))
			}
		}
	}
	return n
}
