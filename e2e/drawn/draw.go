package drawn

import (
	"fmt"
	"math/rand/v2"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// deck is what each ten jobs of a run have: faults of each kind, and one job of torchrun. Their order is drawn.
var deck = []string{Exit, Exit, Exit, Kill, Kill, Hang, Delete, Scale, None, torchrun}

// torchrun is the card of a job of torchrun.
const torchrun = "torchrun"

// exitCodes are with which code exits: none that says by itself that somebody asked for the end.
var exitCodes = []int{1, 3, 42, 138}

// words are what code says last that fails, and which kind of cause that is.
var words = map[string]v1beta1.CauseKind{
	"": v1beta1.CauseUnknown,
	"OSError: [Errno 28] No space left on device":  v1beta1.CauseStorage,
	"ModuleNotFoundError: No module named 'drawn'": v1beta1.CauseConfig,
	traceback: v1beta1.CauseException,
	"RuntimeError: CUDA error: uncorrectable ECC error":        v1beta1.CauseHardware,
	"torch.OutOfMemoryError: CUDA out of memory. Tried 20 MiB": v1beta1.CauseDeviceOutOfMemory,
}

// traceback is what Python prints of an exception.
const traceback = "Traceback (most recent call last):\n  File \"/train.py\", line 3, in load\nValueError: shard 17 has 3 rows of 4"

// saying are the words in an order that is always the same.
var saying = []string{
	"", "", "OSError: [Errno 28] No space left on device", "ModuleNotFoundError: No module named 'drawn'", traceback,
	"RuntimeError: CUDA error: uncorrectable ECC error", "torch.OutOfMemoryError: CUDA out of memory. Tried 20 MiB",
}

// Draw draws the n-th job of the run of a seed.
func Draw(seed int64, n int) *Job {
	shuffled := rand.New(rand.NewPCG(uint64(seed), uint64(n/len(deck)))).Perm(len(deck)) // #nosec G404 -- a seed repeats it
	d := &draws{rand.New(rand.NewPCG(uint64(seed), uint64(n)+1<<32))}                    // #nosec G404
	card := deck[shuffled[n%len(deck)]]
	if card == torchrun {
		return d.torchrun(n)
	}
	j := &Job{Name: fmt.Sprintf("drawn-%d", n), Fault: Fault{Kind: card}, Steps: 3 + d.IntN(4), Saved: 143}
	d.types(j)
	d.restarts(j)
	d.fault(j)
	d.limits(j)
	d.policy(j)
	d.ends(j)
	d.pods(j)
	return j
}

type draws struct{ *rand.Rand }

func (d *draws) one(of int) bool { return d.IntN(of) == 0 }

func pick[T any](d *draws, list ...T) T { return list[d.IntN(len(list))] }

// types draws one to three types, of which one may be auxiliary and one may start after the others.
func (d *draws) types(j *Job) {
	names := []string{"chief", "worker", "evaluator"}
	for _, name := range names[:1+d.IntN(3)] {
		j.Types = append(j.Types, Type{Name: name, Replicas: 1 + d.IntN(2)})
	}
	if last := len(j.Types) - 1; last > 0 && d.one(4) {
		j.Types[last].AfterOthers = true
	}
	if d.one(4) {
		j.Types = append(j.Types, Type{Name: "store", Replicas: 1, Auxiliary: true})
	}
	d.Shuffle(len(j.Types), func(a, b int) { j.Types[a], j.Types[b] = j.Types[b], j.Types[a] })
}

// restarts draws what a restart replaces, and how.
func (d *draws) restarts(j *Job) {
	j.WholeJob, j.InPlace, j.Service = d.one(2), d.one(2), d.one(2)
	j.Together = j.WholeJob && d.one(2)
	j.Signs = pick(d, "", "", Progress, Heartbeat)
	j.Saves = d.IntN(4)
	if d.one(3) {
		j.Saved = 0
	}
}

// fault draws the rest of the fault, and has the job be one in which it can come.
func (d *draws) fault(j *Job) {
	f := &j.Fault
	t := pick(d, j.members()...)
	f.Type, f.Rank, f.At = t.Name, d.IntN(t.Replicas), 1+d.IntN(j.Steps-1)
	switch f.Kind {
	case Exit:
		f.Code, f.Times, f.Words = pick(d, exitCodes...), pick(d, 1, 1, 2, Always, Always), pick(d, saying...)
	case Kill:
		f.Times = pick(d, 1, 1, Always)
	case Hang:
		f.Times, j.Signs = pick(d, 1, 1, Always), Heartbeat
	case Delete:
		f.Times, j.Saves, j.Signs = 1, 3+d.IntN(3), pick(d, "", Progress)
	case Scale:
		f.To = t.Replicas + 1
		if t.Replicas > 1 && d.one(2) {
			f.To = t.Replicas - 1
		}
		f.Rank = 0
		for i := range j.Types {
			j.Types[i].AfterOthers = false
		}
	case None:
		*f = Fault{Kind: None}
	}
}

// limits draws restart policies, and limits that leave few restarts.
func (d *draws) limits(j *Job) {
	for i := range j.Types {
		t := &j.Types[i]
		if t.Auxiliary {
			continue
		}
		limit := ptr.To(pick[int32](d, 0, 1, 1, 2))
		t.Policy = pick(d, nil, &v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, Limit: limit},
			&v1beta1.RestartPolicy{Limit: limit}, &v1beta1.RestartPolicy{Limit: limit}, &v1beta1.RestartPolicy{Policy: v1beta1.RestartNever},
			&v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode, Limit: limit},
			&v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode, Limit: limit, ExitCodes: []int32{3, 42, 124}})
		if t.Policy != nil && j.isHang() && t.Name == j.Fault.Type {
			t.Policy.Limit = ptr.To(int32(d.IntN(2))) // each hang takes a minute
		}
	}
	if d.one(2) {
		j.Backoff = ptr.To(pick[int32](d, 0, 1, 2, 2, 3))
		if j.isHang() {
			j.Backoff = ptr.To(int32(d.IntN(2)))
		}
	}
	if d.mayAlways(j) && d.one(4) {
		j.Backoff = nil
		j.typeOf(j.Fault.Type).Policy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways, Limit: ptr.To(int32(j.Fault.Times))}
	}
}

func (j *Job) isHang() bool { return j.Fault.Kind == Hang }

// mayAlways reports whether code that has succeeded may be run again, and it is known how often.
func (d *draws) mayAlways(j *Job) bool {
	return (j.Fault.Kind == Exit || j.Fault.Kind == Kill) && !j.WholeJob && j.Fault.Times == 1
}

// policy draws a failure policy: rules, of which the second matches the fault, or noProgress.
func (d *draws) policy(j *Job) {
	if k := j.Fault.Kind; k != Exit && k != Kill && k != Hang || j.isAlways() || !d.one(2) {
		return
	}
	if d.mayCountRounds(j) && d.one(2) {
		j.Rounds, j.Backoff, j.Signs = 2, ptr.To(int32(2+d.IntN(2))), pick(d, Progress, Heartbeat)
		j.typeOf(j.Fault.Type).Policy = nil
		return
	}
	match := pick(d, v1beta1.FailureMatch{ExitCodes: []int32{j.code()}}, v1beta1.FailureMatch{Types: []string{j.Fault.Type}},
		v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{j.kind()}, ExitCodes: []int32{j.code(), 77}})
	rule := v1beta1.FailurePolicyRule{Name: "drawn", Match: match, Action: v1beta1.FailureActionRestart}
	switch {
	case d.one(4):
		rule.Action = v1beta1.FailureActionFail
	case j.Fault.Times < Always:
		rule.Counts = pick(d, nil, ptr.To(false))
	}
	other := v1beta1.FailurePolicyRule{Match: v1beta1.FailureMatch{ExitCodes: []int32{77}}, Action: v1beta1.FailureActionFail}
	j.Rules = []v1beta1.FailurePolicyRule{other, rule}
}

// isAlways reports whether the victim's type runs again after success, too.
func (j *Job) isAlways() bool {
	t := j.typeOf(j.Fault.Type)
	return t != nil && t.Policy != nil && t.Policy.Policy == v1beta1.RestartAlways
}

// mayCountRounds reports whether the fault is one that noProgress ends: the lowest replica has it, always at the same step.
func (d *draws) mayCountRounds(j *Job) bool {
	return j.Fault.Kind == Exit && j.Fault.Times == Always && j.Fault.Rank == 0 && j.members()[0].Name == j.Fault.Type && (j.WholeJob || j.Size() == 1)
}

// kind is the kind of cause that the fault is.
func (j *Job) kind() v1beta1.CauseKind {
	switch j.Fault.Kind {
	case Hang:
		return v1beta1.CauseHang
	case Kill:
		return v1beta1.CauseUnknown
	default:
		return words[j.Fault.Words]
	}
}

// ends draws rules for the end, and what becomes of pods at it.
func (d *draws) ends(j *Job) {
	j.CleanUp = pick(d, "", v1beta1.CleanUpNone, v1beta1.CleanUpUnfinished, v1beta1.CleanUpAll)
	if j.Fault.Kind == Scale {
		return
	}
	if d.one(3) {
		j.SuccessOf = pick(d, j.members()...).Name
		if j.Fault.Kind != None {
			j.SuccessOf = j.Fault.Type // else nobody knows whether the fault or the success comes first
		}
	}
	if d.one(3) {
		j.FailureOf = pick(d, j.members()...).Name
	}
}

// pods draws what pods are like, and what their namespace restricts.
func (d *draws) pods(j *Job) {
	j.Shell = pick(d, Sh, ShArgs, Bash, Python, File)
	j.Sidecar = pick(d, "", "", Native, Plain)
	j.Init = d.one(3)
	j.User = pick(d, "", Restricted, Restricted, Root, Numbered)
	j.Space = pick(d, "", Quota, Limits)
	if !j.WholeJob && j.Fault.Kind == None && j.Size() > 1 && !j.hasAfterOthers() && d.one(2) {
		j.Space = Tight
	}
}

func (j *Job) hasAfterOthers() bool {
	for _, t := range j.Types {
		if t.AfterOthers {
			return true
		}
	}
	return false
}

// torchrun draws a job of two nodes. Code fails once or never: how often torchrun itself starts it is torchrun's own.
func (d *draws) torchrun(n int) *Job {
	j := &Job{
		Name: fmt.Sprintf("drawn-%d", n), Torchrun: pick(d, Fixed, Elastic), Types: []Type{{Name: "node", Replicas: 2}}, WholeJob: true,
		Shell: Python, User: Numbered, Steps: 4, Saved: 143, Fault: Fault{Kind: None},
	}
	j.InPlace = j.Torchrun == Fixed && d.one(2)
	if d.one(4) {
		return j
	}
	j.Fault = Fault{Kind: Exit, Type: "node", Rank: d.IntN(2), At: 2, Code: 3, Times: 1}
	if j.Torchrun == Fixed {
		j.Backoff = ptr.To(int32(d.IntN(2)))
	}
	return j
}
