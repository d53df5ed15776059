package why_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

func family(job *v1beta1.GenericJob) *jobs.Family {
	return jobs.NewFamily(jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), job, job, nil)
}

// running returns a job of two workers that runs, with another spec than it began with.
func running(edit func(*v1beta1.GenericJobSpec)) *v1beta1.GenericJob {
	s := kt.NewStory(kt.Job(kt.Type("worker", 2))).Kubelet(time.Second).Then(3*time.Second, "time passes", func() {})
	s.Cluster.Job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = []string{"python", "train.py"}
	edit(&s.Cluster.Job.Spec)
	return s.Cluster.Job
}

// counted returns how often each sentence stands in a list.
func counted(list []string) map[string]int {
	out := map[string]int{}
	for _, text := range list {
		out[text]++
	}
	return out
}

const (
	oneByOne  = "failurePolicy.noProgress is set, but replicas restart one by one, so that nobody knows how far the others have come: set restartScope to Job, or remove noProgress"
	noSteps   = "failurePolicy.noProgress is set, but nobody reads steps that can be compared: set progress.stdout to an expression with a group named step"
	nowhere   = "failurePolicy.rules[0].elsewhere is true, but the job avoids no nodes: set avoidNodes, as in {}, or remove elsewhere"
	byDefault = ". Where the operator has --avoid-nodes, that does for jobs without avoidNodes"
)

func TestWhatIsIgnoredIsToldFromTheJobItself(t *testing.T) {
	elsewhere := []v1beta1.FailurePolicyRule{{Match: v1beta1.FailureMatch{ExitCodes: []int32{3}}, Action: v1beta1.FailureActionRestart, Elsewhere: true}}
	job := running(func(s *v1beta1.GenericJobSpec) {
		s.Progress = &v1beta1.ProgressFormat{Stdout: "step (?P<step>[0-9]+)"}
		s.FailurePolicy = &v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: 3}, Rules: elsewhere}
		s.ReplicaSpecs[0].Template.Spec.Hostname = "mine"
	})
	f := family(job)
	require.Equal(t, v1beta1.JobRunning, job.Status.Phase, "it is not new")
	told := counted(why.Of(f, kt.At(time.Hour)).Ignored)
	require.Len(t, told, 3)
	require.Equal(t, 1, told["spec."+oneByOne])
	require.Equal(t, 1, told["spec."+nowhere+byDefault])
	require.Contains(t, why.Of(f, kt.At(time.Hour)).Text(), "\nIgnored: spec."+oneByOne+".")
	require.Contains(t, why.Of(f, kt.At(time.Hour)).Text(), `Ignored: spec.replicaSpecs[worker].template.spec.hostname is "mine"`)

	job.Status.NodeFailures = []v1beta1.NodeFailures{{Node: "a"}}
	require.NotContains(t, why.Ignored(f, kt.At(time.Hour)), "spec."+nowhere+byDefault, "the operator has that default: it counts")
	job.Spec.RestartScope, job.Spec.FailurePolicy.Rules, job.Spec.ReplicaSpecs[0].Template.Spec.Hostname = v1beta1.RestartScopeJob, nil, ""
	require.Empty(t, why.Ignored(f, kt.At(time.Hour)))
	job.Spec.Progress = &v1beta1.ProgressFormat{Preset: v1beta1.PresetKeras}
	require.Equal(t, []string{"spec." + noSteps}, why.Ignored(f, kt.At(time.Hour)))
	job.Spec.Progress = &v1beta1.ProgressFormat{Stdout: "loss (?P<loss>[0-9.]+)"}
	require.Equal(t, []string{"spec." + noSteps}, why.Ignored(f, kt.At(time.Hour)))
}

func TestWhatIsIgnoredOfATrainingJob(t *testing.T) {
	job := &v1beta1.PyTorchTrainingJob{}
	require.NoError(t, yaml.Unmarshal([]byte(`{metadata: {name: mnist, namespace: ns}, spec: {runPolicy: {restartScope: Replica, progress: {stdout: 'step (?P<step>[0-9]+)'},
failurePolicy: {noProgress: {rounds: 3}, rules: [{match: {exitCodes: [3]}, action: Restart, elsewhere: true}]}},
replicaSpecs: [{type: master, template: {spec: {containers: [{name: main, image: i, command: [python]}]}}}, {type: worker, replicas: 2, template: {spec: {hostname: mine, containers: [{name: main, image: i, command: [python]}]}}}]}}`), job))
	kind := jobs.ByKind(v1beta1.GroupVersion.WithKind("PyTorchTrainingJob"))
	told := counted(why.Ignored(jobs.NewFamily(kind, job, nil, nil), kt.Start))
	require.Len(t, told, 3, "with the host name")
	require.Equal(t, 1, told["spec.runPolicy."+oneByOne])
	require.Equal(t, 1, told["spec.runPolicy."+nowhere+byDefault])
}

func TestANodeThatIsNotAvoidedIsTold(t *testing.T) {
	job := running(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = &v1beta1.AvoidNodes{} })
	job.Status.NodeFailures = []v1beta1.NodeFailures{{Node: "local", Times: []metav1.Time{{Time: kt.Start}, {Time: kt.At(time.Hour)}}}, {Node: "once", Times: []metav1.Time{{Time: kt.Start}}}}
	f := family(job)
	require.Contains(t, why.Of(f, kt.At(2*time.Hour)).Why, " Node local had 2 failures and is not avoided: no other node would be left.")
	require.NotContains(t, why.Of(f, kt.At(2*time.Hour)).Why, "once")
	require.NotContains(t, why.Of(f, kt.At(24*time.Hour)).Why, "local", "the first does not count any more")
	job.Status.AvoidedNodes = []v1beta1.AvoidedNode{{Node: "other", Reason: v1beta1.AvoidFailed, Message: "failed"}}
	require.Contains(t, why.Of(f, kt.At(2*time.Hour)).Why, "Node local had 2 failures and is not avoided: the job avoids node other already, and avoidNodes.atMost is 1.")
	job.Status.AvoidedNodes[0].Node = "local"
	require.NotContains(t, why.Of(f, kt.At(2*time.Hour)).Why, "is not avoided")

	job.Spec.AvoidNodes, job.Status.AvoidedNodes = nil, nil
	require.NotContains(t, why.Of(f, kt.At(2*time.Hour)).Why, "local", "what the operator asks for is not known")
	f.NotAvoided = []corev1.Event{{Message: "New pods do not avoid node local, which had 2 failures: no other node would be left."}, {Message: "New pods do not avoid node locality, which had 9 failures."}}
	require.Contains(t, why.Of(f, kt.At(2*time.Hour)).Why, "New pods do not avoid node local, which had 2 failures: no other node would be left.")
	require.NotContains(t, why.Of(f, kt.At(2*time.Hour)).Why, "locality")
}

func TestAnEditThatCannotRunBlocksRestarts(t *testing.T) {
	const wrong = `spec.failurePolicy.rules[0].match.types: "wrker": no replica spec has this type: want one of [worker].`
	typo := v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{{Match: v1beta1.FailureMatch{Types: []string{"wrker"}}, Action: v1beta1.FailureActionFail}}}
	job := running(func(s *v1beta1.GenericJobSpec) { s.FailurePolicy = &typo })
	f := family(job)
	require.Contains(t, why.Of(f, kt.At(time.Hour)).Why, "The spec cannot run as it is now: "+wrong+" No replica is restarted, and no pod is made, until that is corrected.")
	s := kt.NewStory(kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 3)))).Kubelet(time.Second).Edit(time.Second, "misspells a type", func(job *v1beta1.GenericJob) { job.Spec.FailurePolicy = &typo })
	s.Exit(time.Minute, "worker", 1, 1)
	answer := why.Of(family(s.Then(3*time.Second, "time passes", func() {}).Cluster.Job), kt.At(time.Hour))
	require.Equal(t, v1beta1.ReasonInvalidSpec, answer.Reason)
	require.Equal(t, wrong+" No replica is restarted, and no pod is made, until that is corrected.", answer.Why)

	_, err := why.Remarks(f, typo)
	require.EqualError(t, err, `rules[0].match.types: "wrker": no replica spec has this type: want one of [worker]`)
}

func TestRulesAreTriedWithTheRestartsThatAreLeft(t *testing.T) {
	policy, err := why.ReadRules([]byte("rules: [{match: {exitCodes: [3]}, action: Restart}]"))
	require.NoError(t, err)
	for limit, does := range map[int32]string{
		0: "rule 1 would restart it, which counts, but no restart is left now (0 of 0, unless you raise restartPolicy.limit of type worker): it fails for good",
		1: "rule 1 restarts it, which counts",
	} {
		job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, limit)))
		job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: spec.PodName(job, "worker", 1), ExitCode: new(int32(3))}}
		require.Equal(t, does, why.Judge(family(job), policy)[0].Does)
	}
	job := kt.Job(kt.Type("worker", 2), kt.BackoffLimit(2))
	job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: spec.PodName(job, "worker", 1), ExitCode: new(int32(3))}}
	job.Status.BackoffCount = 2
	require.Contains(t, why.Judge(family(job), policy)[0].Does, "no restart is left now (0 of 2, unless you raise backoffLimit)")
}

func TestRulesOfAWholeManifest(t *testing.T) {
	const rule = "{rules: [{match: {exitCodes: [3]}, action: Fail}]}"
	for text, problem := range map[string]string{
		"apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nspec: {replicaSpecs: [], failurePolicy: " + rule + "}": "",
		"kind: ConfigMap\ndata: {}\n---\nkind: PyTorchTrainingJob\nspec: {runPolicy: {failurePolicy: " + rule + "}}":         "",
		"kind: GenericJob\nspec: {replicaSpecs: []}": "the manifest has no failurePolicy",
		"kind: GenericJob\nspec: {failurePolicy: " + rule + "}\n---\nkind: GenericJob\nspec: {failurePolicy: " + rule + "}": "the file has 2 failurePolicies",
		"kind: GenericJob\nspec: {failurePolicy: {ruls: []}}":                                                               `unknown field "ruls"`,
		"noProgress: {rounds: 3}": "",
		"noProgress: {rounds: 1}": "noProgress.rounds is 1: want a number from 2 to 100",
		"{}":                      "rules is empty",
	} {
		policy, err := why.ReadRules([]byte(text))
		if problem != "" {
			require.ErrorContains(t, err, problem, text)
			continue
		}
		require.NoError(t, err, text)
		require.True(t, len(policy.Rules) == 1 || policy.NoProgress != nil, text)
	}
}

func TestNoProgressIsTriedOnThePresentSeriesAlone(t *testing.T) {
	rounds := func(n int32) v1beta1.FailurePolicy {
		return v1beta1.FailurePolicy{NoProgress: &v1beta1.NoProgress{Rounds: n}}
	}
	job := kt.Job(kt.Type("worker", 2))
	says := func(n int32) string {
		list, err := why.Remarks(family(job), rounds(n))
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0]
	}
	require.Contains(t, says(3), "Ignored: noProgress is set, but nobody reads steps")
	job.Spec.Progress, job.Spec.RestartScope = &v1beta1.ProgressFormat{Stdout: "step (?P<step>[0-9]+)"}, v1beta1.RestartScopeJob
	require.Contains(t, says(3), "noProgress is not tried")
	job.Status.NoProgress = &v1beta1.NoProgressStatus{Rounds: 2}
	require.Contains(t, says(3), "noProgress does not fail the job yet: 2 failures in a row")
	require.Contains(t, says(2), "noProgress fails the job: 2 failures in a row had one cause and no newer step, and rounds is 2.")
}
