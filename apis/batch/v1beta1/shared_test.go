package v1beta1_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// good are the smallest jobs of each kind that have all that the rules speak of. Each has a type worker.
var good = map[string]func() client.Object{
	v1beta1.KindGenericJob:            func() client.Object { return job() },
	v1beta1.KindTensorFlowTrainingJob: func() client.Object { return tensorflowJob() },
	v1beta1.KindPyTorchTrainingJob:    func() client.Object { return pytorchJob() },
}

func TestThereIsAGoodJobOfEachKind(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		require.Contains(t, good, kind)
		j := good[kind]()
		j.SetNamespace(ns)
		require.NoError(t, c.Create(t.Context(), j, client.DryRunAll), kind)
	}
}

// pytorchJob is the smallest PyTorchTrainingJob that has all that the rules speak of.
func pytorchJob(edits ...func(*v1beta1.PyTorchTrainingJob)) *v1beta1.PyTorchTrainingJob {
	j := &v1beta1.PyTorchTrainingJob{Spec: v1beta1.PyTorchTrainingJobSpec{
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{
			{Type: "master", Template: template("python")},
			{Type: "worker", Replicas: ptr.To[int32](3), Template: template("python")},
		},
		Scheduler: &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: "default"}},
	}}
	j.Name = "job"
	all(edits...)(j)
	return j
}

// set sets a field of the spec that several kinds have.
func set[T client.Object](field string, value any) func(T) {
	return func(j T) {
		part(j, "Spec").FieldByName(field).Set(reflect.ValueOf(value))
	}
}

// What the schema says of a number, a text or a list that is out of bounds.
func atLeast(field string, n int) []string {
	return []string{field + ": Invalid value", fmt.Sprintf("should be greater than or equal to %d", n)}
}

func atMost(field string, n int) []string {
	return []string{field + ": Invalid value", fmt.Sprintf("should be less than or equal to %d", n)}
}

func tooMany(field string, n int) []string {
	return []string{field + ": Too many", fmt.Sprintf("must have at most %d items", n)}
}

func tooLong(field string, n int) []string {
	return []string{field + ": Too long", fmt.Sprintf(" than %d", n)}
}

// oneOf is what the schema says of a value that is none of the allowed ones.
func oneOf(field, found string, allowed ...string) []string {
	return []string{fmt.Sprintf("%s: Unsupported value: %q", field, found), `"` + strings.Join(allowed, `", "`) + `"`}
}

func TestRunModeAndSchedulerOfAllKinds(t *testing.T) {
	t.Run(v1beta1.KindGenericJob, func(t *testing.T) { tryRules(t, job, modeRules[*v1beta1.GenericJob]()) })
	t.Run(v1beta1.KindTensorFlowTrainingJob, func(t *testing.T) {
		tryRules(t, tensorflowJob, modeRules[*v1beta1.TensorFlowTrainingJob]())
	})
	t.Run(v1beta1.KindPyTorchTrainingJob, func(t *testing.T) {
		tryRules(t, pytorchJob, modeRules[*v1beta1.PyTorchTrainingJob]())
	})
}

// schedulerRules are the rules for a scheduler, which with puts into a job.
func schedulerRules[T client.Object](field string, with func(*v1beta1.SchedulePolicy) func(T)) map[string]rule[T] {
	t9k := func(s v1beta1.T9kScheduler) func(T) { return with(&v1beta1.SchedulePolicy{T9kScheduler: &s}) }
	priority := func(n int32) func(T) { return t9k(v1beta1.T9kScheduler{Priority: n}) }
	queue := func(n int) func(T) { return t9k(v1beta1.T9kScheduler{Queue: strings.Repeat("q", n)}) }
	members := func(n int32) func(T) {
		return with(&v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}, MinMember: &n})
	}
	volcano := func(n int) func(T) {
		return with(&v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{Queue: strings.Repeat("q", n)}})
	}
	kai := func(queue string) func(T) {
		return with(&v1beta1.SchedulePolicy{KAI: &v1beta1.KAIScheduler{Queue: queue}})
	}
	seconds := func(n int32) func(T) {
		return with(&v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{ScheduleTimeoutSeconds: &n}})
	}
	one := []string{field + ": Invalid value", "name exactly one scheduler: t9kScheduler, kubernetes, volcano, coscheduling, kai or kueue"}
	two := with(&v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}, T9kScheduler: &v1beta1.T9kScheduler{}})
	whole := []string{field + ": Invalid value", "minMember: Kueue admits all replicas or none; leave minMember out"}
	queued := func(least *int32) func(T) {
		return with(&v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team"}, MinMember: least})
	}
	return map[string]rule[T]{
		"Kueue admits no part of it":  {queued(nil), queued(ptr.To[int32](1)), whole},
		"one scheduler, and not two":  {volcano(1), two, one},
		"one scheduler, and not none": {kai("team"), with(&v1beta1.SchedulePolicy{}), one},
		"KAI needs a queue":           {kai("team"), kai(""), []string{field + ".kai.queue"}},
		"a queue of Volcano's":        {volcano(253), volcano(254), tooLong(field+".volcano.queue", 253)},
		"nobody waits for no time":    {seconds(1), seconds(0), atLeast(field+".coscheduling.scheduleTimeoutSeconds", 1)},
		"priority is not negative":    {priority(1), priority(-1), atLeast(field+".t9kScheduler.priority", 0)},
		"priority is at most 100":     {priority(100), priority(101), atMost(field+".t9kScheduler.priority", 100)},
		"queue may be left out":       {queue(0), queue(64), tooLong(field+".t9kScheduler.queue", 63)},
		"queue is a label value":      {queue(63), queue(64), tooLong(field+".t9kScheduler.queue", 63)},
		"minMember is positive":       {members(1), members(0), atLeast(field+".minMember", 1)},
		"minMember is at most 160000": {members(160000), members(160001), atMost(field+".minMember", 160000)},
	}
}

// modeRules are the rules for spec.runMode and spec.scheduler.
func modeRules[T client.Object]() map[string]rule[T] {
	debug := func(sets ...v1beta1.ReplicaDebugSet) func(T) {
		return set[T]("RunMode", &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true, ReplicaSpecs: sets}})
	}
	resume := func(specs ...v1beta1.ResumeSpec) func(T) {
		return set[T]("RunMode", &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true, ResumeSpecs: specs}})
	}
	debugged := func(names ...string) func(T) {
		var sets []v1beta1.ReplicaDebugSet
		for _, name := range names {
			sets = append(sets, v1beta1.ReplicaDebugSet{Type: name})
		}
		return debug(sets...)
	}
	resumed := func(names ...string) func(T) {
		var specs []v1beta1.ResumeSpec
		for _, name := range names {
			specs = append(specs, v1beta1.ResumeSpec{Type: name})
		}
		return resume(specs...)
	}
	words := func(n int) []string { return slices.Repeat([]string{"worker"}, n) }
	long := strings.Repeat("t", 61)
	const debugField, resumeField = "spec.runMode.debug.replicaSpecs", "spec.runMode.pause.resumeSpecs"
	const unknown = "each type must be that of one of spec.replicaSpecs: correct it, or remove the entry"
	const twice = `Duplicate value: {"type":"worker"}`
	rules := map[string]rule[T]{
		"debug mode names a type once":          {debugged("worker"), debugged("worker", "worker"), []string{debugField + "[1]", twice}},
		"debug mode names 16 types, of anybody": {debugged("chef"), debugged(words(17)...), tooMany(debugField, 16)},
		"debug mode names types of 60 bytes":    {debugged("worker"), debugged(long), tooLong(debugField+"[0].type", 60)},
		"resuming a pause names existing types": {resumed("worker"), resumed("chef"), []string{resumeField, unknown}},
		"resuming a pause names a type once":    {resumed("worker"), resumed("worker", "worker"), []string{resumeField + "[1]", twice}},
		"resuming a pause names 16 types":       {resumed(), resumed(words(17)...), tooMany(resumeField, 16)},
		"resuming a pause names short types":    {resumed("worker"), resumed(long), tooLong(resumeField+"[0].type", 60)},
		"debug mode's command has at most 1024 words": {
			debug(v1beta1.ReplicaDebugSet{Type: "worker", Command: words(1024)}),
			debug(v1beta1.ReplicaDebugSet{Type: "worker", Command: words(1025)}), tooMany(debugField+"[0].command", 1024),
		},
		"resuming's command and args have at most 1024 words each": {
			resume(v1beta1.ResumeSpec{Type: "worker", Command: words(1024), Args: words(1024)}),
			resume(v1beta1.ResumeSpec{Type: "worker", Command: words(1025), Args: words(1025)}),
			append(tooMany(resumeField+"[0].command", 1024), tooMany(resumeField+"[0].args", 1024)...),
		},
	}
	maps.Copy(rules, schedulerRules("spec.scheduler", func(s *v1beta1.SchedulePolicy) func(T) { return set[T]("Scheduler", s) }))
	return rules
}

func TestRunPolicyAndTensorBoardOfTrainingJobs(t *testing.T) {
	t.Run(v1beta1.KindTensorFlowTrainingJob, func(t *testing.T) {
		tryRules(t, tensorflowJob, runPolicyRules[*v1beta1.TensorFlowTrainingJob]())
		tryRules(t, tensorflowJob, tensorBoardRules[*v1beta1.TensorFlowTrainingJob]())
	})
	t.Run(v1beta1.KindPyTorchTrainingJob, func(t *testing.T) {
		tryRules(t, pytorchJob, runPolicyRules[*v1beta1.PyTorchTrainingJob]())
		tryRules(t, pytorchJob, tensorBoardRules[*v1beta1.PyTorchTrainingJob]())
	})
}

// runPolicyRules are the rules for spec.runPolicy.
func runPolicyRules[T client.Object]() map[string]rule[T] {
	policy := func(p v1beta1.RunPolicy) func(T) { return set[T]("RunPolicy", &p) }
	deadline := func(n int64) func(T) { return policy(v1beta1.RunPolicy{ActiveDeadlineSeconds: &n}) }
	backoff := func(n int32) func(T) { return policy(v1beta1.RunPolicy{BackoffLimit: &n}) }
	cleanUp := func(p v1beta1.CleanUpPolicy) func(T) { return policy(v1beta1.RunPolicy{CleanUpPolicy: p}) }
	types := func(name string) func(T) {
		return policy(v1beta1.RunPolicy{FailurePolicy: &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{
			{Match: v1beta1.FailureMatch{Types: []string{name}}, Action: v1beta1.FailureActionFail},
		}}})
	}
	scope := func(r v1beta1.RestartScope) func(T) { return policy(v1beta1.RunPolicy{RestartScope: r}) }
	rules := map[string]rule[T]{
		"a restart may be of the replica": {scope("Replica"), scope("replica"), oneOf("spec.runPolicy.restartScope", "replica", "Replica", "Job")},
		"a restart may be of the job":     {scope("Job"), scope("All"), oneOf("spec.runPolicy.restartScope", "All", "Replica", "Job")},
		"a deadline is in the future":     {deadline(1), deadline(0), atLeast("spec.runPolicy.activeDeadlineSeconds", 1)},
		"a deadline is not negative":      {deadline(1), deadline(-1), atLeast("spec.runPolicy.activeDeadlineSeconds", 1)},
		"backoffLimit is not negative":    {backoff(0), backoff(-1), atLeast("spec.runPolicy.backoffLimit", 0)},
		"a run policy may say nothing":    {policy(v1beta1.RunPolicy{}), backoff(-1), nil},
		"a rule's type is one of the job": {types("worker"), types("wrker"), []string{"spec.runPolicy.failurePolicy.rules", "correct the type, or add it"}},
		"cleanUpPolicy has no other word": {cleanUp("Unfinished"), cleanUp("Running"), oneOf("spec.runPolicy.cleanUpPolicy", "Running", "None", "Unfinished", "All", "none", "unfinished", "all")},
	}
	for _, word := range []v1beta1.CleanUpPolicy{"None", "Unfinished", "All", "none", "unfinished", "all"} {
		rules["cleanUpPolicy may be "+string(word)] = rule[T]{cleanUp(word), cleanUp(word + "x"), []string{"spec.runPolicy.cleanUpPolicy", string(word + "x")}}
	}
	return rules
}

// The reference writes enable in some places and enabled in others.
func TestEnableIsAnotherSpellingOfEnabled(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		for _, mode := range []string{"debug", "pause"} {
			for _, word := range []string{"enable", "enabled"} {
				j := manifest(t, good[kind]())
				j.SetNamespace(ns)
				require.NoError(t, unstructured.SetNestedField(j.Object, true, "spec", "runMode", mode, word))
				require.NoError(t, c.Create(t.Context(), j, client.DryRunAll), "%s: spec.runMode.%s.%s", kind, mode, word)
				stored, _, _ := unstructured.NestedBool(j.Object, "spec", "runMode", mode, word)
				require.True(t, stored, "%s: spec.runMode.%s.%s", kind, mode, word)
			}
		}
	}
}
