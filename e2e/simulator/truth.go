package simulator

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// truth is what really happened, kept apart from what the operator believes, and the violations that were found by
// comparing the two.
type truth struct {
	life       *Life
	records    map[types.UID]*record   // by GenericJob
	madeIn     map[types.UID]int32     // the job attempt that each pod was made in
	late       map[types.UID]bool      // pods of a create that something else had overtaken
	unserved   map[types.UID]bool      // jobs whose auxiliary replicas were stopped
	raced      map[types.UID]bool      // pods of a create that was under way when somebody else went ahead
	writers    map[types.UID]*operator // of the last status of each training job
	violations []string
	clockSet   time.Time // when the clock of an operator was set last
	written    sums      // by statuses
	metrics    sums      // of processes that have ended

	pods, restarts, finished, disruptions int
}

// record is what really happened to one GenericJob.
type record struct {
	replicas   map[string]*replica    // by <type>-<rank>
	failedIn   map[int32]bool         // attempts in which code failed
	endedIn    map[int32]bool         // attempts in which code ended and not with 0, for whatever reason
	failures   map[int32][]failure    // these failures
	evicted    bool                   // Kueue, or who has taken its Workload away, has had the job stopped
	strayAt    time.Time              // when somebody edited it who should have edited its training job
	unsettled  bool                   // modes were switched or replicas scaled: some failures need not be counted, some code runs again
	writer     *operator              // of the last status
	restarted  int                    // events that told of a counted restart
	scaledAway int                    // ends of replicas that a user has scaled away
	taken      map[string]bool        // types of which the API has taken a pod
	ready      map[string][]moment    // when each replica was Ready, by <type>-<rank>
	mustFail   string                 // the replica whose code has ended by an exit code for which a rule fails the job; "" if none has
	onNode     map[string][]time.Time // when the code had begun that ended, by the node
	left       left                   // who must not come back to a node, by a rule
	recovered  map[[2]time.Time]bool  // recoveries that are over, by their beginning and end
	lived      lived                  // for how long code has run
	mayFail    bool                   // the API called an object invalid of which it had taken none before
}

// replica is what really happened to one replica.
type replica struct {
	succeededIn map[int32]bool // job attempts in which its code finished its work
	failures    int            // times that its code failed
	reruns      int            // times that its code succeeded though its policy is Always
	doubts      int            // times that a pod ended and was deleted within one second: nobody can tell which was first
	disruptions int            // times that something outside ended its pod
	hasRun      bool           // its code started and then ended of its own accord, in the attempt runIn
	runIn       int32
	lost        types.UID // the last of its pods whose container its node has lost
	bare        bool      // a user has stripped a pod of it: nobody can tell that one from the next, if it went unseen
}

// ends is how often its code may have ended of its own accord.
func (r *replica) ends() int { return r.failures + r.reruns + r.doubts }

func newReplica() *replica { return &replica{succeededIn: map[int32]bool{}} }

func newTruth(l *Life) *truth {
	return &truth{life: l, records: map[types.UID]*record{}, madeIn: map[types.UID]int32{}, late: map[types.UID]bool{}, raced: map[types.UID]bool{}, unserved: map[types.UID]bool{}, writers: map[types.UID]*operator{}}
}

// violated notes a violation of an invariant, named after the failure in the field that it stands for.
func (t *truth) violated(invariant, format string, args ...any) {
	v := invariant + ": " + fmt.Sprintf(format, args...)
	t.life.say("VIOLATION %s", v)
	t.violations = append(t.violations, v)
}

func (t *truth) recordOf(uid types.UID) *record {
	r := t.records[uid]
	if r == nil {
		r = &record{replicas: map[string]*replica{}, failedIn: map[int32]bool{}, endedIn: map[int32]bool{}, taken: map[string]bool{}, ready: map[string][]moment{}, lived: newLived()}
		t.records[uid] = r
	}
	return r
}

// of finds what a pod belongs to: its job, nil if that is gone or going; the job's record; and the replica's.
func (t *truth) of(p *corev1.Pod) (*v1beta1.GenericJob, *record, *replica) {
	uid := metav1.GetControllerOf(p).UID
	r := t.recordOf(uid)
	name := p.Labels[v1beta1.LabelReplicaType] + "-" + p.Labels[v1beta1.LabelReplicaRank]
	if r.replicas[name] == nil {
		r.replicas[name] = newReplica()
	}
	job := t.life.api.jobByUID(uid)
	if job != nil && job.DeletionTimestamp != nil {
		job = nil
	}
	return job, r, r.replicas[name]
}

// author is the operator that writes, nil for a write that is carried out when its operator has given it up.
func (t *truth) author() *operator {
	if t.life.tooLate {
		return nil
	}
	return t.life.writer.operator
}

// trainsOn reports whether the pod is of a GenericJob that came when its training job had finished.
func (t *truth) trainsOn(p *corev1.Pod) bool {
	job, _, _ := t.of(p)
	parent := t.parent()
	return job != nil && parent != nil && job.Status.CompletionTime == nil && metav1.IsControlledBy(job, parent) && t.phaseOf(parent).IsFinal()
}

// policyIn is the restart policy of a pod. Rules of the failure policy may restart what it does not: then no policy forbids anything.
func policyIn(job *v1beta1.GenericJob, p *corev1.Pod) v1beta1.RestartPolicyType {
	kind := ownPolicyIn(job, p)
	if kind == v1beta1.RestartNever && job.Spec.FailurePolicy != nil {
		return v1beta1.RestartOnFailure
	}
	return kind
}

func ownPolicyIn(job *v1beta1.GenericJob, p *corev1.Pod) v1beta1.RestartPolicyType {
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Type == p.Labels[v1beta1.LabelReplicaType] && r.RestartPolicy != nil {
			return r.RestartPolicy.Policy
		}
	}
	return v1beta1.RestartOnFailure
}

// auxiliary reports whether a pod only serves the others of its job.
func auxiliary(job *v1beta1.GenericJob, p *corev1.Pod) bool {
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Type == p.Labels[v1beta1.LabelReplicaType] {
			return r.Auxiliary
		}
	}
	return false
}

// serves reports whether a pod only serves the others of a job that there is.
func (t *truth) serves(p *corev1.Pod) bool {
	job, _, _ := t.of(p)
	return job != nil && auxiliary(job, p)
}

// replaced reports whether the stored ledger had moved past a pod before its code ended. A user's scaling or a restart of the whole job may cause
// that. Nothing else may: a pod that runs is not replaced.
func (t *truth) replaced(job *v1beta1.GenericJob, rec *record, p *corev1.Pod) bool {
	if !rec.unsettled && job.Spec.RestartScope != v1beta1.RestartScopeJob {
		return false
	}
	s := &job.Status
	replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
	for _, r := range job.Spec.ReplicaSpecs {
		if r.Type == replicaType && rank >= replicasOf(&r) {
			return true
		}
	}
	return t.attemptOf(p) < int(s.JobAttempt+ledgerRecord(s, replicaType, rank).Attempt)
}

func replicasOf(r *v1beta1.ReplicaSpec) int {
	if r.Replicas == nil {
		return 1
	}
	return int(*r.Replicas)
}

// noteEndIn notes in which attempt code has ended.
func (r *record) noteEndIn(attempt, code int32) {
	if code != 0 {
		r.endedIn[attempt] = true
	}
}

// ended notes how the code of a pod ended.
func (t *truth) ended(p *corev1.Pod, code int32) {
	job, rec, r := t.of(p)
	rec.noteEndIn(t.madeIn[p.UID], code)
	t.noteOnNode(p, metav1.GetControllerOf(p).UID)
	delete(rec.left.by, p.Name)
	_, stopped := p.Annotations[v1beta1.AnnotationStopped]
	switch {
	case job == nil || p.Labels[v1beta1.LabelDebug] == "true", auxiliary(job, p):
		return
	case t.late[p.UID]:
		r.lateEnd(job)
		return
	case r.bare:
		r.mayGoUnseen()
		rec.noteFailure(job, p, t.madeIn[p.UID], code, t.life.clockOf(p).Time)
		return
	case stopped:
		if p.DeletionTimestamp == nil || len(t.life.skew) > 0 {
			r.doubts++ // it was marked, and ended before it was asked to, or seems to have
		}
		return
	case t.replaced(job, rec, p):
		r.doubts++ // if the replica comes back before the operator looks, how this pod ended still counts
		return
	case p.DeletionTimestamp != nil:
		r.disruptions++
		if _, marked := p.Annotations[v1beta1.AnnotationDisrupted]; !marked || len(t.life.skew) > 0 {
			r.doubts++
		}
		return
	}
	t.noteOwnEnd(p, code)
}

// noteOwnEnd notes the end of code that nobody asked for.
func (t *truth) noteOwnEnd(p *corev1.Pod, code int32) {
	job, rec, r := t.of(p)
	attempt := t.madeIn[p.UID]
	r.hasRun, r.runIn = true, attempt
	switch {
	case code != 0:
		r.failures++
		rec.noteRule(job, p, code)
		rec.failedIn[attempt] = true
		rec.noteFailure(job, p, attempt, code, t.life.clockOf(p).Time)
	case policyIn(job, p) == v1beta1.RestartAlways:
		r.reruns++
		rec.failedIn[attempt] = true
		rec.noteFailure(job, p, attempt, code, t.life.clockOf(p).Time)
	default:
		r.succeededIn[attempt] = true
	}
}

// mayGoUnseen notes that a pod has ended which nothing keeps until the operator has seen it.
func (r *replica) mayGoUnseen() {
	r.doubts++
	r.disruptions++
}

func number(p *corev1.Pod, label string) int {
	n, _ := strconv.Atoi(p.Labels[label])
	return n
}

// edited notes edits after which some failures need not be counted and some successes are forgotten.
func (t *truth) edited(old, next client.Object) {
	was, ok := old.(*v1beta1.GenericJob)
	if !ok {
		return
	}
	is, rec := next.(*v1beta1.GenericJob), t.recordOf(next.GetUID())
	rec.unsettled = true
	for i, r := range is.Spec.ReplicaSpecs {
		for rank := replicasOf(&r); rank < replicasOf(&was.Spec.ReplicaSpecs[i]); rank++ {
			gone := newReplica()
			gone.doubts, gone.disruptions = 1, 1
			name := fmt.Sprintf("%s-%d", r.Type, rank)
			if before := rec.replicas[name]; before != nil {
				rec.scaledAway += before.ends()
			}
			rec.replicas[name] = gone
		}
	}
}
