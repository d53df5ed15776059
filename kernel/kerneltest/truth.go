package kerneltest

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// truth is what really happened in the simulated cluster, kept apart from what the operator believes, and the
// violations that were found by comparing the two.
type truth struct {
	c          *Cluster
	lives      map[string]*life // by <type>-<rank>
	failedIn   map[int32]bool   // attempts of the job in which code failed
	madeIn     map[string]int32 // the attempt of the job that each pod was made in, by UID
	unsettled  bool             // modes were switched or replicas scaled: some failures need not be counted, some code runs again
	violations []string
}

// life is what really happened to one replica.
type life struct {
	succeededIn map[int32]bool // attempts of the job in which its code finished its work
	failures    int            // times that its code failed
	reruns      int            // times that its code succeeded though its policy is Always
	doubts      int            // times that a pod ended and was deleted within one second: nobody can tell which was first
	disruptions int            // times that something outside ended its pod
	hasRun      bool           // its code started and then ended of its own accord, in the attempt runIn
	runIn       int32
}

func newTruth(c *Cluster) *truth {
	return &truth{c: c, lives: map[string]*life{}, failedIn: map[int32]bool{}, madeIn: map[string]int32{}}
}

// violated notes a violation of an invariant, named after the failure in the field that it stands for.
func (t *truth) violated(invariant, format string, args ...any) {
	t.violations = append(t.violations, invariant+": "+fmt.Sprintf(format, args...))
}

func (t *truth) lifeOf(p *corev1.Pod) *life {
	key := p.Labels[v1beta1.LabelReplicaType] + "-" + p.Labels[v1beta1.LabelReplicaRank]
	l := t.lives[key]
	if l == nil {
		l = &life{succeededIn: map[int32]bool{}}
		t.lives[key] = l
	}
	return l
}

func (t *truth) policyOf(p *corev1.Pod) v1beta1.RestartPolicyType {
	for _, r := range t.c.Job.Spec.ReplicaSpecs {
		if r.Type == p.Labels[v1beta1.LabelReplicaType] && r.RestartPolicy != nil {
			return r.RestartPolicy.Policy
		}
	}
	return v1beta1.RestartOnFailure
}

// created checks what must hold whenever a pod is created.
func (t *truth) created(p *corev1.Pod) {
	job, l := t.c.Job, t.lifeOf(p)
	if job != nil {
		t.madeIn[string(p.UID)] = job.Status.Attempt
	}
	switch {
	case job == nil:
		// The operator may lose the race against a deletion; the sweep and the garbage collector then remove the pod.
		return
	case job.Status.CompletionTime != nil:
		t.violated("trainer#2981 created after the end", "%s", p.Name)
	case l.succeededIn[job.Status.Attempt]:
		t.violated("trainer#2454 finished work is run again", "%s in attempt %d", p.Name, job.Status.Attempt)
	case l.hasRun && l.runIn == job.Status.Attempt && t.policyOf(p) == v1beta1.RestartNever && !t.unsettled:
		t.violated("policy Never is run again", "%s", p.Name)
	}
}

// replaced says whether the stored ledger had moved past a pod before its code ended, which a user's scaling or a restart
// of the whole job may cause. Nothing else may: a pod that runs is not replaced.
func (t *truth) replaced(p *corev1.Pod) bool {
	if !t.unsettled && t.c.Job.Spec.RestartScope != v1beta1.RestartScopeJob {
		return false
	}
	s := &t.c.Job.Status
	replicaType := p.Labels[v1beta1.LabelReplicaType]
	rank, attempt := number(p, v1beta1.LabelReplicaRank), number(p, v1beta1.LabelAttempt)
	for _, r := range t.c.Job.Spec.ReplicaSpecs {
		if r.Type == replicaType && rank >= int(*r.Replicas) {
			return true
		}
	}
	return attempt < int(s.Attempt+recordOf(s, replicaType, int32(rank)).Attempt)
}

// ended notes how the code of a pod ended.
func (t *truth) ended(p *corev1.Pod, code int32) {
	_, stopped := p.Annotations[v1beta1.AnnotationStopped]
	switch {
	case p.Labels[v1beta1.LabelDebug] == "true" || t.c.Job == nil:
		return
	case stopped:
		if p.DeletionTimestamp == nil {
			t.lifeOf(p).doubts++ // it was marked, and ended before it was asked to
		}
		return
	case t.replaced(p):
		t.lifeOf(p).doubts++ // if the replica comes back before the operator looks, how this pod ended still counts
		return
	}
	if asked := p.DeletionTimestamp; asked != nil {
		t.lifeOf(p).disruptions++
		if _, marked := p.Annotations[v1beta1.AnnotationDisrupted]; !marked {
			t.lifeOf(p).doubts++
		}
		return
	}
	l, attempt := t.lifeOf(p), t.madeIn[string(p.UID)]
	l.hasRun, l.runIn = true, attempt
	switch {
	case code != 0:
		l.failures++
		t.failedIn[attempt] = true
	case t.policyOf(p) == v1beta1.RestartAlways:
		l.reruns++
		t.failedIn[attempt] = true
	default:
		l.succeededIn[attempt] = true
	}
}

// disrupted notes that something outside the job ended a pod.
func (t *truth) disrupted(p *corev1.Pod) { t.lifeOf(p).disruptions++ }

// asked notes that the deletion of a pod was asked for. Codes 137 and 143 look as if its code had ended because of that.
func (t *truth) asked(p *corev1.Pod) {
	if p.Status.Phase == corev1.PodRunning {
		return
	}
	l := t.lifeOf(p)
	l.disruptions++
	for _, c := range p.Status.ContainerStatuses {
		if end := c.State.Terminated; end != nil && (end.FinishedAt.Time.Equal(t.c.Now) || end.ExitCode == 137 || end.ExitCode == 143) {
			l.doubts++
		}
	}
}

// released checks that a pod is let go only when its outcome is known or does not matter.
func (t *truth) released(p *corev1.Pod) {
	_, stopped := p.Annotations[v1beta1.AnnotationStopped]
	if t.c.Job == nil || t.c.Job.Status.CompletionTime != nil || stopped {
		return
	}
	s := &t.c.Job.Status
	replicaType, rank := p.Labels[v1beta1.LabelReplicaType], number(p, v1beta1.LabelReplicaRank)
	current := number(p, v1beta1.LabelAttempt) == int(s.Attempt+recordOf(s, replicaType, int32(rank)).Attempt) &&
		number(p, v1beta1.LabelModeEpoch) == int(s.ModeEpoch)
	if current && !ledgerHas(s, replicaType, rank) {
		t.violated("a pod was let go before its outcome was known", "%s is %s", p.Name, p.Status.Phase)
	}
}

func number(p *corev1.Pod, label string) int {
	n, _ := strconv.Atoi(p.Labels[label])
	return n
}

// edited notes edits after which some failures need not be counted and some successes are forgotten.
func (t *truth) edited(old, next *v1beta1.GenericJob) {
	t.unsettled = true
	for i, r := range next.Spec.ReplicaSpecs {
		if *r.Replicas >= *old.Spec.ReplicaSpecs[i].Replicas {
			continue
		}
		for rank := *r.Replicas; rank < *old.Spec.ReplicaSpecs[i].Replicas; rank++ {
			t.lives[fmt.Sprintf("%s-%d", r.Type, rank)] = &life{succeededIn: map[int32]bool{}, doubts: 1, disruptions: 1}
		}
	}
}
