package kernel

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// World is all that Plan looks at.
type World struct {
	// Job is the job as the caller last saw it. Plan does not change it.
	Job *v1beta1.GenericJob
	// Pods are the pods that the job controls, in any order. Pods of others among them are left alone.
	Pods []*corev1.Pod
	// Orphans are pods of an earlier job of this name, to be let go. Nothing is created while there are any.
	Orphans []*corev1.Pod
	// Services are the Services that the job controls.
	Services []*corev1.Service
	// Gang is what the cluster has of the job's gang scheduler; its zero value will do for a job without one.
	Gang Gang
	// Queue is what the cluster has of the Kueue queue in which the job waits. Its zero value will do for a job without one.
	Queue Queue
	// Reports are the answers of pods that restart in place, by UID. A pod that has not answered has none. The caller asks the pods of
	// barrier.Awaited, and sometimes those of barrier.MayHold.
	Reports map[types.UID]inplace.Report
	// ProgressReport is what the ProgressPod reports; its zero value if none was asked, or has answered.
	ProgressReport inplace.Report
	// StepReport is what the StepPod reports; its zero value if none was asked, or has answered.
	StepReport inplace.Report
	// Nodes are the nodes that the caller has read live, by name: those whose state decides what a pod means (see podstate.Judge.DependsOnNode). A pod on
	// a node that answers may still run, so it is neither deleted by force nor replaced.
	Nodes map[string]podstate.Node
	// NodeCount is how many nodes the cluster has; 0 if that is not known. Only jobs with avoidNodes ask.
	NodeCount int
	// NodeProblems are what speaks against nodes beside what the job has seen itself: their conditions first, then failures of other jobs. Only jobs with
	// avoidNodes ask.
	NodeProblems []NodeProblem
	// JobIsLive says that Job is what the apiserver holds, and not just what a cache has of it.
	JobIsLive bool
	// MaxCreates is how many pods of a type the caller can create before it plans again. Plan asks for no more, however many are missing. 0 means no limit.
	MaxCreates int
	// Now is the time of this reconcile.
	Now time.Time
	// Settings are the operator's own settings.
	Settings Settings
}

// Gang is what the cluster has of a job's gang scheduler.
type Gang struct {
	// Missing names the kind that the cluster does not know, "" if it knows it.
	Missing string
	// Version is the first of build.GangVersions that the cluster serves; "" stands for the first of all.
	Version string
	// Objects are the job's PodGroups that exist. There is one, except where PodGroups cannot be changed and new ones take their place.
	Objects []*unstructured.Unstructured
}

// Settings are settings of the operator that Plan depends on.
type Settings struct {
	// ForceReplaceAfter is how long a pod may stay Terminating beyond its grace period. After that, if its node does not answer, the pod counts as lost
	// with the node: it is deleted by force and replaced. It takes less time if the node is known to be lost. 0 means never.
	ForceReplaceAfter time.Duration
	// NodeLostAfter is how long pods tolerate a node that is not Ready, in jobs that do not say it. 0 leaves that to Kubernetes.
	NodeLostAfter time.Duration
	// AvoidNodes holds for jobs that have no avoidNodes. Nil: they avoid no node for failures.
	AvoidNodes *v1beta1.AvoidNodes
	// ClusterDomain is the cluster's DNS domain. Default "cluster.local".
	ClusterDomain string
	// WrapperImage is the image that holds the wrapper of pods that restart in place, at /wrapper. "": no pod does.
	WrapperImage string
}

// Decision is what Plan decided. The caller must, in this order:
//
//  1. Write Status if it differs from the job's, under the resourceVersion of World.Job, and stop if that fails.
//  2. Emit Events if the status was written.
//  3. If it wrote nothing, and an action needs the fence (Action.NeedsFence), read the job live, and stop if its resourceVersion is another.
//  4. If an action creates a pod in another mode generation or job attempt than the first, list the pods live, once for each such beginning.
//     Stop if Pods lacks one that may run.
//  5. Carry out Actions tier by tier, some or all. If it wrote Status, it may plan again instead.
//  6. Plan again after RequeueAfter, if that is not zero.
//
// If an action is refused for a reason that the user must hear of, the caller carries out the decision of ReportRefusals.
type Decision struct {
	// Status is to be written as a whole. Status may share memory with the status of World.Job.
	Status  v1beta1.GenericJobStatus
	Actions []Action
	// More names the types that lack more pods than Actions create, in the order of the spec. The caller should plan again when it has created those
	// of Actions.
	More         []string
	Events       []Event
	RequeueAfter time.Duration
	// Postponed is set if the first status of the job need not be written yet (see status.PostponedFor). It holds that status and its events. Only
	// ReportRefusals uses it.
	Postponed *Decision
	// Stale says that some pod is newer than the job's status, so that nothing could be decided. A caller that finds the
	// job to be live nevertheless should plan again with World.JobIsLive.
	Stale bool
}

// Event is something to tell the user about the job.
type Event = status.Event

// NodeProblem is what speaks against a node beside what the job has seen there itself.
type NodeProblem = ledger.NodeProblem

// staleInterval is when to look again after seeing pods that are newer than the job's status. The job's own watch event comes first in
// practice, so this only bounds the wait.
const staleInterval = time.Second

// Plan decides what to do about a job. It reads the ledger, finds the replica of each pod, records outcomes and asks the rules. Then it applies the
// verdict, finds the first failure, opens the barrier, lists actions, and makes the status. The package's comment walks through these stages with a
// pod that has failed.
//
// The order of the stages matters, because they write and read the same draft of the ledger. The roster reads it, too, each time that it is asked what
// a pod means. So its answer changes: a pod is Failed until applyVerdict writes its restart. Then it is Superseded, or
// Behind if its code restarts in it.
func Plan(w World) Decision {
	w.Job = w.Settings.Avoiding(w.Job)
	judge := podstate.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter, Nodes: w.Nodes}
	draft, err := ledger.Load(w.Job)
	w.Pods = barrier.WithReportedExits(w.Job, w.Pods, w.Reports)
	replicas := roster.Of(w.Job, draft.Ledger, w.Pods, judge)
	if d, decided := decidedByStatus(w, replicas, err); decided { // always, if err is set
		return d
	}
	draft.SetMissingStartTime(replicas.FirstCreated(), w.Now)
	draft.BeginModeGenerationIfEdited()
	recorded := recordOutcomes(w, draft, replicas)
	v, again := decideAndCount(w, draft, &recorded)
	suspect := countNodeFailures(w, draft, replicas, &recorded, v.Over())
	lost := lossOf(draft, replicas, &recorded, v, w.Now) // before applyVerdict: that has pods superseded
	v, restarts := applyVerdict(draft, v, recorded.pending, judge)
	if v.Over() || replicas.HaveStarted() {
		draft.NoteCodeStarted()
	}
	// firstFailure comes before checkStartConditions: once the barrier is open, what has ended belongs to an attempt that is over.
	first, before := firstFailure(w, draft.Ledger, replicas, &recorded, v.Over())
	correctNodeFailures(w, draft, replicas, suspect, recorded.ended, first, v)
	start := openBarrierAndFormGang(w, draft, replicas, v)
	explainLoss(draft, v, lost, w.Job.Status.FirstFailure, first, before)
	spendTime(w, draft, replicas, v, lost)
	todo := listActions(w, draft.Ledger, replicas, v, judge, start.barrier, first)
	told, askAgain := progress(w, replicas, v)
	recompute(w, draft, replicas, told)
	noteFirstStep(w, draft, replicas, told)
	recorded.forgetSeries(told)
	d := makeDecision(status.Findings{
		Job: w.Job, Ledger: draft.Ledger, Roster: replicas, Verdict: v, Now: w.Now, SuccessMayVanish: recorded.successMayVanish,
		Restarts: restarts.events, Progress: told, NoProgress: recorded.noProgress, Failures: append(recorded.failures, restarts.failures...), First: first, OldSummary: before,
		Rejected: restarts.rejected, Silent: start.silent, Awaits: start.barrier.Awaits, Unordered: unordered(w, draft.Ledger, replicas),
		NoWrapper: w.Settings.WrapperImage == "", Creates: todo.creates(), Changes: todo.changes(),
	}, todo.actions, recorded.newSuccesses)
	d.More, d.RequeueAfter = todo.more, soonest(d.RequeueAfter, again, start.again, todo.again, askAgain, recorded.uncountedFor)
	return d
}

// decideAndCount asks the rules. Failures whose cause is not known yet wait to be counted. But if the rules stop the job meanwhile, for example because
// its queue takes its quota, nobody would count them later. Then decideAndCount counts them now, and asks the rules again.
func decideAndCount(w World, draft ledger.Draft, recorded *outcomes) (v verdict.Verdict, again time.Duration) {
	ask := func() (verdict.Verdict, time.Duration) {
		return decide(facts{w.Job, draft.Ledger, w.Gang.Missing, w.Queue, recorded.failedBy, w.Now})
	}
	v, again = ask()
	if recorded.uncountedFor == 0 || v.Course == verdict.Run {
		return v, again
	}
	recorded.count(w.Job, draft)
	return ask()
}

// decidedByStatus returns the decision about a job that is being deleted, or whose status is of no use for a plan. Ends reports whether the job is one
// of these. Err is why the ledger could not be read; nil if it could.
func decidedByStatus(w World, replicas *roster.Roster, err error) (d Decision, ends bool) {
	switch {
	case w.Job.DeletionTimestamp != nil:
		return Decision{Status: w.Job.Status, Actions: append(releaseAll(w.Job, w.Pods), releaseOrphans(w)...)}, true
	case isOfOtherBuild(w.Job):
		return unreadable(w, status.OfOtherBuild(w.Job.Status.LedgerVersion), status.CreateAgain), true
	case replicas.Earlier != "":
		return unreadable(w, status.EarlierPod(replicas.Earlier), status.CreateAgain), true
	case replicas.Newer != "" && w.JobIsLive:
		return unreadable(w, status.NewerPod(replicas.Newer), status.Repair), true
	case err != nil:
		return unreadable(w, err.Error(), status.Repair), true
	case replicas.Newer != "":
		return Decision{Status: w.Job.Status, Actions: releaseOrphans(w), RequeueAfter: staleInterval, Stale: true}, true
	default:
		return Decision{}, false
	}
}

// barrierInputs returns what the barrier looks at.
func (w World) barrierInputs() barrier.Inputs {
	f := w.Job.Status.FirstFailure
	return barrier.Inputs{
		Job: w.Job, Reports: w.Reports, Now: w.Now, WrapperImage: w.Settings.WrapperImage,
		CauseIsUnknown: f != nil && f.Follows != "" && f.JobAttempt == w.Job.Status.JobAttempt-1,
	}
}

// startConditions are what the replicas of a running job wait for before their code starts: each other, or a scheduler.
type startConditions struct {
	barrier barrier.Barrier
	silent  string        // a message about a scheduler that has said nothing of the pods; see silentScheduler
	again   time.Duration // when to look for that again
}

// openBarrierAndFormGang opens the barrier of a job that runs, and forms its gang, in the ledger.
func openBarrierAndFormGang(w World, draft ledger.Draft, replicas *roster.Roster, v verdict.Verdict) (start startConditions) {
	if v.Course != verdict.Run {
		return start
	}
	start.barrier = barrier.OpenIfAllArrived(w.barrierInputs(), draft, replicas)
	regroup(w.Job, draft, replicas)
	start.silent, start.again = silentScheduler(w.Job, replicas, w.Now)
	return start
}

// makeDecision makes the decision from findings and actions. It postpones a status that only refreshes the view, and a first status that only says
// that the job begins. The pods of newSuccesses are not released before the status that records their success is written.
func makeDecision(p status.Findings, actions []Action, newSuccesses []*corev1.Pod) Decision {
	s, events, news := status.Of(p)
	if !news {
		return Decision{Status: s, Actions: actions}
	}
	postponed := status.PostponedFor(p, &s)
	if postponed == 0 {
		return Decision{Status: s, Actions: actions, Events: events}
	}
	d := Decision{Status: p.Job.Status, Actions: withoutReleases(actions, newSuccesses), RequeueAfter: postponed}
	if p.Ledger.HasNoStatus() {
		d.Postponed = &Decision{Status: s, Events: events}
	}
	return d
}

// isOfOtherBuild reports whether another build of the operator wrote the status. The CRD drops fields that it does not know. So a status of another
// build may show only by what it lacks.
func isOfOtherBuild(job *v1beta1.GenericJob) bool {
	return job.Status.Phase != "" && job.Status.LedgerVersion != v1beta1.LedgerVersion
}

// unreadable returns the decision that only tells a problem with the status, and the remedy.
func unreadable(w World, problem, remedy string) Decision {
	s, events, _ := status.Unreadable(w.Job, problem, remedy, w.Now)
	return Decision{Status: s, Actions: releaseOrphans(w), Events: events}
}

// soonest returns the shortest wait. 0 stands for no wait, so it is passed over.
func soonest(waits ...time.Duration) (first time.Duration) {
	for _, wait := range waits {
		if first == 0 || wait != 0 && wait < first {
			first = wait
		}
	}
	return first
}
