package verbs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

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
