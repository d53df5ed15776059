package verbs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/spec"
)

func TestEveryVerbHasExamplesOfItselfAndIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("cmd/kubectl-gj/README.md")
	require.NoError(t, err)
	for _, c := range verbs.New(genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		require.NotEmpty(t, c.Short)
		require.NotEmpty(t, c.Example, c.Name())
		require.Regexp(t, "(?m)^\\|.*`"+c.Name()+"\\b", string(page), "the table of verbs")
		for line := range strings.Lines(c.Example) {
			require.Contains(t, line, "kubectl gj "+c.Name(), "an example of another verb")
		}
		c.VisitParents(func(p *cobra.Command) { require.NotEmpty(t, p.Example) })
	}
}

func TestTheHelpHasTheExitCodesOfThePage(t *testing.T) {
	page, err := os.ReadFile("cmd/kubectl-gj/README.md")
	require.NoError(t, err)
	codes := func(row, text string) (list []string) {
		for _, m := range regexp.MustCompile(row).FindAllStringSubmatch(text, -1) {
			list = append(list, m[1])
		}
		return list
	}
	onPage := codes(`(?m)^\| (\d+) \|`, string(page))
	require.Contains(t, onPage, "130")
	require.Equal(t, onPage, codes(`(?m)^  (\d+) `, verbs.New(genericiooptions.NewTestIOStreamsDiscard()).Long))
}

func TestMistakesOfTheCommandLine(t *testing.T) {
	s := newSpace(t)
	for _, line := range []string{
		"nothing", "tree", "tree a b", "tree a/b/c", "tree job/a", "tree a --nothing", "tree a -o xml", "tree a -w -o json", "why", "top a -A",
		"logs", "logs a --first-failure -f", "logs a -c b --all-containers", "pause", "resume", "debug", "debug a b", "debug a --off --shell worker-0",
		"scale a", "scale a b", "scale a 0", "scale a =3", "wait a --for=nothing", "translate", "translate -f /absent", "translate x", "report", "report a -o json", "list -o xml",
		"sync", "sync a", "sync a b", "sync a .:app", "sync a .:/", "sync a .:/app b", "sync a .:/app --exclude=[", "restart", "restart a b", "restart a --grace=-1s",
	} {
		_, problem, code := s.types(strings.Fields(line)...)
		require.Equal(t, 2, code, "%s: %s", line, problem)
	}
	for _, line := range []string{"tree", "why", "logs", "pause", "resume", "debug", "wait", "top", "report", "restart"} {
		_, problem, code := s.types(line, "absent")
		require.Equal(t, 4, code, line)
		require.Contains(t, problem, `has no job "absent"`)
	}
}

func TestTree(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("hello", phase(v1beta1.JobRunning))
	s.pod(job, 0, "node-a", running())
	out := s.sees("tree", "hello")
	require.Regexp(t, `(?m)^GenericJob/hello +Running +0$`, out)
	require.Regexp(t, `(?m)^├─ Pod/hello-\w+-worker-0 +Running +node-a +0$`, out)
	require.Regexp(t, `(?m)^└─ Pod/hello-\w+-worker-1 +Creating +0$`, out)
	var tree struct {
		Branches []struct{ Replica, Phase string }
	}
	require.NoError(t, json.Unmarshal([]byte(s.sees("tree", "gj/hello", "-o", "json")), &tree))
	require.Len(t, tree.Branches, 2)
	require.Contains(t, s.sees("tree", "gj/hello", "-o", "yaml"), "replica: worker-0\n")
}

func TestTreeGoesOnUntilTheJobIsOver(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("watched", phase(v1beta1.JobPending))
	done := make(chan string)
	go func() { done <- s.sees("tree", "watched", "-w") }()
	s.pod(job, 0, "node-a", running())
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	out := <-done
	frames := strings.Split(out, "\n\n")
	require.Regexp(t, `GenericJob/watched +Succeeded`, frames[len(frames)-1])
	require.Regexp(t, `worker-0 +Running +node-a`, frames[len(frames)-1])
}

func TestATrainingJobIsFoundByItsNameOrItsGenericJobs(t *testing.T) {
	s := newSpace(t)
	for _, kind := range []string{"pj", "tj", "tfjob", "pytorchjob"} {
		owner := s.create(kind, kind+"-x", specs[kind])
		gvk, err := s.GroupVersionKindFor(owner)
		require.NoError(t, err)
		made := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: owner.GetName(), Namespace: s.ns, Annotations: map[string]string{v1beta1.AnnotationCompiledGeneration: "1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, gvk)}}}
		made.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "i"}}}}}}
		require.NoError(t, s.Create(t.Context(), made))
		for _, name := range []string{kind + "-x", kind + "/" + kind + "-x", "gj/" + kind + "-x", strings.ToUpper(gvk.Kind) + "s." + gvk.Group + "/" + kind + "-x"} {
			out := s.sees("tree", strings.ToLower(name))
			require.Contains(t, out, "\n"+gvk.Kind+"/"+kind+"-x ", name)
			require.Contains(t, out, "\n└─ GenericJob/"+kind+"-x ", name)
		}
	}
	s.create("pj", "twice", specs["pj"])
	s.create("gj", "twice", specs["gj"])
	_, problem, code := s.types("why", "twice")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "say pj/twice or gj/twice")
	require.Contains(t, s.sees("why", "gj/twice"), "GenericJob/twice: ")
	// A shell is not kept waiting for a cluster that takes its time: it is told what is known by then.
	for _, name := range []string{"pj-x\tPyTorchTrainingJob", "tfjob-x\tTFJob", "twice\tGenericJob"} {
		until(t, name+" is offered", func() bool {
			all := s.sees("__complete", "tree", "")
			require.NotContains(t, all, "pj-x\tGenericJob")
			return strings.Contains(all, name+"\n")
		})
	}
	until(t, "gj/twice is offered", func() bool { return strings.Contains(s.sees("__complete", "wait", "gj/tw"), "gj/twice\n") })
}

func TestWhy(t *testing.T) {
	s := newSpace(t)
	s.genericJob("stuck", func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobPending
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionBlocked, "True", "CreateFailed", "exceeded quota. Free what is short.")}
	})
	require.Equal(t, "GenericJob/stuck: Pending. exceeded quota. Free what is short.\n", s.sees("why", "stuck"))
	require.Contains(t, s.sees("why", "stuck", "-o", "json"), `"reason": "CreateFailed"`)
}

func TestPauseAndResume(t *testing.T) {
	s := newSpace(t)
	for kind, spec := range specs {
		job := s.create(kind, "paused-"+kind, spec)
		for _, step := range []struct {
			verb string
			want bool
		}{{"pause", true}, {"resume", false}} {
			s.sees(step.verb, kind+"/paused-"+kind)
			require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
			require.Equal(t, step.want, pauses(t, job), "%s %s", step.verb, kind)
		}
	}
	older := s.create("gj", "older", `{runMode: {pause: {enable: true}}, replicaSpecs: [{type: worker, template: T}]}`)
	s.sees("resume", "older")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(older), older))
	require.False(t, pauses(t, older), "the older spelling")

	s.genericJob("over", phase(v1beta1.JobSucceeded))
	_, problem, code := s.types("pause", "over")
	require.Equal(t, 1, code)
	require.Contains(t, problem, "GenericJob/over is over")
}

// pauses reports whether a job's spec asks for a pause, in the way of its kind.
func pauses(t *testing.T, job client.Object) bool {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	require.NoError(t, err)
	text, err := json.Marshal(raw["spec"])
	require.NoError(t, err)
	return strings.Contains(string(text), `"suspend":true`) || strings.Contains(string(text), `"pause":{"enabled":true`) || strings.Contains(string(text), `"enable":true`)
}

func TestScale(t *testing.T) {
	s := newSpace(t)
	for kind, spec := range specs {
		s.create(kind, "scaled", spec)
		s.sees("scale", kind+"/scaled", "worker=3")
	}
	text := func(kind string) string { return s.sees("translate", "-f", s.stored(kind, "scaled"), "--all") }
	for kind := range specs {
		require.Contains(t, text(kind), "-worker-2 ", kind)
		require.NotContains(t, text(kind), "-worker-3 ", kind)
	}
	s.create("gj", "whole", `{replicas: 2, replicaSpecs: [{type: worker, template: T}]}`)
	s.sees("scale", "whole", "4")
	require.Contains(t, s.sees("translate", "-f", s.stored("gj", "whole"), "--all"), "-worker-3 ")
	s.create("pj", "elastic", `{torchrunConfig: {enabled: true}, elastic: {enabled: true, minReplicas: 1, maxReplicas: 4},
		replicaSpecs: [{type: node, template: {spec: {containers: [{name: python, image: i, args: [train.py]}]}}}]}`)
	s.sees("scale", "elastic", "4")
	require.Contains(t, s.sees("translate", "-f", s.stored("pj", "elastic"), "--all"), "-node-3 ")

	for line, want := range map[string]struct {
		code  int
		words string
	}{
		"scale pj/scaled 3":           {2, "has the types master, worker: say which, as in worker=3"},
		"scale pj/scaled ps=3":        {2, `has no replica type "ps"`},
		"scale elastic node=3":        {2, "its types share its replicas"},
		"scale elastic 5":             {4, "expectedReplicas must be from minReplicas to maxReplicas"},
		"scale pytorchjob/scaled 5":   {4, "replicas of Worker must be from"},
		"scale gj/scaled worker=9999": {0, ""},
	} {
		_, problem, code := s.types(strings.Fields(line)...)
		require.Equal(t, want.code, code, "%s: %s", line, problem)
		require.Contains(t, problem, want.words)
	}
}

// stored returns a file with a job as it is stored.
func (s *space) stored(kind, name string) string {
	s.t.Helper()
	known := kindOf(s.t, kind)
	job := known.New()
	require.NoError(s.t, s.Get(s.t.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, job))
	job.GetObjectKind().SetGroupVersionKind(known.GroupVersionKind)
	raw, err := json.Marshal(job)
	require.NoError(s.t, err)
	file := filepath.Join(s.t.TempDir(), "job.yaml")
	require.NoError(s.t, os.WriteFile(file, raw, 0o600))
	return file
}

func TestWait(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("awaited", phase(v1beta1.JobPending))
	done := make(chan int)
	go func() {
		_, _, code := s.types("wait", "awaited")
		done <- code
	}()
	s.timesOut("GenericJob/awaited: Pending.", "wait", "awaited")
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobRunning
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionRunning, "True", "-", "all run")}
	})
	s.sees("wait", "awaited", "--for=running")
	s.sees("scale", "awaited", "3")
	_, _, code := s.types("wait", "awaited", "--for=running", "--timeout=1s")
	require.Equal(t, 3, code, "a status of before the edit is no answer")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	s.setStatus(job, phase(v1beta1.JobSucceeded))
	require.Zero(t, <-done)
	_, _, code = s.types("wait", "awaited", "--for=paused")
	require.Equal(t, 1, code, "it never will be")

	s.genericJob("failed", func(job *v1beta1.GenericJob) {
		job.Status.Phase = v1beta1.JobFailed
		job.Status.Conditions = []v1beta1.JobCondition{condition(v1beta1.ConditionFailed, "True", "DeadlineExceeded", "too long")}
	})
	out, problem, code := s.types("wait", "failed", "-o", "json")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"reason": "DeadlineExceeded"`)
	require.Contains(t, problem, "too long.")
}

func TestTop(t *testing.T) {
	s := newSpace(t)
	require.Equal(t, "[]", strings.TrimSpace(s.sees("top", "-o", "json")))
	_, problem, code := s.types("top")
	require.Zero(t, code)
	require.Contains(t, problem, "No replica has been started again.")
	for name, n := range map[string]int32{"calm": 0, "shaky": 2, "worse": 5} {
		s.genericJob(name, func(job *v1beta1.GenericJob) {
			job.Status.Phase, job.Status.BackoffCount = v1beta1.JobRunning, n
			if n > 0 {
				job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 1, Attempt: n + 1, Restarts: n}}}}
			}
			job.Status.Failures = []v1beta1.ReplicaFailure{{Pod: name + "-worker-1", Reason: "OOMKilled", Time: &metav1.Time{Time: time.Now()}}}
		})
	}
	lines := strings.Split(s.sees("top"), "\n")
	require.Regexp(t, `^gj/worse +5 +0 +0 +worker-1 \(6\) +OOMKilled +`, lines[1])
	require.Regexp(t, `^gj/shaky +2 `, lines[2])
	require.Empty(t, lines[3])
	require.Regexp(t, `\nworker-1 +5 +0 +1 +OOMKilled +`, s.sees("top", "worse"))
	require.Contains(t, s.sees("top", "-A"), s.ns)
	require.Contains(t, s.sees("top", "-o", "yaml"), "restarts: 5\n")
	s.setStatus(s.genericJob("excepted", phase(v1beta1.JobRunning)), func(job *v1beta1.GenericJob) {
		job.Status.ExceptedCount = 2
		job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue, Message: "All run."}}
	})
	require.Regexp(t, `\ngj/excepted +0 +0 +2 `, s.sees("top"), "its rules count nothing, and it was started again")
	require.Contains(t, s.sees("why", "excepted"), "It had 0 counted restarts and 0 disruptions, and 2 restarts excepted by rules.")
}

// Rules are tried on what has failed, before they are given to a job.
func TestWhyWithRules(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("failed", phase(v1beta1.JobFailed))
	pod := func(rank int) string { return spec.PodName(job, "worker", rank) }
	code := int32(1)
	s.setStatus(job, func(job *v1beta1.GenericJob) {
		job.Status.Failures = []v1beta1.ReplicaFailure{
			{Pod: pod(0), ExitCode: new(int32(17)), Cause: &v1beta1.Cause{Kind: v1beta1.CauseUnknown, Role: v1beta1.CauseRoot}},
			{Pod: pod(1), ExitCode: &code, Exception: "RuntimeError: CUDA out of memory", Cause: &v1beta1.Cause{Kind: v1beta1.CauseDeviceOutOfMemory, Role: v1beta1.CauseRoot}},
			{Pod: pod(1), ExitCode: &code, Follows: "a peer closed its connection", Cause: &v1beta1.Cause{Kind: v1beta1.CauseNetwork, Role: v1beta1.CauseCascade}},
			{Pod: pod(1), ExitCode: new(int32(3))},
			{Pod: pod(1), ExitCode: new(int32(4))},
		}
	})
	file := filepath.Join(t.TempDir(), "rules.yaml")
	rules := `rules:
- match: {exitCodes: [17], types: [worker]}
  action: Fail
- name: memory
  match: {causes: [DeviceOutOfMemory, Network]}
  action: Restart
  counts: false
- {match: {exitCodes: [4]}, action: Restart, elsewhere: true}
`
	require.NoError(t, os.WriteFile(file, []byte(rules), 0o600))
	require.Equal(t, fmt.Sprintf(`Pod[%s]: exit code 17 [Unknown]: rule 1 fails the job
Pod[%s]: exit code 1, "RuntimeError: CUDA out of memory" [DeviceOutOfMemory]: rule "memory" restarts it, which does not count
`, pod(0), pod(1)), strings.Join(strings.SplitAfter(s.sees("why", "failed", "--rules", file), "\n")[:2], ""))
	rest := s.sees("why", "failed", "--rules", file)
	require.Contains(t, rest, "no rule matches, for it follows from another's end")
	require.Contains(t, rest, "exit code 3: no rule matches: restartPolicy and the limits decide")
	require.Contains(t, rest, "exit code 4: rule 3 would restart it elsewhere, which counts, but no restart is left now (0 of 0): it fails for good")
	require.Contains(t, rest, "\nIgnored: failurePolicy.rules[2].elsewhere is true, but the job avoids no nodes")
	require.Contains(t, s.sees("why", "failed", "--rules", file, "-o", "json"), `"rule": "memory"`)
	s.genericJob("fine", phase(v1beta1.JobRunning))
	require.Equal(t, "[]", strings.TrimSpace(s.sees("why", "fine", "--rules", file, "-o", "json")))
	require.Contains(t, s.sees("why", "fine", "--rules", file), "The status of GenericJob/fine knows no failure.\n")
	require.Equal(t, kernel.DefaultsText(), s.sees("why", "--rules", "defaults"))
	require.Contains(t, s.sees("why", "--rules", "defaults", "-o", "json"), `"restartPolicy": "Never"`)
	_, told, exits := s.types("why", "failed", "--rules", "defaults")
	require.Equal(t, 2, exits)
	require.Contains(t, told, "want no NAME beside --rules defaults")
	for text, problem := range map[string]string{
		"rules: [{match: {types: [wrker]}, action: Fail}]": `rules[0].match.types: "wrker": no replica spec has this type: want one of [worker]`,
		"rules: []": "rules is empty", "rule: []": "want `rules:`", "rules: [{match: {}, action: Fail}]": "match names nothing",
		"rules: [{match: {exitCodes: [1]}, action: Ignore}]":                `action is "Ignore": want Fail or Restart`,
		"rules: [{match: {causes: [Gremlins]}, action: Fail}]":              "Gremlins",
		"failurePolicy: {rules: [{match: {messages: 'x('}, action: Fail}]}": "messages",
		"failurePolicy: {rules: [{match: {messages: x}, acton: Fail}]}":     `unknown field "acton"`,
		"rules: [{match: {exitCodes: [0]}, action: Fail}]":                  "exitCodes has 0: want codes from 1 to 255",
		"rules: [{match: {exitCodes: [1]}, action: Fail, counts: false}]":   "counts is about a restart",
		"rules: [{match: {exitCodes: [1]}, action: Fail, elsewhere: true}]": "elsewhere is about a restart",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, told, code := s.types("why", "failed", "--rules", file)
		require.Equal(t, 2, code, text)
		require.Contains(t, told, problem)
	}
}
