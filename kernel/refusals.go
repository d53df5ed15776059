package kernel

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// Refusal is an action that the apiserver refuses.
type Refusal struct {
	Action Action
	// Object names what the action is about, as in "Pod x".
	Object string
	// Reason is one of ReasonNameConflict, ReasonCreateFailed, ReasonCreateInvalid and ReasonRefused.
	Reason string
	// Message is what the apiserver said.
	Message string
	// Accepted says that the apiserver is known to have accepted a pod of the action's replica type before. So what it calls invalid now is not, or
	// not only, what the user wrote.
	Accepted bool
	// Edited says that what has the name was made for this job, and somebody has edited a label of it. Message says what to do, too.
	Edited bool
}

// String says in plain words what was refused, as in "create Pod x".
func (r Refusal) String() string { return r.Action.Verb.Words() + " " + r.Object }

// severity lists the reasons, the gravest first: what ends the job, then what keeps pods from being created, then what keeps them from being deleted.
var severity = []string{
	v1beta1.ReasonCreateInvalid, v1beta1.ReasonNameConflict, v1beta1.ReasonCreateFailed, v1beta1.ReasonRefused,
}

// RecordRefusals returns the decision to tell, in the status, of actions of d that were refused. It tells the gravest refusal.
//
// It changes nothing else in the status, with two exceptions. If the first status was postponed, it is written now, together with the refusal. If
// somebody else's Service has the job's name, and no pod was accepted yet, the job's Service gets another name. Then nothing is told as refused.
//
// The condition goes away once there is nothing left to do that could be refused for its reason (unblock in kernel/status/blocked.go).
func RecordRefusals(w World, d Decision, refusals []Refusal) Decision {
	s, events := *w.Job.Status.DeepCopy(), []status.Event(nil)
	if d.Postponed != nil {
		s, events = *d.Postponed.Status.DeepCopy(), d.Postponed.Events
	}
	if slices.ContainsFunc(refusals, func(r Refusal) bool { return !r.Accepted && r.namesService(w) }) {
		s.ServiceName = spec.OtherServiceName(w.Job)
		return Decision{Status: s, Events: append(events, status.NewEvent(false, v1beta1.ReasonServiceNamed, status.ServiceNamed(w.Job.Namespace+"/"+w.Job.Name, s.ServiceName)))}
	}
	list := slices.Clone(refusals)
	for i := range list {
		list[i] = list[i].inView(w)
	}
	r := slices.MinFunc(list, func(a, b Refusal) int {
		return cmp.Compare(slices.Index(severity, a.Reason), slices.Index(severity, b.Reason))
	})
	if status.IsBlocked(&w.Job.Status, r.Reason) {
		return Decision{Status: s} // told already; the message may differ in which pod, which is not worth a write
	}
	message := r.message()
	status.Block(&s, w.Now, r.Reason, message)
	return Decision{Status: s, Events: append(events, status.NewEvent(true, r.Reason, message))}
}

// DependsOnPods reports whether a pod that the cache does not show yet would change what is told of the refusal. Such a pod is of the action's replica
// type, or of any type if that is "".
func (r Refusal) DependsOnPods(w World) bool {
	if r.Reason == v1beta1.ReasonCreateInvalid {
		return !r.Accepted && !Accepted(w, r.Action.Type)
	}
	return !r.Accepted && r.namesService(w)
}

// namesService reports whether the job's Service gets another name because of a refusal. It does if somebody else's Service has the job's name, and
// the job has had no pod yet. Pods have the name of the Service in their addresses, and all of them must have the same.
func (r Refusal) namesService(w World) bool {
	s := &w.Job.Status
	hadPods := len(s.Ledger) > 0 || s.JobAttempt > 0 || s.PauseCount > 0 || s.Phase == v1beta1.JobRunning ||
		slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool { return metav1.IsControlledBy(p, w.Job) })
	return r.Action.Verb == CreateService && r.Reason == v1beta1.ReasonNameConflict && !r.Edited && s.ServiceName == "" && !hadPods
}

// inView corrects a refusal by what the world shows. An invalid pod fails no job for which a pod like it was ever accepted.
func (r Refusal) inView(w World) Refusal {
	r.Accepted = r.Accepted || Accepted(w, r.Action.Type)
	if r.NamesRestartRules(w.Job) {
		r.Reason = v1beta1.ReasonCreateFailed // no user has written them, so no job fails by them
		return r
	}
	if r.Reason == v1beta1.ReasonCreateInvalid && r.Accepted {
		r.Reason = v1beta1.ReasonCreateFailed
		r.Message += status.NewlyInvalid
	}
	return r
}

// Accepted reports whether the world shows that the apiserver has accepted a pod of a replica type, or of any type if that is "". False proves
// nothing: a cache may not show such a pod yet.
func Accepted(w World, replicaType string) bool {
	s := &w.Job.Status
	if s.Gang != nil && s.Gang.HadPods || s.PauseCount > 0 || s.JobAttempt > 0 || s.ModeGeneration > 0 && s.StartTime != nil || s.Phase == v1beta1.JobRunning || s.Phase == v1beta1.JobResuming {
		return true // the job as a whole has begun
	}
	isOfType := func(t string) bool { return replicaType == "" || t == replicaType }
	return slices.ContainsFunc(s.Ledger, func(l v1beta1.TaskLedger) bool { return isOfType(l.Type) }) ||
		slices.ContainsFunc(w.Pods, func(p *corev1.Pod) bool {
			return metav1.IsControlledBy(p, w.Job) && isOfType(p.Labels[v1beta1.LabelReplicaType])
		})
}

// message says what was refused, what the apiserver said, and what to do.
func (r Refusal) message() string {
	switch {
	case r.Edited:
		return r.Message + "."
	case r.Reason == v1beta1.ReasonNameConflict:
		return status.NameTaken(r.Message)
	case r.Reason == v1beta1.ReasonCreateInvalid:
		return status.Refused(r.String(), r.Message, status.CorrectField)
	case r.Reason == v1beta1.ReasonCreateFailed:
		remedy := status.FreeQuota
		if do := podstate.Advice(r.Reason, r.Message); do != "" {
			remedy = "The operator keeps trying, but " + do
		}
		return status.Refused(r.String(), r.Message, remedy)
	default:
		return status.Refused(r.String(), r.Message, status.ChangePolicy)
	}
}
