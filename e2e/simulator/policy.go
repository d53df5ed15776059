package simulator

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// policy is an admission policy or a webhook that refuses what the operator asks for.
type policy struct {
	verb, kind string
	about      string    // only of names with this in them
	answer     int       // how it refuses
	until      time.Time // zero: for good

	hits    map[string]*hits // by call, since all else is calm
	cleared time.Time        // when the operator last had a pod deleted that new pods wait for
}

// hits are the refusals of one call.
type hits struct{ first, last time.Time }

// isOver reports whether a call counts anew. The operator's clock was set back, or it had something else to wait for, a delay before a pod is
// replaced.
func (h *hits) isOver(now time.Time) bool { return now.Sub(h.last) > 2*time.Minute }

// The answers of a policy.
const (
	forbidden = iota
	denied    // 422, as a ValidatingAdmissionPolicy says it
	broken    // 500, as a webhook that cannot be called
	invalid   // 422 with a field, as of a webhook that makes invalid what it changes
)

// legislate has policies come and go.
func (l *Life) legislate() {
	t := l.tape
	switch p := l.policy; {
	case !l.strict:
	case p == nil && t.Chance(30):
		l.policy = l.drawPolicy()
		l.say("a policy comes: %s", l.policy)
	case p != nil && !p.until.IsZero() && l.now.After(p.until):
		l.lift()
	}
}

func (l *Life) drawPolicy() *policy {
	t := l.tape
	p := pickOf(t,
		policy{verb: "create", kind: kindPod}, policy{verb: "patch", kind: kindPod}, policy{verb: "delete", kind: kindPod},
		policy{verb: "create", kind: kindPod, about: "-worker-"}, policy{verb: "create", kind: kindPod, about: "-0"},
		policy{verb: "create", kind: kindService}, policy{verb: "create", kind: kindConfigMap},
		policy{verb: "create", kind: v1beta1.KindGenericJob}, policy{verb: "delete", kind: l.user.kind})
	p.answer = pickOf(t, forbidden, denied, broken, invalid)
	if d := pickOf(t, 0, 3*time.Second, time.Minute, 5*time.Minute); d > 0 {
		p.until = l.now.Add(d)
	}
	p.hits = map[string]*hits{}
	return &p
}

func (p *policy) String() string {
	return fmt.Sprintf("%s %s %q is answered with %d until %s", p.verb, p.kind, p.about, p.answer, p.until)
}

// lift ends the policy, if there is one.
func (l *Life) lift() {
	if l.policy != nil {
		l.say("the policy goes")
	}
	l.policy = nil
}

// refuses is the error of a call that the policy refuses.
func (l *Life) refuses(verb, what string, o client.Object) error {
	p := l.policy
	if p == nil || p.verb != verb || p.kind != kindOf(o) || !strings.Contains(o.GetName(), p.about) {
		return nil
	}
	if !l.trouble && !l.tooLate {
		l.count(p, l.reasoned(what, o))
	}
	k := keyOf(o)
	switch p.answer {
	case denied:
		err := apierrors.NewForbidden(resource(k), k.name, errors.New("denied by a policy"))
		err.ErrStatus.Reason, err.ErrStatus.Code = metav1.StatusReasonInvalid, 422
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Message: "denied by a policy"}}
		return err
	case broken:
		return apierrors.NewInternalError(errors.New("failed calling webhook"))
	case invalid:
		l.truth.calledInvalid(o)
		return apierrors.NewInvalid(v1beta1.GroupVersion.WithKind(k.kind).GroupKind(), k.name,
			field.ErrorList{field.Required(field.NewPath("spec", "containers").Index(0).Child("image"), "")})
	default:
		return apierrors.NewForbidden(resource(k), k.name, errors.New("forbidden by a policy"))
	}
}

// count notes that a call was refused in the calm.
func (l *Life) count(p *policy, what string) {
	h := p.hits[what]
	if h == nil || h.isOver(l.now) || h.last.Before(p.cleared) {
		p.hits[what] = &hits{l.now, l.now}
		return
	}
	l.truth.askedAgain(h, what)
	h.last = l.now
}

// reasoned names a call with the reason for which it is asked. To stop a pod that lives, and to delete one that has ended, are two actions of the
// operator. Between the two it may ask for none, while other containers report.
func (l *Life) reasoned(what string, o client.Object) string {
	if p, ok := l.api.get(keyOf(o)).(*corev1.Pod); ok && (over(p) || codeEnd(p) != nil) {
		what += " that has ended"
	}
	if job, ok := l.api.get(key{v1beta1.KindGenericJob, jobName}).(*v1beta1.GenericJob); ok && job.Status.CompletionTime != nil {
		what += " at the end"
	}
	return what
}

// clears notes that the operator has a pod deleted that lives. Where all replicas restart together, in place, it asks for no new pod until that one
// is gone.
func (p *policy) clears(o client.Object, l *Life) {
	pod, ok := o.(*corev1.Pod)
	if p == nil || p.verb != "create" || !ok || over(pod) || jobRef(pod) == nil {
		return
	}
	job := l.api.jobByUID(jobRef(pod).UID)
	if job != nil && job.Spec.RestartStrategy == v1beta1.RestartInPlace && job.Spec.RestartScope == v1beta1.RestartScopeJob {
		p.cleared = l.now
	}
}

// overtaken notes that a call which the policy has refused ended in a conflict before it came to the policy: it still stands.
func (p *policy) overtaken(what string, now time.Time) {
	if p == nil || p.hits[what] == nil {
		return
	}
	if h := p.hits[what]; h.isOver(now) {
		p.hits[what] = &hits{now, now}
	} else {
		h.last = now
	}
}

// obey comes to rest under a policy that stays, and then lifts it.
func (l *Life) obey() {
	if l.policy == nil || !l.policy.until.IsZero() {
		l.lift()
		return
	}
	l.settle()
	l.truth.obeyed(l.policy)
	l.lift()
}

// calledInvalid notes that an object is refused for one of its fields. The job may fail by that only if no such pod was ever taken.
func (t *truth) calledInvalid(o client.Object) {
	ref := jobRef(o)
	if ref == nil {
		return
	}
	r := t.recordOf(ref.UID)
	if p, ok := o.(*corev1.Pod); ok && !r.taken[p.Labels[v1beta1.LabelReplicaType]] || !ok && len(r.taken) == 0 {
		r.mayFail = true
	}
}

// failed checks why a job fails.
func (t *truth) failed(job *v1beta1.GenericJob) {
	for _, c := range job.Status.Conditions {
		if c.Type == v1beta1.ConditionFailed && strings.Contains(c.Message, "The apiserver refuses") && !t.recordOf(job.UID).mayFail {
			t.violated("a policy that came later failed the job", "%s", c.Message)
		}
	}
}

// askedAgain checks that what has been refused for minutes is asked for once a minute at most, whatever events come.
func (t *truth) askedAgain(h *hits, what string) {
	now := t.life.now
	if w := t.life.writer; w != nil && w.kind == v1beta1.KindGenericJob && now.Sub(h.first) > 3*time.Minute && now.Sub(h.last) < 50*time.Second {
		t.violated("a hot loop", "%s is refused since %s and asked for again after %s", what, h.first.Sub(start), now.Sub(h.last))
	}
}

// obeyed checks what must hold once everything has come to rest under a policy: what is refused is told, and holds up
// nothing else.
func (t *truth) obeyed(p *policy) {
	o := t.life.api.get(key{v1beta1.KindGenericJob, jobName})
	if o == nil || p.kind != kindPod && p.kind != kindService && p.kind != kindOf(o) {
		return
	}
	job := o.(*v1beta1.GenericJob)
	stands := p.stands(t.life.now)
	told := stands == blocked(job) || stands && t.waits(p, job)
	if !told && (t.life.framework == nil || p.kind != kindOf(o)) {
		t.violated("a refusal is not told, or told when it is over", "%s refused: %v; conditions %+v", p, stands, job.Status.Conditions)
	}
	if p.verb == "create" && p.about == "-worker-" {
		t.othersGoOn(job)
	}
}

// stands reports whether something was refused lately.
func (p *policy) stands(now time.Time) bool {
	for _, h := range p.hits {
		if now.Sub(h.last) < 3*time.Minute {
			return true
		}
	}
	return false
}

// waits reports whether what is refused is not asked for any more. That is so of a type that starts after others, while one of these is not Ready.
// Its replicas that lack a pod all wait, each by its own attempt.
func (t *truth) waits(p *policy, job *v1beta1.GenericJob) bool {
	i := slices.IndexFunc(job.Spec.ReplicaSpecs, func(r v1beta1.ReplicaSpec) bool { return r.Type == "worker" })
	if p.verb != "create" || p.about != "-worker-" || i < 0 {
		return false
	}
	r := &job.Spec.ReplicaSpecs[i]
	for rank := range replicasOf(r) {
		attempt := int(job.Status.JobAttempt + ledgerRecord(&job.Status, r.Type, rank).Attempt)
		if !startsAfterOthers(r, attempt) && !ledgerHas(&job.Status, r.Type, rank) && !t.hasPod(job, r.Type, rank) {
			return false
		}
	}
	return r.StartPolicy != "" && r.StartPolicy != v1beta1.StartAtOnce
}

// hasPod reports whether a replica of a job has a pod.
func (t *truth) hasPod(job *v1beta1.GenericJob, replicaType string, rank int) bool {
	return slices.ContainsFunc(t.life.api.pods(), func(p *corev1.Pod) bool {
		return metav1.IsControlledBy(p, job) && p.Labels[v1beta1.LabelReplicaType] == replicaType && number(p, v1beta1.LabelReplicaRank) == rank
	})
}

// blocked reports whether a job is said to be refused something.
func blocked(job *v1beta1.GenericJob) bool {
	reasons := []string{v1beta1.ReasonCreateFailed, v1beta1.ReasonCreateInvalid, v1beta1.ReasonRefused}
	return slices.ContainsFunc(job.Status.Conditions, func(c v1beta1.JobCondition) bool {
		return c.Type == v1beta1.ConditionBlocked && slices.Contains(reasons, c.Reason)
	})
}

// waitsForNobody reports whether a replica, no worker, comes to its end whatever becomes of workers.
func waitsForNobody(r *v1beta1.ReplicaSpec, attempt int) bool {
	return r.Type != "worker" && !r.Auxiliary && !startsAfterOthers(r, attempt)
}

// othersGoOn: the replicas of which no pod is refused have come to their end, unless a gang scheduler has them wait for the others.
func (t *truth) othersGoOn(job *v1beta1.GenericJob) {
	mode := job.Spec.RunMode
	if job.Spec.Scheduler != nil || job.Status.CompletionTime != nil || job.DeletionTimestamp != nil || mode.Pauses() || mode.Debugs() || job.Spec.RestartScope == v1beta1.RestartScopeJob {
		return
	}
	for _, r := range job.Spec.ReplicaSpecs {
		for rank := range replicasOf(&r) {
			attempt := int(job.Status.JobAttempt + ledgerRecord(&job.Status, r.Type, rank).Attempt)
			if waitsForNobody(&r, attempt) && !ledgerHas(&job.Status, r.Type, rank) {
				t.violated("one refusal, and others wait", "%s-%d has no outcome, and only workers are refused", r.Type, rank)
			}
		}
	}
}
