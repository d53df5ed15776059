package kernel

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// pass is the working memory of one Plan.
type pass struct {
	World
	status v1beta1.GenericJobStatus // becomes Decision.Status
	base   string                   // what the names of all pods of the job begin with
	tasks  []*task                  // in the order of spec.replicaSpecs
	ledger map[string]*task         // all types that the ledger or the spec knows
	strays []*corev1.Pod            // ours, but of a type or rank that the spec does not have (any more)

	pending  []restart                         // replicas that ended and may be run again
	failures []string                          // what went wrong in this pass, for conditions
	before   map[string]*v1beta1.ReplicaStatus // see rowsBefore
	verdict  verdict
	awaited  bool // a pod that has just succeeded may go: see mayGo
	first    bool // the job has no status yet

	stale   bool   // some pod is newer than the job's status: the job's cache lags
	newer   string // the name of the first such pod
	broken  string // the status cannot be read
	actions []Action
	events  []Event
	wake    time.Duration
}

// task is one replica type in the pass.
type task struct {
	name              string
	spec              *v1beta1.ReplicaSpec // nil if only the ledger knows the type
	policy            policy
	n                 int // number of replicas; more than the spec says if rules name higher ranks (keepNamedRanks)
	succeeded, failed Ranks
	before            Ranks // succeeded without those that this pass has seen
	records           map[int]*v1beta1.RankRecord
	pods              []*corev1.Pod // by rank; nil where there is none
	forgotten         int32         // restarts of records that were dropped
	marks             []marks       // of those pods
}

// marks are the numbers in a pod's labels. They are read once: a pass asks for them many times.
type marks struct{ attempt, epoch int }

func marksOf(pod *corev1.Pod) marks {
	return marks{number(pod, v1beta1.LabelAttempt), number(pod, v1beta1.LabelModeEpoch)}
}

// marksOf are the marks of a pod of the replica, which may be a stray.
func (t *task) marksOf(rank int, pod *corev1.Pod) marks {
	if rank < len(t.pods) && t.pods[rank] == pod {
		return t.marks[rank]
	}
	return marksOf(pod)
}

func newPass(w World) *pass {
	p := &pass{World: w, status: copyOfStatus(&w.Job.Status), first: isBlank(&w.Job.Status), base: podNameBase(w.Job), ledger: map[string]*task{}}
	if p.Settings.ClusterDomain == "" {
		p.Settings.ClusterDomain = "cluster.local"
	}
	p.loadLedger()
	for i := range w.Job.Spec.ReplicaSpecs {
		p.addTask(&w.Job.Spec.ReplicaSpecs[i])
	}
	p.keepNamedRanks()
	for _, t := range p.tasks {
		t.pods, t.marks = make([]*corev1.Pod, t.n), make([]marks, t.n)
	}
	for _, pod := range w.Pods {
		if metav1.IsControlledBy(pod, w.Job) {
			p.place(pod)
		}
	}
	if p.stale && w.JobIsLive {
		p.broken = "status: Pod[" + p.newer + "] is newer than it, so it was changed or emptied by somebody else, or the pod was made by somebody else: delete that one"
	}
	slices.SortFunc(p.strays, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return p
}

// copyOfStatus is a copy that may be changed, but for Tasks and Ledger, which are large and which a pass replaces as a
// whole.
func copyOfStatus(s *v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	small := *s
	small.Tasks, small.Ledger = nil, nil
	out := *small.DeepCopy()
	out.Tasks, out.Ledger = s.Tasks, s.Ledger
	return out
}

func (p *pass) addTask(spec *v1beta1.ReplicaSpec) {
	t := p.ledgerOf(spec.Type)
	t.spec = spec
	t.policy = effectivePolicy(p.Job, spec)
	t.n = min(max(effectiveReplicas(spec), 0), maxReplicas) // what is beyond them fails as invalid
	p.tasks = append(p.tasks, t)
}

// ledgerOf returns the task of a type, which may be one that only the ledger or a pod knows.
func (p *pass) ledgerOf(replicaType string) *task {
	t := p.ledger[replicaType]
	if t == nil {
		t = &task{name: replicaType, records: map[int]*v1beta1.RankRecord{}}
		p.ledger[replicaType] = t
	}
	return t
}

// place puts a pod at its rank, or among the strays.
func (p *pass) place(pod *corev1.Pod) {
	t, rank := p.seat(pod)
	m := marksOf(pod)
	switch {
	case rank < 0:
		// Not a pod that we made, though it claims us as its controller: leave it alone.
	case t.spec == nil || rank >= t.n:
		p.strays = append(p.strays, pod)
	default:
		t.pods[rank], t.marks[rank] = pod, m
	}
	if rank >= 0 && p.status.CompletionTime == nil && (m.attempt > p.attempt(t, rank) || m.epoch > int(p.status.ModeEpoch)) {
		p.stale = true
		if p.newer == "" || pod.Name < p.newer {
			p.newer = pod.Name
		}
	}
}

// seat reads which replica a pod is; the rank is negative if no job has such a replica, or the pod does not have the name
// of the replica that its labels claim.
func (p *pass) seat(pod *corev1.Pod) (*task, int) {
	replicaType := pod.Labels[v1beta1.LabelReplicaType]
	rank := number(pod, v1beta1.LabelReplicaRank)
	if rank < 0 || rank >= maxReplicas || !p.hasName(pod, replicaType, rank) && !p.hadName(pod, replicaType, rank) {
		return nil, -1
	}
	return p.ledgerOf(replicaType), rank
}

// podName is PodName without hashing anew for each of thousands of pods.
func (p *pass) podName(replicaType string, rank int) string {
	return p.base + replicaType + "-" + strconv.Itoa(rank)
}

// hasName says whether a pod has the name that podName would make.
func (p *pass) hasName(pod *corev1.Pod, replicaType string, rank int) bool {
	end, ok := strings.CutPrefix(pod.Name, p.base)
	if ok {
		end, ok = strings.CutPrefix(end, replicaType)
	}
	var digits [20]byte
	return ok && len(end) > 1 && end[0] == '-' && end[1:] == string(strconv.AppendInt(digits[:0], int64(rank), 10))
}

// hadName says whether a pod has the name that it would have if spec.podNames said otherwise. It may be edited in a pause,
// and pods from before it must not be left behind with our finalizer.
func (p *pass) hadName(pod *corev1.Pod, replicaType string, rank int) bool {
	end := replicaType + "-" + strconv.Itoa(rank)
	return pod.Name == plainBase(p.Job)+end || pod.Name == hashedBase(p.Job)+end
}

// number reads a non-negative number from a label; -1 if there is none.
func number(pod *corev1.Pod, label string) int {
	n, err := strconv.Atoi(pod.Labels[label])
	if err != nil || n < 0 {
		return -1
	}
	return n
}

// attempt is the attempt that a replica is in. Both terms only ever grow, and so does the sum.
func (p *pass) attempt(t *task, rank int) int {
	n := int(p.status.Attempt)
	if r := t.records[rank]; r != nil {
		n += int(r.Attempt)
	}
	return n
}

// record returns the ledger's record of a replica, to be changed.
func (t *task) record(rank int) *v1beta1.RankRecord {
	r := t.records[rank]
	if r == nil {
		r = &v1beta1.RankRecord{Rank: int32(rank)}
		t.records[rank] = r
	}
	return r
}

// finished says whether the ledger holds the outcome of a replica.
func (t *task) finished(rank int) bool {
	return t.succeeded.Contains(rank) || t.failed.Contains(rank)
}

// loadLedger reads the ledger from the status.
func (p *pass) loadLedger() {
	for i := range p.Job.Status.Ledger {
		l := &p.Job.Status.Ledger[i]
		t := p.ledgerOf(l.Type)
		var err error
		if t.succeeded, err = ParseRanks(l.Succeeded); err != nil {
			p.broken = fmt.Sprintf("status.ledger[%s].succeeded %q: %v", l.Type, l.Succeeded, err)
		}
		if t.failed, err = ParseRanks(l.Failed); err != nil {
			p.broken = fmt.Sprintf("status.ledger[%s].failed %q: %v", l.Type, l.Failed, err)
		}
		if err := t.loadRecords(l.Replicas); err != nil {
			p.broken = fmt.Sprintf("status.ledger[%s].replicas: %v", l.Type, err)
		}
	}
}

// saveLedger writes the ledger into the status, types in alphabetical order and ranks ascending, so that equal ledgers
// are equal bytes. Types that are no longer in the spec keep their records: their pods may still be around.
func (p *pass) saveLedger() {
	p.status.Ledger = nil
	many := p.countRecords() > manyRecords
	for _, t := range p.ledger {
		l := v1beta1.TaskLedger{Type: t.name, Succeeded: t.succeeded.String(), Failed: t.failed.String(), Replicas: t.saveRecords(many, p.Now)}
		if l.Succeeded == "" && l.Failed == "" && len(l.Replicas) == 0 {
			continue
		}
		p.status.Ledger = append(p.status.Ledger, l)
	}
	slices.SortFunc(p.status.Ledger, func(a, b v1beta1.TaskLedger) int { return cmp.Compare(a.Type, b.Type) })
}

// maxReplicas is the number of replicas that the CRD allows for a type.
const maxReplicas = 10000

// keepNamedRanks keeps a running job from being scaled below a rank that its rules name: without that rank they could
// never hold. Rules only change while the job is paused; before it starts or resumes, the rule for invalid specs looks
// at them.
func (p *pass) keepNamedRanks() {
	if !p.settled() || paused(p.Job) {
		return
	}
	for _, rule := range slices.Concat(p.Job.Spec.SuccessRules, p.Job.Spec.FailureRules) {
		for replicaType, ranks := range rule {
			t := p.ledgerOf(replicaType)
			for _, value := range ranks {
				if rank, err := rankOf(value); err == nil && t.spec != nil && rank >= t.n && rank < maxReplicas {
					t.n = rank + 1
				}
			}
		}
	}
}
