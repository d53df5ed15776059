package suite_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// TestInPlacePods has a real kubelet, and real admission, treat pods that restart in place as they treat others. It needs the local cluster, to
// which one of the tests adds a node.
func TestInPlacePods(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"a sandbox is killed":                           on(func(s *space) { sandboxIsKilled(s, "obey", 0, 1) }),
		"a sandbox is killed, and its code fails of it": on(func(s *space) { sandboxIsKilled(s, "obey 7", 1, 0) }),
		"a sandbox is killed, and restarts are alone":   on(sandboxIsKilledAlone),
		"a node reboots":                                rebootAmongInPlace,
		"a shell's child saves a checkpoint":            on(checkpointsAreComplete),
		"a quota counts requests and limits":            on(quotaHoldsNoMore),
		"a Guaranteed pod":                              on(guaranteedStaysSo),
		"a pod of root":                                 on(rootInPlace),
		"one of two types cannot":                       on(unlikeTypesMeet),
		"a shell's child fails twice, together":         on(func(s *space) { failsTwice(s, "Job", 0, 1, 2) }),
		"a shell's child fails twice, alone":            on(func(s *space) { failsTwice(s, "Replica", 1) }),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

// on runs a test in a space.
func on(test func(*space)) func(*testing.T) {
	return func(t *testing.T) { test(newSpace(t)) }
}

// strandedAfter is ten times what the operator takes at most for a pod whose sandbox has died: two minutes.
const strandedAfter = 20 * time.Minute

// killSandbox kills the pause process of a rank's pod, and waits until the kubelet has ended the code for that.
func (s *space) killSandbox(job *v1beta1.GenericJob, rank int) {
	s.t.Helper()
	name := fmt.Sprintf("worker-%d", rank)
	pod := s.pods(job)[name]
	pid := processOf(&pod, "/pause")
	require.NotZero(s.t, pid, "the pause process of %s", name)
	require.NoError(s.t, syscall.Kill(pid, syscall.SIGKILL))
	s.awaitStopped(pod)
}

// awaitReplaced waits until a rank has its second pod, which a pod without a sandbox gets after minutes.
func (s *space) awaitReplaced(job *v1beta1.GenericJob, rank int) {
	s.t.Helper()
	begun := time.Now()
	untilWithin(s.t, strandedAfter, fmt.Sprintf("rank %d of %s has a new pod", rank, job.Name), func() bool {
		return s.runs(job, "worker", rank) > 1
	})
	s.t.Logf("IN PLACE a pod without a sandbox is replaced after %s", time.Since(begun).Round(time.Second))
}

// sandboxIsKilled has rank 1 lose its sandbox. Its pod is replaced, and the others begin again in theirs. How its code ends decides what is
// counted: one that just goes has been disrupted.
func sandboxIsKilled(s *space, steps string, restarts, disruptions int) {
	job := s.submit("sandbox", `
restartScope: Job
restartStrategy: InPlace
backoffLimit: 5
replicaSpecs:
- {type: worker, replicas: 3, template: `+inPlace("print jobAttempt $(jobAttempt) then "+steps)+`}`)
	s.awaitCode(job, 0, upTo(3)...)
	before := s.identities(job)
	s.killSandbox(job, 1)
	s.awaitReplaced(job, 1)
	s.awaitCode(job, 1, upTo(3)...)
	s.finishRanks(job, restarts, disruptions, upTo(3)...)
	s.requireRuns(job, "worker", 1, 2, 1)
	after := s.identities(job)
	for _, name := range []string{"worker-0", "worker-2"} {
		require.Equal(s.t, before[name], after[name], name)
	}
}

// sandboxIsKilledAlone is that of a job whose replicas restart by themselves: the other one notices nothing.
func sandboxIsKilledAlone(s *space) {
	job := s.submit("sandbox", `
restartStrategy: InPlace
backoffLimit: 5
replicaSpecs:
- {type: worker, replicas: 2, template: `+inPlace("print attempt $(attempt) then obey")+`}`)
	s.awaitLog(job, "worker", 0, "attempt 0\n")
	s.awaitLog(job, "worker", 1, "attempt 0\n")
	s.killSandbox(job, 1)
	s.awaitReplaced(job, 1)
	s.awaitLog(job, "worker", 1, "attempt 1\n")
	s.requireAlone(job, 0, 1)
	s.requireRuns(job, "worker", 1, 2)
}

// requireAlone has both replicas of a job succeed that restart by themselves, and demands what was counted, and that replica 0 has run once.
func (s *space) requireAlone(job *v1beta1.GenericJob, restarts, disruptions int) {
	s.t.Helper()
	require.Equal(s.t, 1, strings.Count(s.logs(job, "worker", 0), "attempt "), "rank 0 runs on")
	s.end(job, "worker", 0, 0)
	s.end(job, "worker", 1, 0)
	done := s.awaitPhase(job.Name, v1beta1.JobSucceeded)
	require.EqualValues(s.t, restarts, done.Status.BackoffCount, "restarts")
	require.EqualValues(s.t, disruptions, done.Status.DisruptionCount, "disruptions")
	s.awaitReleased(job)
}

// rebootAmongInPlace reboots the node of half of the pods: its programs, its pods and its memory go at once, and it is back within seconds. Its
// kubelet calls these pods Running. They are replaced, and the others begin again in theirs. The id of the boot stays: all nodes share a kernel.
func rebootAmongInPlace(t *testing.T) {
	addNode(t)
	s := newSpace(t)
	const steps = "print jobAttempt $(jobAttempt) then obey"
	job := s.submit("reboot", `{restartScope: Job, restartStrategy: InPlace, replicaSpecs: [
		{type: near, replicas: 2, template: `+inPlace(steps)+`},
		{type: far, replicas: 2, template: `+strings.Replace(there(true, steps), `"args"`, `"command": ["/worker"], "args"`, 1)+`}]}`)
	run := func(jobAttempt int) {
		for _, kind := range []string{"near", "far"} {
			for rank := range 2 {
				s.awaitLog(job, kind, rank, fmt.Sprintf("jobAttempt %d\n", jobAttempt))
			}
		}
	}
	run(0)
	before := s.pods(job)
	require.Equal(t, []string{second, second}, []string{before["far-0"].Spec.NodeName, before["far-1"].Spec.NodeName})
	s.killOnNode("everything")
	s.startNode()
	untilWithin(t, strandedAfter, "both pods of the node are replaced", func() bool {
		return s.runs(job, "far", 0) > 1 && s.runs(job, "far", 1) > 1
	})
	run(1)
	for rank := range 2 {
		s.end(job, "near", rank, 0)
		s.end(job, "far", rank, 0)
	}
	done := s.awaitPhase("reboot", v1beta1.JobSucceeded)
	require.Zero(t, done.Status.BackoffCount)
	require.EqualValues(t, 1, done.Status.DisruptionCount)
	require.EqualValues(t, 1, done.Status.InPlace.StartedJobAttempt)
	s.requireRuns(job, "near", 1, 1)
	s.requireRuns(job, "far", 2, 2)
	s.awaitReleased(job)
}

// shell is a pod template whose command is a shell that runs these steps.
func shell(steps string) string {
	return strings.Replace(pod(""), `"args": []`, fmt.Sprintf(`"command": ["/worker", "-c"], "args": [%q]`, steps), 1)
}

// inContainer and inPod are a template with further fields, in JSON.
func inContainer(template, fields string) string {
	return strings.Replace(template, `"command":`, fields+`, "command":`, 1)
}

func inPod(template, fields string) string {
	return strings.Replace(template, `"containers":`, fields+`, "containers":`, 1)
}

// failsTwice has code fail, and again as soon as it runs, in a child of its shell. The operator counts each failure once, also when the wrapper holds
// no end any more.
func failsTwice(s *space, scope string, again ...int) {
	job := s.submit("twice", `
restartScope: `+scope+`
restartStrategy: InPlace
backoffLimit: 5
replicaSpecs:
- {type: worker, replicas: `+fmt.Sprint(max(2, len(again)))+`, template: `+shell("print attempt $(attempt) then run slip 1 4 1 then run obey")+`}`)
	ranks := upTo(max(2, len(again)))
	for _, rank := range ranks {
		s.awaitLog(job, "worker", rank, "attempt 0\n")
	}
	before := s.identities(job)
	s.end(job, "worker", 1, 3)
	for _, rank := range again {
		s.awaitLog(job, "worker", rank, "attempt 2\n")
	}
	time.Sleep(inplace.Hold + 5*time.Second)
	for _, rank := range again {
		require.NotContains(s.t, s.logs(job, "worker", rank), "attempt 3", "rank %d", rank)
	}
	if scope == "Job" {
		s.finishRanks(job, 2, 0, ranks...)
	} else {
		s.requireAlone(job, 2, 0)
	}
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// onceInPlace submits a job of two ranks, has rank 1 fail once, and demands that both begin again in their pods. Before, it looks at these.
func (s *space) onceInPlace(template string, look func(pod corev1.Pod)) {
	s.t.Helper()
	job := s.submit("once", `
restartScope: Job
restartStrategy: InPlace
backoffLimit: 3
replicaSpecs:
- {type: worker, replicas: 2, template: `+template+`}`)
	s.awaitCode(job, 0, upTo(2)...)
	before := s.identities(job)
	for _, pod := range s.pods(job) {
		require.NotEmpty(s.t, pod.Spec.InitContainers, "the installer of %s", pod.Name)
		look(pod)
	}
	s.end(job, "worker", 1, 3)
	s.awaitCode(job, 1, upTo(2)...)
	s.finishRanks(job, 1, 0, upTo(2)...)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
}

// quotaHoldsNoMore leaves room for the containers of the template alone: a quota of these kinds refuses pods of which any container says nothing.
func quotaHoldsNoMore(s *space) {
	hard := corev1.ResourceList{
		corev1.ResourceRequestsCPU: resource.MustParse("40m"), corev1.ResourceLimitsCPU: resource.MustParse("1"),
		corev1.ResourceRequestsMemory: resource.MustParse("64Mi"), corev1.ResourceLimitsMemory: resource.MustParse("256Mi"),
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "exact"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	require.NoError(s.t, s.Create(s.ctx, quota))
	s.until("the quota is in force", func() bool {
		require.NoError(s.t, s.Get(s.ctx, keyOf(quota), quota))
		return len(quota.Status.Hard) > 0
	})
	template := inContainer(inPlace("print jobAttempt $(jobAttempt) then obey"),
		`"resources": {"requests": {"cpu": "20m", "memory": "32Mi"}, "limits": {"cpu": "500m", "memory": "128Mi"}}`)
	s.onceInPlace(template, func(corev1.Pod) {
		require.NoError(s.t, s.Get(s.ctx, keyOf(quota), quota))
		for kind, most := range hard {
			used := quota.Status.Used[kind]
			require.Zero(s.t, used.Cmp(most), "%s: %s is used of %s", kind, used.String(), most.String())
		}
	})
}

// guaranteedStaysSo has a pod whose container asks for no more and no less than its limits.
func guaranteedStaysSo(s *space) {
	template := inContainer(inPlace("print jobAttempt $(jobAttempt) then obey"), `"resources": {"limits": {"cpu": "200m", "memory": "128Mi"}}`)
	s.onceInPlace(template, func(pod corev1.Pod) { require.Equal(s.t, corev1.PodQOSGuaranteed, pod.Status.QOSClass) })
}

// rootInPlace has a pod whose securityContext makes its containers root's.
func rootInPlace(s *space) {
	template := inPod(inPlace("where then print jobAttempt $(jobAttempt) then obey"), `"securityContext": {"runAsUser": 0}`)
	s.onceInPlace(template, func(pod corev1.Pod) {
		text, err := s.kubectl("logs", pod.Name)
		require.NoError(s.t, err, text)
		require.Contains(s.t, text, "user 0 group")
	})
}
