package kernel

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/incident"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/kernel/verdict"
)

// staleInterval is when to look again after seeing pods that are newer than the job's status. The job's own watch event comes first in
// practice, so this only bounds the wait.
const staleInterval = time.Second

// Plan decides what to do about a job. Its stages write and read the same draft of the ledger, so their order matters. The roster reads the draft,
// too, each time that it is asked what a pod means. So its answer changes: a pod is Failed until apply writes its restart. Then it is Superseded, or
// Behind if its code restarts in it. The package's comment walks through the stages with a pod that has failed.
func Plan(w World) Decision {
	p, decided := observe(w)
	if decided != nil {
		return *decided
	}
	p.record()
	p.decide()
	p.apply()
	p.act()
	return p.tell()
}

// planning is what Plan looks at, and what its stages have found so far.
type planning struct {
	World
	judge    podstate.Judge
	draft    ledger.Draft
	replicas *roster.Roster

	recorded      outcomes              // how replicas have ended
	verdict       verdict.Verdict       // what is to become of the job
	loss          loss                  // what the job loses by the ends
	incident      incident.Incident     // that of the recorded failures
	failureNode   failureNode           // the node for which the first failure counts
	restarts      writtenRestarts       // restarts that are written into the draft
	firstFailure  *v1beta1.FirstFailure // the failure that others followed from
	summaryBefore string                // what was told of it before, if another one is the first now
	start         startConditions       // what running replicas wait for before their code starts
	todo          todo                  // actions
	askRulesAfter time.Duration         // 0 if only a change can alter what they say
}

// observe reads the ledger, and finds the replica of each pod. It returns the decision about a job whose status is of no use for a plan, or which is
// being deleted.
func observe(w World) (*planning, *Decision) {
	w.Job = w.Settings.Avoiding(w.Job)
	draft, err := ledger.Load(w.Job)
	w.Pods = barrier.WithHeldEnds(w.Job, w.Pods, w.Reports)
	judge := podstate.Judge{Now: w.Now, ForceReplaceAfter: w.Settings.ForceReplaceAfter, Nodes: w.Nodes}
	p := &planning{World: w, judge: judge, draft: draft, replicas: roster.Of(w.Job, draft.Ledger, w.Pods, judge)}
	if d, decided := decidedByStatus(w, p.replicas, err); decided { // always, if err is set
		return nil, &d
	}
	return p, nil
}

// record writes into the draft how replicas have ended. Failures whose cause is not known yet wait.
func (p *planning) record() {
	p.draft.SetMissingStartTime(p.replicas.FirstCreated(), p.Now)
	p.draft.BeginModeGenerationIfEdited()
	p.recorded = recordOutcomes(p.World, p.draft, p.replicas)
}

// decide asks the rules what is to become of the job. It also finds what the job loses by the ends. Later it could not: after apply, their pods are
// Superseded. It writes only what the record stage has postponed: see askRulesAndCount.
func (p *planning) decide() {
	v, recheckAfter := askRulesAndCount(p.World, p.draft, &p.recorded)
	p.verdict, p.askRulesAfter = v, soonest(recheckAfter, p.recorded.waitsFor)
	p.recorded.findWhereJobGoesOn(p.Job, p.draft.Ledger, v)
	p.loss = lossOf(p.Job, p.draft, p.replicas, &p.recorded, v)
}

// apply writes into the draft what follows from the verdict: bad nodes, restarts, the first failure, an open barrier, the history. Nodes come before
// restarts: code does not restart in its pod on a bad node. The first failure comes before the barrier: once that is open, what has ended belongs to
// an attempt that is over.
func (p *planning) apply() {
	p.incident = incidentOf(p.World, p.draft.Ledger, p.replicas, &p.recorded)
	p.reportFirst()
	p.failureNode = p.countNodeFailures()
	p.verdict, p.restarts = applyVerdict(p.draft, p.verdict, &p.recorded, &p.loss, p.Now)
	v := p.verdict
	if v.IsOver() || p.replicas.HaveStarted() {
		p.draft.NoteCodeStarted()
	}
	p.firstFailure, p.summaryBefore = p.findFirstFailure()
	p.correctNodeFailures()
	p.start = openBarrierAndFormGang(p.World, p.draft, p.replicas, v)
	p.explainLoss()
	noteTime(p.World, p.draft, p.replicas, v, p.loss)
}

// act lists the actions that bring the pods to what the draft says.
func (p *planning) act() {
	p.todo = p.listActions()
}

// tell writes into the draft what new progress shows of times. Then it makes the status and the events.
func (p *planning) tell() Decision {
	told, askAfter := progress(p.World, p.replicas, p.verdict)
	addRecomputedTime(p.World, p.draft, p.replicas, told)
	noteFirstStep(p.World, p.draft, p.replicas, told)
	p.recorded.forgetSeries(told)
	d := makeDecision(status.Findings{
		Job: p.Job, Ledger: p.draft.Ledger, Roster: p.replicas, Verdict: p.verdict, Now: p.Now, SuccessMayVanish: p.recorded.successMayVanish,
		Restarts: p.restarts.events, Progress: told, NoProgress: p.recorded.noProgress, Failures: append(p.recorded.failures, p.restarts.failures...),
		First: p.firstFailure, SummaryBefore: p.summaryBefore, Rejected: p.restarts.rejected, Silent: p.start.silent, NoFlavor: p.start.noFlavor, Awaits: p.start.barrier.Awaits,
		MisplacedRanks: misplacedRanks(p.World, p.draft.Ledger, p.replicas), NoWrapper: p.Settings.WrapperImage == "",
		Creates: p.todo.creates(), Changes: p.todo.changes(),
	}, p.todo.actions, p.recorded.newSuccesses)
	d.TypesLackingPods = p.todo.typesLackingPods
	d.RequeueAfter = soonest(d.RequeueAfter, p.askRulesAfter, p.start.recheckAfter, p.todo.recheckAfter, askAfter)
	return d
}

// askRulesAndCount asks the rules. Failures whose cause is not known yet wait to be counted. But if the rules end the job meanwhile, or stop its pods
// because its queue takes its quota, nobody would count them later. Then askRulesAndCount counts them now, and asks the rules again. In a job that is
// only blocked the pods stay, so their failures wait.
func askRulesAndCount(w World, draft ledger.Draft, recorded *outcomes) (v verdict.Verdict, recheckAfter time.Duration) {
	ask := func() (verdict.Verdict, time.Duration) {
		return askRules(facts{
			job: w.Job, ledger: draft.Ledger, missingGangKind: w.Gang.Missing, kueue: w.Kueue, failingRule: recorded.failingRule, now: w.Now,
		})
	}
	v, recheckAfter = ask()
	if recorded.waitsFor == 0 || !v.IsOver() && !v.StopsPods() {
		return v, recheckAfter
	}
	recorded.count(w.Job, draft)
	return ask()
}

// decidedByStatus returns the decision about a job that is being deleted, or whose status is of no use for a plan. For other jobs decided is false.
// Err is why the ledger could not be read; nil if it could.
func decidedByStatus(w World, replicas *roster.Roster, err error) (d Decision, decided bool) {
	switch {
	case w.Job.DeletionTimestamp != nil:
		return Decision{Status: w.Job.Status, Actions: append(releaseAll(w.Job, w.Pods), releaseOrphans(w)...)}, true
	case isOfOtherBuild(w.Job):
		return unreadable(w, status.OfOtherBuild(w.Job.Status.LedgerVersion), status.CreateAgain), true
	case replicas.Earlier != "":
		return unreadable(w, status.EarlierPod(replicas.Earlier), status.CreateAgain), true
	case err != nil: // before what is newer than the ledger, of which only a part was read
		return unreadable(w, err.Error(), status.Repair), true
	case replicas.Newer != "" && w.JobIsLive:
		return unreadable(w, status.NewerPod(replicas.Newer), status.Repair), true
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
	barrier      barrier.Barrier
	silent       string        // a message about a scheduler that has said nothing of the pods; see silentScheduler
	noFlavor     string        // a message about pods that are missing for a resource flavor; see withoutFlavor
	recheckAfter time.Duration // when to look for that again
}

// openBarrierAndFormGang opens the barrier of a job that runs, and forms its gang, in the ledger.
func openBarrierAndFormGang(w World, draft ledger.Draft, replicas *roster.Roster, v verdict.Verdict) (start startConditions) {
	if v.Course != verdict.Run {
		return start
	}
	start.barrier = barrier.OpenIfAllArrived(w.barrierInputs(), draft, replicas)
	regroup(w.Job, draft, replicas)
	start.silent, start.recheckAfter = silentScheduler(w.Job, replicas, w.Now)
	if start.noFlavor = withoutFlavor(w.Kueue, draft.Ledger, replicas); start.noFlavor != "" {
		start.recheckAfter = soonest(start.recheckAfter, gangInterval)
	}
	return start
}

// makeDecision makes the decision from findings and actions. It postpones a status that only refreshes the view, and a first status that only says
// that the job begins. The pods of newSuccesses are not released before the status that records their success is written.
func makeDecision(found status.Findings, actions []Action, newSuccesses []*corev1.Pod) Decision {
	s, events, news := status.Of(found)
	if !news {
		return Decision{Status: s, Actions: actions}
	}
	postponed := status.PostponedFor(found, &s)
	if postponed == 0 {
		return Decision{Status: s, Actions: actions, Events: events}
	}
	d := Decision{Status: found.Job.Status, Actions: withoutReleases(actions, newSuccesses), RequeueAfter: postponed}
	if found.Ledger.HasNoStatus() {
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
