package simulator

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// miniatureSteps is how long the trouble lasts in a life of a miniature.
const miniatureSteps = 22

// Miniature is a small cluster with one job, of which all lives are lived that are not far from the healthy one.
type Miniature struct {
	Name   string
	user   *trained
	job    func() client.Object
	set    func(*Life)         // who else is there
	rare   bool                // rare ends and states are choices, too
	events map[int]func(*Life) // what a user does, by step
}

// LiveIn lives a life of a miniature, and returns how many outcomes each of its choices had.
func LiveIn(ctx context.Context, s *Miniature, deviations []Deviation, tell bool) (*Life, []int) {
	l, choices := follow(ctx, s, &schedule{deviations: deviations}, tell)
	if choices.unfit != "" {
		panic(choices.unfit)
	}
	return l, choices.trace
}

// follow lives the life of a schedule in a miniature.
func follow(ctx context.Context, s *Miniature, choices *schedule, tell bool) (*Life, *schedule) {
	l := newLife(ctx, &Tape{schedule: choices}, tell)
	l.miniature, l.user, l.worked, l.forceAfter = s, s.user, map[work]int{}, forceAfter
	l.rare, choices.rare = s.rare, s.rare
	if tell {
		choices.tell = l.say
	}
	if s.user != plain {
		l.framework = s.user
	}
	if s.set != nil {
		s.set(l)
	}
	l.begin()
	l.hire()
	seen := map[client.Object]uint64{}
	for step := 0; step < miniatureSteps && (step <= s.last() || !l.isDone()); step++ {
		if do := s.events[step]; do != nil {
			do(l)
		}
		l.before = l.api.version
		l.step()
		l.states = append(l.states, l.state(seen))
	}
	l.conclude()
	return l, choices
}

// last is the last step in which a user does something.
func (s *Miniature) last() int {
	last := 0
	for step := range s.events {
		last = max(last, step)
	}
	return last
}

// isDone reports whether the job is over, nothing happened in the last step, and nothing is about to.
func (l *Life) isDone() bool {
	job, ok := l.api.get(key{v1beta1.KindGenericJob, jobName}).(*v1beta1.GenericJob)
	if !ok || job.Status.CompletionTime == nil || l.api.version != l.before || len(l.late) > 0 {
		return false
	}
	for _, o := range l.operators {
		if len(o.reconciles)+len(o.lagging())+len(o.due()) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(l.api.pods(), func(p *corev1.Pod) bool { return !over(p) || p.DeletionTimestamp != nil })
}

// state is a hash of the objects that there are, without their resourceVersions. Objects of the API do not change: seen has the hashes of
// those that were there before.
func (l *Life) state(seen map[client.Object]uint64) uint64 {
	sum := uint64(0)
	for _, o := range l.api.objects {
		one, ok := seen[o]
		if !ok {
			one = hashOf(o)
			seen[o] = one
		}
		sum += one
	}
	return sum
}

func hashOf(o client.Object) uint64 {
	bare := o.DeepCopyObject().(client.Object)
	bare.SetResourceVersion("")
	raw, err := json.Marshal(bare)
	if err != nil {
		panic(err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(kindOf(o)))
	_, _ = h.Write(raw)
	return h.Sum64()
}

// Miniatures are the miniatures that there are, small ones first, and those of features last.
var Miniatures = slices.Concat(coreMiniatures, featureMiniatures)

// coreMiniatures are the shapes of jobs, what users do, and each framework once.
var coreMiniatures = []*Miniature{
	{Name: "one replica", user: plain, job: jobOf(1)},
	{Name: "two replicas", user: plain, job: jobOf(2)},
	{Name: "three replicas", user: plain, job: jobOf(3)},
	{Name: "two operators", user: plain, job: jobOf(1), set: func(l *Life) { l.two = true }},
	{Name: "scope Job", user: plain, job: jobOf(2, scopeJob)},
	{Name: "in place", user: plain, job: jobOf(2, inPlace)},
	{Name: "in place, scope Job", user: plain, job: jobOf(2, inPlace, scopeJob)},
	{Name: "in place, unlike types", user: plain, job: jobOf(1, unlike, inPlace, scopeJob)},
	{Name: "gang", user: plain, job: jobOf(2, inGang)},
	{Name: "gang, a gate off", user: plain, job: jobOf(2, inGang), set: func(l *Life) { l.gate = gateOffInOne }},
	{Name: "Kueue", user: plain, job: jobOf(1, inQueue)},
	{Name: "pause", user: plain, job: jobOf(1), events: map[int]func(*Life){4: togglePause, 7: togglePause}},
	{Name: "scale", user: plain, job: jobOf(1), events: map[int]func(*Life){3: scaleTo(2), 6: scaleTo(1)}},
	{Name: "delete and create again", user: plain, job: jobOf(1), events: map[int]func(*Life){4: deleteJob, 6: createAgain, 7: createAgain, 8: createAgain}},
	{Name: "a failure", user: plain, job: jobOf(2), events: map[int]func(*Life){5: failFirst}},
	{Name: "a failure, scope Job", user: plain, job: jobOf(2, scopeJob), events: map[int]func(*Life){5: failFirst}},
	{Name: "a failure in place", user: plain, job: jobOf(2, inPlace, scopeJob), events: map[int]func(*Life){5: failFirst}},
	{Name: "a new leader", user: plain, job: jobOf(1), events: map[int]func(*Life){6: failOver}},
	{Name: "TensorFlow", user: frameworks[0], job: drawn(frameworks[0])},
	{Name: "PyTorch", user: frameworks[1], job: drawn(frameworks[1])},
	{Name: "TFJob", user: frameworks[2], job: drawn(frameworks[2])},
	{Name: "defined kind", user: defined, job: drawn(defined)},
	{Name: "two versions", user: plain, job: jobOf(1, inPlace), set: func(l *Life) { l.servers = bothServers }},
	{Name: "a sidecar", user: plain, job: jobOf(1), set: func(l *Life) { l.beside = native }},
	{Name: "policies", user: plain, job: jobOf(1), set: func(l *Life) { l.strict = true }},
	{Name: "users", user: plain, job: jobOf(1), set: func(l *Life) { l.meddling = true }},
}

// jobOf is a GenericJob of so many workers, each of which may be restarted three times.
func jobOf(replicas int32, edits ...func(*v1beta1.GenericJobSpec)) func() client.Object {
	return func() client.Object {
		job := drawGenericJob(ReplayTape(nil)).(*v1beta1.GenericJob)
		job.Spec.ReplicaSpecs[0].Replicas, job.Spec.ReplicaSpecs[0].RestartPolicy.Limit = new(replicas), new(int32(3))
		for _, edit := range edits {
			edit(&job.Spec)
		}
		return job
	}
}

func scopeJob(s *v1beta1.GenericJobSpec) {
	s.RestartScope, s.BackoffLimit = v1beta1.RestartScopeJob, new(int32(3))
}

func inPlace(s *v1beta1.GenericJobSpec) { s.RestartStrategy = v1beta1.RestartInPlace }

func inGang(s *v1beta1.GenericJobSpec) {
	s.Scheduler = &v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}}
}

func inQueue(s *v1beta1.GenericJobSpec) {
	s.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team"}}
}

// unlike adds a type of whose image nobody knows what it runs: its pods are replaced where others restart in place.
func unlike(s *v1beta1.GenericJobSpec) {
	other := *s.ReplicaSpecs[0].DeepCopy()
	other.Type, other.Template.Spec.Containers[0].Command = "ps", nil
	s.ReplicaSpecs = append(s.ReplicaSpecs, other)
}

// drawn is the job of a kind that is drawn from zeros.
func drawn(user *trained) func() client.Object {
	return func() client.Object { return user.draw(ReplayTape(nil)) }
}

func togglePause(l *Life) {
	l.editJob(key{l.user.kind, jobName}, func(o client.Object) { *l.user.pause(o) = !*l.user.pause(o) })
}

func scaleTo(n int32) func(*Life) {
	return func(l *Life) {
		l.editJob(key{l.user.kind, jobName}, func(o client.Object) { *l.user.replicas(o)[0] = n })
	}
}

func deleteJob(l *Life) {
	l.say("a user deletes the job")
	_ = l.api.remove(key{l.user.kind, jobName}, "", 0)
}

// createAgain creates the job if it is gone.
func createAgain(l *Life) {
	if l.api.get(key{l.user.kind, jobName}) == nil {
		l.apply()
	}
}

// failFirst has the code of the first pod fail, if it runs.
func failFirst(l *Life) { l.endFirst(1) }

func (l *Life) endFirst(code int32) {
	for _, p := range l.api.pods() {
		if w := l.wraps(p); w == nil || w.runs {
			l.exit(p, code)
			return
		}
	}
}

// failOver kills the operator; another comes.
func failOver(l *Life) {
	for len(l.operators) > 0 {
		l.dismiss(l.operators[0])
	}
	l.hire()
}
