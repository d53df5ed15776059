package v1beta1_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

type pytorchEdit = func(*v1beta1.PyTorchTrainingJob)

func pytorchSpec(change func(*v1beta1.PyTorchTrainingJobSpec)) pytorchEdit {
	return func(j *v1beta1.PyTorchTrainingJob) { change(&j.Spec) }
}

func pytorchWorker(change func(*v1beta1.PyTorchReplicaSpec)) pytorchEdit {
	return func(j *v1beta1.PyTorchTrainingJob) { change(&j.Spec.ReplicaSpecs[1]) }
}

// torchrun switches torchrun on, with a change.
func torchrun(change func(*v1beta1.TorchrunConfig)) pytorchEdit {
	return pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) {
		s.TorchrunConfig = &v1beta1.TorchrunConfig{Enabled: true}
		change(s.TorchrunConfig)
	})
}

// elastic makes a job elastic; 0 leaves a number out.
func elastic(least, most, expected int32) pytorchEdit {
	number := func(n int32) *int32 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return all(torchrun(func(*v1beta1.TorchrunConfig) {}), pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) {
		s.Elastic = &v1beta1.ElasticConfig{
			Enabled: true, MinReplicas: number(least), MaxReplicas: number(most), ExpectedReplicas: number(expected),
		}
	}))
}

// ofTypes gives a job so many replicas of each of several types.
func ofTypes(replicas ...int32) pytorchEdit {
	return pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) {
		first := s.ReplicaSpecs[0]
		s.ReplicaSpecs = nil
		for i, n := range replicas {
			first.Type, first.Replicas = string(rune('a'+i)), ptr.To(n)
			s.ReplicaSpecs = append(s.ReplicaSpecs, first)
		}
	})
}

func TestReplicasOfPyTorchTrainingJobs(t *testing.T) {
	named := named[*v1beta1.PyTorchTrainingJob]
	kind := func(name string) pytorchEdit {
		return pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Type = name })
	}
	number := func(n int32) pytorchEdit {
		return pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Replicas = ptr.To(n) })
	}
	weight := func(n int32) pytorchEdit {
		return pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.ScalingWeight = ptr.To(n) })
	}
	restart := func(p v1beta1.RestartPolicyType) pytorchEdit {
		return pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.RestartPolicy = p })
	}
	containers := func(names ...string) pytorchEdit {
		return pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Template = template(names...) })
	}
	none := pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{} })
	const second = "spec.replicaSpecs[1]"
	tryRules(t, pytorchJob, map[string]rule[*v1beta1.PyTorchTrainingJob]{
		"a name is a DNS label":         {named("a-1", 0), named("a.1", 0), []string{"metadata.name is 'a.1'"}},
		"a name begins with a letter":   {named("a1", 0), named("1a", 0), []string{"metadata.name is '1a'", "a letter first"}},
		"a host name has 63 characters": {named("n", 63-len("-worker-0")), named("n", 64-len("-worker-0")), []string{"must fit in 63 characters"}},
		"an elastic job has room for the digits of its highest rank": {
			all(named("n", 63-len("-worker-10")), elastic(2, 11, 0)), all(named("n", 63-len("-worker-0")), elastic(2, 11, 0)),
			[]string{"must fit in 63 characters"},
		},
		"there is at least one type":   {func(*v1beta1.PyTorchTrainingJob) {}, none, []string{"spec.replicaSpecs", "should have at least 1 items"}},
		"a type is a DNS label":        {kind("node-1"), kind("Node"), []string{second + ".type", "should match"}},
		"a type is not empty":          {kind("n"), kind(""), []string{second + ".type"}},
		"a type is given once":         {kind("node"), kind("master"), []string{second, `Duplicate value: {"type":"master"}`}},
		"replicas is not 0":            {number(1), number(0), atLeast(second+".replicas", 1)},
		"replicas is at most 10000":    {number(10000), number(10001), atMost(second+".replicas", 10000)},
		"a weight is not 0":            {weight(1), weight(0), atLeast(second+".scalingWeight", 1)},
		"a weight is at most 10000":    {weight(10000), weight(10001), atMost(second+".scalingWeight", 10000)},
		"restartPolicy is one of four": {restart("Never"), restart("never"), oneOf(second+".restartPolicy", "never", "Always", "OnFailure", "Never", "ExitCode")},
		"a template has containers":    {containers("any"), containers(), []string{second + ".template", "at least one container: what shall the replicas run?"}},
		"all types together have 20,000 replicas": {
			ofTypes(10_000, 9_999, 1), ofTypes(10_000, 10_000, 1),
			[]string{"spec.replicaSpecs", "the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"},
		},
		"the replicas of an elastic job are those of elastic": {
			all(ofTypes(10_000, 10_000, 1), elastic(3, 4, 0)),
			all(ofTypes(10_000, 10_000, 1), elastic(3, 4, 0), pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.Elastic.Enabled = false })),
			[]string{"more than 20000 replicas over all types"},
		},
	})
}

func TestTorchrun(t *testing.T) {
	processes := func(n string) pytorchEdit {
		return torchrun(func(c *v1beta1.TorchrunConfig) { c.ProcPerNode = n })
	}
	backend := func(name string) pytorchEdit {
		return torchrun(func(c *v1beta1.TorchrunConfig) { c.RdzvBackend = name })
	}
	restarts := func(n int32) pytorchEdit {
		return torchrun(func(c *v1beta1.TorchrunConfig) { c.MaxRestarts = ptr.To(n) })
	}
	options := func(n int) pytorchEdit {
		return torchrun(func(c *v1beta1.TorchrunConfig) { c.ExtraOptions = make([]string, n) })
	}
	const field = "spec.torchrunConfig."
	rules := map[string]rule[*v1beta1.PyTorchTrainingJob]{
		"maxRestarts is not negative":       {restarts(0), restarts(-1), atLeast(field+"maxRestarts", 0)},
		"rdzvBackend is one of three":       {backend("etcd-v2"), backend("static"), oneOf(field+"rdzvBackend", "static", "c10d", "etcd", "etcd-v2")},
		"there are at most 64 options":      {options(64), options(65), tooMany(field+"extraOptions", 64)},
		"an elastic job needs torchrun":     {elastic(2, 4, 0), all(elastic(2, 4, 0), torchrun(func(c *v1beta1.TorchrunConfig) { c.Enabled = false })), []string{"spec.elastic", "only torchrun can train with a number of replicas that changes"}},
		"the older spelling switches it on": {all(elastic(2, 4, 0), torchrun(func(c *v1beta1.TorchrunConfig) { c.Enabled, c.Enable = false, true })), all(elastic(2, 4, 0), pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.TorchrunConfig = nil })), []string{"spec.elastic"}},
	}
	for _, n := range []string{"1", "16", "gpu", "cpu", "auto"} {
		rules["processes may be "+n] = rule[*v1beta1.PyTorchTrainingJob]{processes(n), processes(n + "x"), []string{field + "procPerNode", "procPerNode is '" + n + "x'", "want a positive number in quotes, gpu, cpu or auto"}}
	}
	for _, n := range []string{"0", "-1", "01", "GPU", "1.5"} {
		rules["processes may not be "+n] = rule[*v1beta1.PyTorchTrainingJob]{processes("1"), processes(n), []string{"procPerNode is '" + n + "'"}}
	}
	tryRules(t, pytorchJob, rules)
}

func TestElastic(t *testing.T) {
	const field = "spec.elastic."
	off := func(least, most, expected int32) pytorchEdit {
		return all(elastic(least, most, expected), pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.Elastic.Enabled = false }))
	}
	tryRules(t, pytorchJob, map[string]rule[*v1beta1.PyTorchTrainingJob]{
		"min and max are needed":               {elastic(2, 4, 0), elastic(2, 0, 0), []string{"an elastic job needs minReplicas and maxReplicas"}},
		"a job that is not elastic needs none": {off(0, 0, 0), elastic(0, 4, 0), []string{"an elastic job needs minReplicas and maxReplicas"}},
		"min may be max":                       {elastic(4, 4, 4), elastic(5, 4, 0), []string{field + "minReplicas", "must not be more than maxReplicas"}},
		"expected is not below min":            {elastic(2, 4, 2), elastic(3, 4, 2), []string{field + "expectedReplicas", "must be from minReplicas to maxReplicas"}},
		"expected is not above max":            {elastic(2, 4, 4), elastic(2, 4, 5), []string{field + "expectedReplicas", "must be from minReplicas to maxReplicas"}},
		"each type keeps a replica":            {elastic(2, 4, 0), elastic(1, 4, 0), []string{field + "minReplicas", "each type of spec.replicaSpecs keeps at least one replica"}},
		"max is at most 10000":                 {elastic(2, 10000, 0), elastic(2, 10001, 0), atMost(field+"maxReplicas", 10000)},
		"min is not negative":                  {elastic(2, 4, 0), elastic(-1, 4, 0), atLeast(field+"minReplicas", 1)},
	})
}

func TestEditsOfPyTorchTrainingJobsThatWaitForAPause(t *testing.T) {
	const wait = "set spec.runMode.pause.enabled, wait for status.phase Paused, then edit; once the job is over, delete it and create it again"
	const replicas = "spec.replicaSpecs: Invalid value: replicaSpecs is immutable unless the job is paused (an elastic job is scaled by spec.elastic.expectedReplicas): " + wait
	tryWaiting(t, pytorchJob, map[string]waiting[*v1beta1.PyTorchTrainingJob]{
		"another image":     {pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" }), replicas},
		"more replicas":     {pytorchWorker(func(s *v1beta1.PyTorchReplicaSpec) { s.Replicas = ptr.To[int32](4) }), replicas},
		"types in disorder": {pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { slices.Reverse(s.ReplicaSpecs) }), replicas},
		"torchrun":          {torchrun(func(*v1beta1.TorchrunConfig) {}), "spec.torchrunConfig: Invalid value: torchrunConfig is immutable unless the job is paused: " + wait},
		"elasticity":        {elastic(2, 4, 0), "spec.elastic: Invalid value: a job becomes elastic, or ceases to be, only in a pause: " + wait},
		"no scheduler":      {pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.Scheduler = nil }), "spec.scheduler: Invalid value: scheduler is immutable unless the job is paused: " + wait},
	})
}

func TestEditsOfPyTorchTrainingJobsThatWaitForNothing(t *testing.T) {
	running := func(edits ...pytorchEdit) *v1beta1.PyTorchTrainingJob {
		return pytorchJob(append([]pytorchEdit{elastic(2, 4, 2)}, edits...)...)
	}
	tryFree(t, running, map[string]pytorchEdit{
		"more replicas":  pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.Elastic.ExpectedReplicas = ptr.To[int32](4) }),
		"the default":    pytorchSpec(func(s *v1beta1.PyTorchTrainingJobSpec) { s.Elastic.ExpectedReplicas = nil }),
		"a pause":        set[*v1beta1.PyTorchTrainingJob]("RunMode", &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}),
		"a shared limit": set[*v1beta1.PyTorchTrainingJob]("RunPolicy", &v1beta1.RunPolicy{BackoffLimit: ptr.To[int32](9)}),
	})
}

func TestTheRangeOfAnElasticJobNeverChanges(t *testing.T) {
	c := newClient(t)
	j := pytorchJob(elastic(2, 4, 2))
	j.Namespace = newNamespace(t, c)
	require.NoError(t, c.Create(t.Context(), j))
	for field, change := range map[string]func(*v1beta1.ElasticConfig){
		"minReplicas is immutable": func(e *v1beta1.ElasticConfig) { e.MinReplicas = ptr.To[int32](3); e.ExpectedReplicas = nil },
		"maxReplicas is immutable": func(e *v1beta1.ElasticConfig) { e.MaxReplicas = ptr.To[int32](5) },
	} {
		edited := j.DeepCopy()
		change(edited.Spec.Elastic)
		require.ErrorContains(t, c.Update(t.Context(), edited), field)
	}
}

// kubectl scale and a HorizontalPodAutoscaler write expectedReplicas, and meet the same rules.
func TestScaleOfAnElasticJob(t *testing.T) {
	c := newClient(t)
	j := pytorchJob(elastic(2, 4, 2))
	j.Namespace = newNamespace(t, c)
	require.NoError(t, c.Create(t.Context(), j))
	scale := &autoscalingv1.Scale{}
	require.NoError(t, c.SubResource("scale").Get(t.Context(), j, scale))
	require.EqualValues(t, 2, scale.Spec.Replicas)
	scale.Spec.Replicas = 5
	require.ErrorContains(t, c.SubResource("scale").Update(t.Context(), j, client.WithSubResourceBody(scale)), "expectedReplicas must be from minReplicas to maxReplicas")
	scale.Spec.Replicas = 4
	require.NoError(t, c.SubResource("scale").Update(t.Context(), j, client.WithSubResourceBody(scale)))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(j), j))
	require.EqualValues(t, 4, *j.Spec.Elastic.ExpectedReplicas)
}
