package v1beta1_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

type tensorflowEdit = func(*v1beta1.TensorFlowTrainingJob)

// tensorflowJob is the smallest TensorFlowTrainingJob that has all that the rules speak of.
func tensorflowJob(edits ...tensorflowEdit) *v1beta1.TensorFlowTrainingJob {
	j := &v1beta1.TensorFlowTrainingJob{Spec: v1beta1.TensorFlowTrainingJobSpec{
		ReplicaSpecs: []v1beta1.TensorFlowReplicaSpec{
			{Type: v1beta1.TensorFlowChief, Template: template("tensorflow")},
			{Type: v1beta1.TensorFlowWorker, Replicas: ptr.To[int32](3), Template: template("tensorflow")},
		},
		Scheduler: &v1beta1.SchedulePolicy{T9kScheduler: &v1beta1.T9kScheduler{Queue: "default"}},
	}}
	j.Name = "job"
	all(edits...)(j)
	return j
}

func tensorflowSpec(change func(*v1beta1.TensorFlowTrainingJobSpec)) tensorflowEdit {
	return func(j *v1beta1.TensorFlowTrainingJob) { change(&j.Spec) }
}

func tensorflowChief(change func(*v1beta1.TensorFlowReplicaSpec)) tensorflowEdit {
	return func(j *v1beta1.TensorFlowTrainingJob) { change(&j.Spec.ReplicaSpecs[0]) }
}

func tensorflowWorker(change func(*v1beta1.TensorFlowReplicaSpec)) tensorflowEdit {
	return func(j *v1beta1.TensorFlowTrainingJob) { change(&j.Spec.ReplicaSpecs[1]) }
}

// tensorflowTypes gives a job one replica of each of these types.
func tensorflowTypes(types ...v1beta1.TensorFlowReplicaType) tensorflowEdit {
	return tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) {
		s.ReplicaSpecs = []v1beta1.TensorFlowReplicaSpec{}
		for _, name := range types {
			s.ReplicaSpecs = append(s.ReplicaSpecs, v1beta1.TensorFlowReplicaSpec{Type: name, Template: template("tensorflow")})
		}
	})
}

// chiefWorkersServers gives a job so many replicas of these types.
func chiefWorkersServers(replicas ...int32) tensorflowEdit {
	return all(tensorflowTypes("chief", "worker", "ps"), tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) {
		for i, n := range replicas {
			s.ReplicaSpecs[i].Replicas = ptr.To(n)
		}
	}))
}

// sides are n names of sidecars.
func sides(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("side-", i))
	}
	return names
}

func TestNamesOfTensorFlowTrainingJobs(t *testing.T) {
	named := named[*v1beta1.TensorFlowTrainingJob]
	workers := func(n *int32) tensorflowEdit {
		return tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Replicas = n })
	}
	const worker0, worker10 = len("-worker-0"), len("-worker-10")
	tryRules(t, tensorflowJob, map[string]rule[*v1beta1.TensorFlowTrainingJob]{
		"a name is a DNS label": {
			named("a-1", 0), named("a.1", 0),
			[]string{"metadata.name is 'a.1'", "only lower-case letters, digits and '-' inside, and a letter first"},
		},
		"a name begins with a letter": {
			named("a1", 0), named("1a", 0),
			[]string{"metadata.name is '1a'", "only lower-case letters, digits and '-' inside, and a letter first"},
		},
		"a host name has at most 63 characters": {
			named("n", 63-worker0), named("n", 64-worker0),
			[]string{"spec.replicaSpecs", "<metadata.name>-<type>-<highest rank> must fit in 63 characters", "metadata.name is 'nxxx", "shorten it"},
		},
		"a host name has room for the digits of the highest rank": {
			all(named("n", 63-worker10), workers(ptr.To[int32](11))), all(named("n", 63-worker0), workers(ptr.To[int32](11))),
			[]string{"must fit in 63 characters"},
		},
		"a host name of one replica by default ends in -0": {
			all(named("n", 63-worker0), workers(nil)), all(named("n", 64-worker0), workers(nil)),
			[]string{"must fit in 63 characters"},
		},
	})
}

func TestReplicasOfTensorFlowTrainingJobs(t *testing.T) {
	number := func(n int32) tensorflowEdit {
		return tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Replicas = ptr.To(n) })
	}
	chiefs := func(n int32) tensorflowEdit {
		return tensorflowChief(func(s *v1beta1.TensorFlowReplicaSpec) { s.Replicas = ptr.To(n) })
	}
	restart := func(p v1beta1.RestartPolicyType) tensorflowEdit {
		return tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.RestartPolicy = p })
	}
	containers := func(names ...string) tensorflowEdit {
		return tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Template = template(names...) })
	}
	initContainer := tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) {
		s.Template = template("main")
		s.Template.Spec.InitContainers = template("tensorflow").Spec.Containers
	})
	types := tensorflowTypes
	const first, second = "spec.replicaSpecs[0]", "spec.replicaSpecs[1]"
	const unnamed = "spec.containers must have a container named 'tensorflow', the one that trains"
	rules := map[string]rule[*v1beta1.TensorFlowTrainingJob]{
		"there is at least one type":    {types("worker"), types(), []string{"spec.replicaSpecs", "should have at least 1 items"}},
		"there are four types":          {types("ps", "chief", "worker", "evaluator"), types("chief", "worker", "ps", "evaluator", "chief"), tooMany("spec.replicaSpecs", 4)},
		"a type is one of four":         {types("chief"), types("chief", "master"), oneOf(second+".type", "master", "chief", "worker", "ps", "evaluator")},
		"a type is not empty":           {types("worker"), types("worker", ""), oneOf(second+".type", "", "chief", "worker", "ps", "evaluator")},
		"a type is given once":          {types("worker"), types("worker", "worker"), []string{second, `Duplicate value: {"type":"worker"}`}},
		"a chief is enough":             {types("chief", "ps"), types("ps"), []string{"spec.replicaSpecs", "one of them must be of type chief or worker: the job succeeds when the chief, or else worker 0, does"}},
		"a worker is enough":            {types("worker", "ps"), types("ps", "evaluator"), []string{"spec.replicaSpecs", "one of them must be of type chief or worker"}},
		"there is one chief":            {chiefs(1), chiefs(2), []string{first + ".replicas", "a job has at most one chief: set it to 1, and use type worker for the others"}},
		"two chiefs do not come apart":  {types("chief", "worker"), types("chief", "chief"), []string{second, `Duplicate value: {"type":"chief"}`}},
		"replicas is not 0":             {number(1), number(0), atLeast(second+".replicas", 1)},
		"replicas is not negative":      {number(1), number(-1), append(atLeast(second+".replicas", 1), "-1")},
		"replicas is at most 10000":     {number(10000), number(10001), append(atMost(second+".replicas", 10000), "10001")},
		"restartPolicy is one of four":  {restart("ExitCode"), restart("onfailure"), oneOf(second+".restartPolicy", "onfailure", "Always", "OnFailure", "Never", "ExitCode")},
		"a template has containers":     {containers("tensorflow"), containers(), []string{second + ".template", unnamed}},
		"one container is tensorflow":   {containers("side", "tensorflow"), containers("side", "main"), []string{second + ".template", unnamed, "[side, main]", "rename the one that trains"}},
		"tensorflow does not only init": {containers("tensorflow"), initContainer, []string{second + ".template", unnamed, "[main]"}},
		"all types together have 20,000 replicas": {
			chiefWorkersServers(1, 10_000, 9_999), chiefWorkersServers(1, 10_000, 10_000),
			[]string{"spec.replicaSpecs", "the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"},
		},
		"five names are too many to list": {
			containers(append(sides(4), "tensorflow")...), containers(sides(5)...), []string{"[side-0, side-1, side-2, ...]"},
		},
		"there are at most 64 containers": {
			containers(append(sides(63), "tensorflow")...), containers(append(sides(64), "tensorflow")...), tooMany(second+".template.spec.containers", 64),
		},
		"a container's name is a DNS label": {
			containers("tensorflow", strings.Repeat("s", 63)), containers("tensorflow", strings.Repeat("s", 64)),
			tooLong(second+".template.spec.containers[1].name", 63),
		},
	}
	for _, p := range []v1beta1.RestartPolicyType{"Always", "OnFailure", "Never", "ExitCode"} {
		rules["restartPolicy may be "+string(p)] = rule[*v1beta1.TensorFlowTrainingJob]{restart(p), restart(p + "s"), []string{second + ".restartPolicy", string(p + "s")}}
	}
	tryRules(t, tensorflowJob, rules)
}

// Go always writes a template's spec, and a replica's type; people forget them.
func TestATensorFlowTrainingJobThatLacksTheMain(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for want, replicas := range map[string]any{
		"spec.replicaSpecs[0].template: Invalid value: spec.containers must have a container named 'tensorflow'": []any{map[string]any{"type": "worker", "template": map[string]any{}}},
		"spec.replicaSpecs[0].template.spec.containers: Required value":                                          []any{map[string]any{"type": "worker", "template": map[string]any{"spec": map[string]any{}}}},
		"spec.replicaSpecs[0].template: Required value":                                                          []any{map[string]any{"type": "worker"}},
		"spec.replicaSpecs[0].type: Required value":                                                              []any{map[string]any{"template": map[string]any{}}},
	} {
		j := manifest(t, tensorflowJob())
		j.SetNamespace(ns)
		require.NoError(t, unstructured.SetNestedField(j.Object, replicas, "spec", "replicaSpecs"))
		require.Contains(t, said(c.Create(t.Context(), j)), want)
	}
	j := manifest(t, tensorflowJob())
	j.SetNamespace(ns)
	unstructured.RemoveNestedField(j.Object, "spec", "replicaSpecs")
	require.ErrorContains(t, c.Create(t.Context(), j), "spec.replicaSpecs: Required value")
	unstructured.RemoveNestedField(j.Object, "spec")
	require.ErrorContains(t, c.Create(t.Context(), j), "spec: Required value")
}

func TestEditsOfTensorFlowTrainingJobsThatWaitForAPause(t *testing.T) {
	image := tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" })
	const replicas = "spec.replicaSpecs: Invalid value: replicaSpecs is immutable unless the job is paused, for TensorFlow reads " +
		"TF_CONFIG once: set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
	const scheduler = "spec.scheduler: Invalid value: scheduler is immutable unless the job is paused: set spec.runMode.pause.enabled, " +
		"wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
	tryWaiting(t, tensorflowJob, map[string]waiting[*v1beta1.TensorFlowTrainingJob]{
		"another image":     {image, replicas},
		"more replicas":     {tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.Replicas = ptr.To[int32](4) }), replicas},
		"a restart policy":  {tensorflowWorker(func(s *v1beta1.TensorFlowReplicaSpec) { s.RestartPolicy = "Never" }), replicas},
		"one more type":     {tensorflowTypes("chief", "worker", "ps"), replicas},
		"a type less":       {tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.ReplicaSpecs = s.ReplicaSpecs[:1] }), replicas},
		"types in disorder": {tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { slices.Reverse(s.ReplicaSpecs) }), replicas},
		"a pause and another image at once": {
			all(set[*v1beta1.TensorFlowTrainingJob]("RunMode", &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}), image), replicas,
		},
		"no scheduler":  {tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.Scheduler = nil }), scheduler},
		"another queue": {tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.Scheduler.T9kScheduler.Queue = "fast" }), scheduler},
		"a smaller gang": {
			tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.Scheduler.MinMember = ptr.To[int32](2) }), scheduler,
		},
	})
}

func TestEditsOfTensorFlowTrainingJobsThatWaitForNothing(t *testing.T) {
	mode := func(m *v1beta1.RunMode) tensorflowEdit { return set[*v1beta1.TensorFlowTrainingJob]("RunMode", m) }
	policy := func(p v1beta1.RunPolicy) tensorflowEdit {
		return set[*v1beta1.TensorFlowTrainingJob]("RunPolicy", &p)
	}
	tryFree(t, tensorflowJob, map[string]tensorflowEdit{
		"a pause":           mode(&v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}),
		"debug mode":        mode(&v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}),
		"a deadline":        policy(v1beta1.RunPolicy{ActiveDeadlineSeconds: ptr.To[int64](9)}),
		"a shared limit":    policy(v1beta1.RunPolicy{BackoffLimit: ptr.To[int32](9)}),
		"a clean-up policy": policy(v1beta1.RunPolicy{CleanUpPolicy: v1beta1.CleanUpAll}),
		"a TensorBoard": set[*v1beta1.TensorFlowTrainingJob]("TensorBoardSpec", &v1beta1.TensorBoardSpec{
			TrainingLogFilesets: []string{"t9k://pvc/logs/run"},
			Resources:           corev1.ResourceRequirements{},
		}),
		"a label": func(j *v1beta1.TensorFlowTrainingJob) { j.Labels = map[string]string{"a": "b"} },
	})
}

func TestATensorBoardMayBeEditedAndRemovedAtAnyTime(t *testing.T) {
	with := tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) {
		s.TensorBoardSpec = &v1beta1.TensorBoardSpec{TrainingLogFilesets: []string{"t9k://pvc/logs/run"}}
	})
	tryFree(t, func(edits ...tensorflowEdit) *v1beta1.TensorFlowTrainingJob {
		return tensorflowJob(append(edits, with)...)
	}, map[string]tensorflowEdit{
		"suspended": tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.TensorBoardSpec.Suspend = true }),
		"elsewhere": tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.TensorBoardSpec.TrainingLogFilesets[0] += "2" }),
		"removed":   tensorflowSpec(func(s *v1beta1.TensorFlowTrainingJobSpec) { s.TensorBoardSpec = nil }),
	})
}
