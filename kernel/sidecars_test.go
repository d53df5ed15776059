package kernel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// runsIn adds a container that still runs to a pod.
func runsIn(name string) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
}

// exitedIn adds a container that has exited to a pod, which ends as the kubelet says.
func exitedIn(name string, code int32) kt.PodOption {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(kt.Start)}},
		})
		if code != 0 && p.Status.Phase == corev1.PodSucceeded {
			p.Status.Phase = corev1.PodFailed
		}
	}
}

// drains has the pod's code ended and a native sidecar draining.
func drains(code int32, at time.Time) kt.PodOption {
	return func(p *corev1.Pod) {
		kt.ExitedAt(code, at)(p)
		p.Status.Phase = corev1.PodRunning
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	}
}

// helper gives the template a second container, and names the first as the one that matters.
func helper(main string) func(*v1beta1.ReplicaSpec) {
	return kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "helper"})
		if main != "" {
			p.Annotations = map[string]string{"kubectl.kubernetes.io/default-container": main}
		}
	})
}

func TestTheKubeletSaysFirstWhyCodeHasExitedAsIfItWasToldToGo(t *testing.T) {
	for _, code := range []int32{137, 143} {
		job := kt.Job(kt.Type("worker", 1), kt.Begun)
		pod := kt.Pod(job, "worker", 0, kt.Exited(code), runsIn("istio-proxy"))
		d := plan(t, job, kt.Start, pod)
		require.Equal(t, v1beta1.JobRunning, d.Status.Phase, "it may be evicting the pod")
		require.Equal(t, []string{"EndPod worker-0"}, did(d))

		pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](1)
		require.Empty(t, did(plan(t, after(job, d), kt.Start, pod)), "once is enough")
		pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "DeadlineExceeded"
		require.Equal(t, v1beta1.JobFailed, plan(t, after(job, d), kt.Start, pod).Status.Phase, "it was the code's own failure")

		kt.Disrupted(pod)
		pod.Status.Reason = "Evicted"
		d = plan(t, after(job, d), kt.Start, pod)
		require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
		require.EqualValues(t, 1, d.Status.DisruptionCount)
	}
}

func TestASecondPodOfAFinishedReplicaIsStoppedThoughItsSidecarRuns(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2), kt.Begun)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "0"}}
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Running, runsIn("istio-proxy")), kt.Pod(job, "worker", 1, kt.Running))
	require.Equal(t, []string{"StopPod worker-0"}, did(d))
}

func TestASuccessIsSafeWhileANativeSidecarDrains(t *testing.T) {
	never := kt.Policy(v1beta1.RestartNever, -1)
	asked := kt.At(time.Minute)
	tests := map[string]struct {
		job kt.JobOption
		pod kt.PodOption
	}{
		"alone":                    {func(*v1beta1.GenericJob) {}, func(*corev1.Pod) {}},
		"and a drain deletes it":   {func(*v1beta1.GenericJob) {}, kt.Deleted(asked, 30*time.Second)},
		"and the job is paused":    {kt.PauseNow(true), func(*corev1.Pod) {}},
		"and its proxy is evicted": {func(*v1beta1.GenericJob) {}, kt.Disrupted},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, policy := range []func(*v1beta1.ReplicaSpec){never, kt.Policy(v1beta1.RestartOnFailure, 3)} {
				job := kt.Job(kt.Type("worker", 2, policy), kt.Begun)
				tc.job(job)
				d := plan(t, job, asked.Add(time.Second), kt.Pod(job, "worker", 0, drains(0, kt.Start), tc.pod), kt.Pod(job, "worker", 1, kt.Running))
				ok := ledger(d.Status, "worker").Succeeded
				if d.Status.LastUpdateTime.Equal(job.Status.LastUpdateTime) { // it waits for the view, and the pod keeps its finalizer
					require.Empty(t, did(d))
					return
				}
				require.Equal(t, "0", ok)
				require.NotContains(t, did(d), "MarkPod worker-0")
				require.NotContains(t, did(d), "StopPod worker-0")
			}
		})
	}
}

func TestAContainerThatTheKubeletMayStartAgainHasNotEnded(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
		p.Spec.Containers[0].RestartPolicyRules = []corev1.ContainerRestartRule{{Action: corev1.ContainerRestartRuleActionRestart}}
	})), kt.Begun)
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, drains(9, kt.Start)))
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
}

func TestTheMainContainerIsTheOutcome(t *testing.T) {
	tests := map[string]struct {
		main         string
		code, helper int32
		want         v1beta1.JobPhase
		message      string
	}{
		"a helper that fails beside it decides nothing": {"main", 0, 1, v1beta1.JobSucceeded, ""},
		"its failure is the replica's":                  {"main", 3, 0, v1beta1.JobFailed, "exited with error code 3 in container main"},
		"the first failure is told where none is named": {"", 0, 4, v1beta1.JobFailed, "exited with error code 4 in container helper"},
		"a name that the template lacks names nobody":   {"istio-proxy", 0, 4, v1beta1.JobFailed, "exited with error code 4 in container helper"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, helper(tc.main)), kt.Begun)
			d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, kt.Exited(tc.code), exitedIn("helper", tc.helper)))
			require.Equal(t, tc.want, d.Status.Phase)
			require.Contains(t, condition(d.Status, v1beta1.ConditionReplicaFailure).Message, tc.message)
		})
	}
}

// A pod may live on for long after the container that decides has ended. Whatever ends the pod then, it changes nothing.
func TestWhatTheMainContainerDidBeforeItsPodWasEndedCounts(t *testing.T) {
	asked := kt.At(5 * time.Minute)
	helperEnds := func(p *corev1.Pod) {
		exitedIn("helper", 143)(p)
		p.Status.Phase, p.Status.ContainerStatuses[1].State.Terminated.FinishedAt.Time = corev1.PodFailed, asked.Add(time.Second)
	}
	outcome := func(d kernel.Decision) string {
		of := ledger(d.Status, "worker")
		return fmt.Sprintf("succeeded %q, failed %q, restarts %d, disruptions %d", of.Succeeded, of.Failed, d.Status.BackoffCount, d.Status.DisruptionCount)
	}
	for code, want := range map[int32]string{
		0: `succeeded "0", failed "", restarts 0, disruptions 0`,
		3: `succeeded "", failed "", restarts 1, disruptions 0`,
	} {
		job := kt.Job(kt.Type("worker", 2, helper("main"), kt.Policy(v1beta1.RestartOnFailure, 3)), kt.Begun)
		other := kt.Pod(job, "worker", 1, kt.Running, runsIn("helper"))
		drained := kt.Pod(job, "worker", 0, kt.Exited(code), runsIn("helper"), kt.Deleted(asked, 30*time.Second))
		d := plan(t, job, asked, drained, other)
		require.NotContains(t, did(d), "MarkPod worker-0", "it is known already what counts")
		for _, grace := range []time.Duration{30 * time.Second, 0} {
			drained = kt.Pod(job, "worker", 0, kt.Exited(code), helperEnds, kt.Deleted(asked, grace))
			require.Equal(t, want, outcome(plan(t, after(job, d), asked.Add(2*time.Second), drained, other)), "%d", code)
		}
	}

	// The same if the job is paused: the finished replica does not run again.
	job := kt.Job(kt.Type("worker", 2, helper("main"), kt.Policy(v1beta1.RestartOnFailure, 3)), kt.Begun)
	paused := kt.Edited(job, kt.PauseNow(true))
	stopped := []kt.PodOption{kt.Stopped, kt.Deleted(asked, 30*time.Second)}
	d := plan(t, paused, asked.Add(2*time.Second), kt.Pod(job, "worker", 0, append(stopped, kt.Exited(0), helperEnds)...), kt.Pod(job, "worker", 1, append(stopped, kt.Running)...))
	require.Equal(t, `succeeded "0", failed "", restarts 0, disruptions 0`, outcome(d))
}

func TestATemplatesOwnSidecarIsWaitedForAndNamed(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, helper("main")), kt.Begun)
	d := plan(t, job, kt.At(time.Minute), kt.Pod(job, "worker", 0, kt.Exited(0), runsIn("helper")))
	require.Equal(t, v1beta1.JobRunning, d.Status.Phase)
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message,
		"container main has exited with code 0, and container helper still runs: the replica ends with the last container of its template")
	require.Equal(t, []string{}, did(d))
}

func TestItsOwnLimitIsItsOwnFault(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 1)), kt.Begun)
	evicted := func(p *corev1.Pod) {
		kt.Exited(137)(p)
		kt.FailedWithout("Evicted")(p)
		p.Status.Message = `Usage of EmptyDir volume "cache" exceeds the limit "1Gi". ` // the kubelet's has this space at its end
	}
	d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, evicted))
	require.EqualValues(t, 1, d.Status.BackoffCount, "it is counted")
	require.EqualValues(t, 0, d.Status.DisruptionCount)
	require.Contains(t, d.Events[0].Message, `went over a limit of its own: Usage of EmptyDir volume "cache" exceeds the limit "1Gi". Raise that limit`)
}

func TestAPodThatHangsOnAHealthyNodeIsNotDoubled(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 1)), kt.Begun)
	w := kernel.World{Job: job, Now: kt.At(time.Hour), Settings: kt.Settings, Nodes: map[string]podstate.Node{"node": {Answers: true}},
		Pods: []*corev1.Pod{kt.Pod(job, "worker", 0, kt.Running, kt.Marked, kt.Deleted(kt.Start, 30*time.Second))}}
	d := planWorld(t, w)
	require.Equal(t, []string{}, did(d))
	require.Equal(t, time.Minute, d.RequeueAfter, "the node is asked again")
	require.Contains(t, condition(d.Status, v1beta1.ConditionRunning).Message, "node node answers, so it may still run")

	w.Nodes = nil
	require.EqualValues(t, 1, planWorld(t, w).Status.DisruptionCount)
}

func TestANodeThatRejectsAgainAndAgainIsNoFreeRestartForEver(t *testing.T) {
	job, now := kt.Job(kt.Type("worker", 1), kt.Begun), kt.Start
	rejected := func(p *corev1.Pod) {
		kt.FailedWithout("SysctlForbidden")(p)
		p.Status.Message = "forbidden sysctl: kernel.shm_rmid_forced not allowlisted"
	}
	for n := 1; n <= 5; n++ {
		require.Empty(t, condition(job.Status, v1beta1.ConditionBlocked).Reason, "%d times may be chance", n-1)
		d := plan(t, job, now, kt.Pod(job, "worker", 0, rejected))
		require.EqualValues(t, n, d.Status.DisruptionCount)
		job, now = after(job, d), now.Add(5*time.Minute)
		require.Equal(t, n == 1, len(did(plan(t, job, now.Add(-5*time.Minute)))) == 1, "only the first is replaced at once")
	}
	blocked := condition(job.Status, v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonPodRejected, blocked.Reason)
	require.Contains(t, blocked.Message, "SysctlForbidden before its code could start, the last of 5 short lives in a row: forbidden sysctl: kernel.shm_rmid_forced not allowlisted")

	waits := plan(t, job, now, kt.Pod(job, "worker", 0))
	require.Equal(t, v1beta1.ReasonPodRejected, condition(waits.Status, v1beta1.ConditionBlocked).Reason, "until it runs")
	runs := plan(t, job, now, kt.Pod(job, "worker", 0, kt.Running))
	require.Empty(t, condition(runs.Status, v1beta1.ConditionBlocked).Reason)
}

func TestSkipInitContainerKeepsNativeSidecars(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	job := kt.Job(kt.Type("worker", 1, kt.Template(func(p *corev1.PodTemplateSpec) {
		p.Spec.InitContainers = []corev1.Container{{Name: "download"}, {Name: "proxy", RestartPolicy: &always}}
	})), kt.DebugNow(true, v1beta1.ReplicaDebugSet{Type: "worker", SkipInitContainer: true}), kt.Begun)
	pod := kt.Pod(job, "worker", 0)
	require.Len(t, pod.Spec.InitContainers, 1)
	require.Equal(t, "proxy", pod.Spec.InitContainers[0].Name)
}

// TestAFailureInPlaceCountsThoughItsPodIsDeletedWhileItsProxyRuns: the deletion, once the kubelet confirms it, has no grace period left, and
// no longer tells what was first.
func TestAFailureInPlaceCountsThoughItsPodIsDeletedWhileItsProxyRuns(t *testing.T) {
	asked := kt.At(time.Minute)
	for name, test := range map[string]struct {
		ended              time.Time
		failures, removals int32
	}{
		"it failed before":             {asked.Add(-time.Second), 1, 0},
		"it failed when asked to stop": {asked.Add(time.Second), 0, 1},
		"nobody can tell which first":  {asked, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			job, pods := running(t, 2, kt.Type("worker", 2), kt.InPlace, kt.BackoffLimit(5))
			going := with(pods[:1], drains(1, test.ended), kt.Deleted(asked, 30*time.Second))[0]
			d := plan(t, job, asked.Add(5*time.Second), going, pods[1])
			require.Zero(t, d.Status.BackoffCount+d.Status.DisruptionCount, "it is known when the pod has ended")
			require.Equal(t, test.removals > 0, slices.Contains(did(d), "MarkPod worker-0"), did(d))
			if test.removals > 0 {
				going = with([]*corev1.Pod{going}, kt.Marked)[0]
			}
			gone := with([]*corev1.Pod{going}, kt.ExitedAt(1, test.ended), kt.Deleted(asked.Add(10*time.Second), 0))[0]
			d = plan(t, after(job, d), asked.Add(10*time.Second), gone, pods[1])
			require.Equal(t, []int32{test.failures, test.removals}, []int32{d.Status.BackoffCount, d.Status.DisruptionCount})
		})
	}
}
