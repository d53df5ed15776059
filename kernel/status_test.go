package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// story prints conditions as "Running=True - message".
func conditions(s v1beta1.GenericJobStatus) []string {
	var out []string
	for _, c := range s.Conditions {
		out = append(out, fmt.Sprintf("%s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return out
}

const allFine = "All pods are running normally or have completed successfully."

func TestConditionsAreInT9ksOrderAndWords(t *testing.T) {
	begun := kt.Job(kt.Type("worker", 2), failure(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	pod := spec.PodName(begun, "worker", 0)
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		pods []*corev1.Pod
		want []string
	}{
		"starting": {begun, nil, []string{
			"Initialized=True - The job has been initialized successfully.",
			"Running=False PodsNotReady Waiting for replica worker-0: its pod is not there yet",
			"Completed=False NotFinished The job has not finished.",
			"ReplicaFailure=False - No pod has failed.",
			"Ready=False PodsNotReady Waiting for replica worker-0: its pod is not there yet",
			"Reconciling=True PodsNotReady Waiting for replica worker-0: its pod is not there yet",
		}},
		"running": {begun, kt.Pods(begun, "worker", 2, kt.Running), []string{
			"Initialized=True - The job has been initialized successfully.",
			"Running=True - " + allFine,
			"Completed=False NotFinished The job is still running.",
			"ReplicaFailure=False - " + allFine,
			"Ready=True Started All replicas have run together. The condition Running says how they are now.",
		}},
		"succeeded": {begun, kt.Pods(begun, "worker", 2, kt.Exited(0)), []string{
			"Initialized=True - The job has been initialized successfully.",
			"Running=False Succeeded The job has finished successfully.",
			"Failed=False Succeeded The job has finished successfully.",
			"Succeeded=True Succeeded The job has finished successfully.",
			"Completed=True Succeeded The job has finished successfully.",
			"ReplicaFailure=False - " + allFine,
			"Ready=True Succeeded The job has finished successfully.",
		}},
		"failed": {begun, kt.Pods(begun, "worker", 1, kt.Exited(127)), []string{
			"Initialized=True - The job has been initialized successfully.",
			`Running=False Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
			`Failed=True Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
			`Succeeded=False Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
			`Completed=True Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
			"ReplicaFailure=True ErrorInPod Pod[" + pod + "] exited with error code 127; no restarts are left",
			`Ready=False Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
			`Stalled=True Failed Pod[` + pod + `] exited with error code 127; no restarts are left. The job is failed with rule: {"worker":[0]}.`,
		}},
		"paused": {kt.Edited(begun, kt.PauseNow(true)), nil, []string{
			"Initialized=True - The job has been initialized successfully.",
			"Running=False Paused The job is paused: no unfinished replica has a pod. Set spec.runMode.pause.enabled to false to go on.",
			"Completed=False NotFinished The job has not finished.",
			"ReplicaFailure=False - The job is paused: no unfinished replica has a pod.",
			"Paused=True Paused The job is paused: no unfinished replica has a pod. Set spec.runMode.pause.enabled to false to go on.",
			"Ready=True Paused The job is paused: no unfinished replica has a pod. Set spec.runMode.pause.enabled to false to go on.",
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, conditions(plan(t, tc.job, kt.At(time.Minute), tc.pods...).Status))
		})
	}
}

func TestWhyPodsDoNotRun(t *testing.T) {
	waiting := func(reason, message string) kt.PodOption {
		return func(p *corev1.Pod) {
			kt.Scheduled(p)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
			}}}
		}
	}
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	pod := spec.PodName(job, "worker", 0)
	tests := map[string]struct {
		pod             kt.PodOption
		running         string
		problem, reason string
	}{
		"on its way": {waiting("ContainerCreating", ""), "its pod is Pending", "", ""},
		"image": {waiting("ImagePullBackOff", "no such image"),
			"container main: ImagePullBackOff: no such image (correct the image's name in the manifest and apply it again, or add the pull secret)",
			"Pod[" + pod + "] cannot start: container main: ImagePullBackOff: no such image (correct the image's name in the manifest and apply it again, or add the pull secret)", "ImagePullBackOff"},
		"image, the other of the kubelet's two reasons": {waiting("ErrImagePull", "no such image"),
			"container main: ErrImagePull: no such image (correct the image's name in the manifest and apply it again, or add the pull secret)",
			"Pod[" + pod + "] cannot start: container main: ErrImagePull: no such image (correct the image's name in the manifest and apply it again, or add the pull secret)", "ImagePullBackOff"},
		"config map": {waiting("CreateContainerConfigError", `configmap "x" not found`),
			`container main: CreateContainerConfigError: configmap "x" not found (create the ConfigMap "x" in the job's namespace, or correct its name in the template)`,
			"Pod[" + pod + `] cannot start: container main: CreateContainerConfigError: configmap "x" not found (create the ConfigMap "x" in the job's namespace, or correct its name in the template)`, "CreateContainerConfigError"},
		"a user that is root": {waiting("CreateContainerConfigError", breaksPolicy),
			"container main: CreateContainerConfigError: " + breaksPolicy + aboutUser,
			"Pod[" + pod + "] cannot start: container main: CreateContainerConfigError: " + breaksPolicy + aboutUser, "CreateContainerConfigError"},
		"an image that runs as root": {waiting("CreateContainerConfigError", runsAsRoot),
			"container main: CreateContainerConfigError: " + runsAsRoot + aboutUser,
			"Pod[" + pod + "] cannot start: container main: CreateContainerConfigError: " + runsAsRoot + aboutUser, "CreateContainerConfigError"},
		"a folder that cannot be mounted": {waiting("CreateContainerConfigError", "failed to prepare subPath"),
			"container main: CreateContainerConfigError: failed to prepare subPath",
			"Pod[" + pod + "] cannot start: container main: CreateContainerConfigError: failed to prepare subPath", "CreateContainerConfigError"},
		"not scheduled": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes"}}
		}, "Unschedulable: 0/3 nodes", "Pod[" + pod + "] cannot start: Unschedulable: 0/3 nodes", "Unschedulable"},
		"not scheduled for its ports": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: noPort}}
		}, "Unschedulable: " + noPort + aboutPorts, "Pod[" + pod + "] cannot start: Unschedulable: " + noPort + aboutPorts, "Unschedulable"},
		"terminating": {func(p *corev1.Pod) { kt.Running(p); kt.Deleted(kt.Start, 30*time.Second)(p) }, "its pod is Terminating", "", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(t, job, kt.At(2*time.Second), kt.Pod(job, "worker", 0, tc.pod))
			require.Equal(t, "Waiting for replica worker-0: "+tc.running, condition(d.Status, v1beta1.ConditionRunning).Message)
			c := condition(d.Status, v1beta1.ConditionReplicaFailure)
			if tc.problem == "" {
				require.Equal(t, metav1.ConditionFalse, c.Status)
				return
			}
			require.Equal(t, metav1.ConditionTrue, c.Status)
			require.Equal(t, tc.reason, c.Reason)
			require.Equal(t, tc.problem, c.Message)
			require.Contains(t, d.Events, kernel.Event{Warning: true, Reason: tc.reason, Message: tc.problem})
		})
	}
}

const (
	noPort       = "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports."
	breaksPolicy = `container's runAsUser breaks non-root policy (pod: "job-worker-0_ns(uid)", container: main)`
	runsAsRoot   = `container has runAsNonRoot and image will run as root (pod: "job-worker-0_ns(uid)", container: main)`
	aboutUser    = " (in the securityContext of the container or the pod, set runAsUser to a number other than 0, or runAsNonRoot to false)"
	aboutPorts   = " (with hostNetwork a node takes one pod of those that declare the same containerPort: add nodes, or declare other ports)"
)

func TestRowsAndAggregate(t *testing.T) {
	job := kt.Job(kt.Type("worker", 8), success(v1beta1.FinishRule{"worker": ranks(7)}), kt.Begun)
	unknown := func(p *corev1.Pod) { kt.Scheduled(p); p.Status.Phase = corev1.PodUnknown }
	pods := []*corev1.Pod{
		kt.Pod(job, "worker", 0, kt.Running), kt.Pod(job, "worker", 1, kt.Exited(0)), kt.Pod(job, "worker", 2, kt.Exited(3)),
		kt.Pod(job, "worker", 3), kt.Pod(job, "worker", 4, kt.Scheduled), kt.Pod(job, "worker", 5, unknown), kt.Pod(job, "worker", 7, kt.Running),
	}
	d := plan(t, job, kt.At(time.Minute), pods...)
	require.Equal(t, v1beta1.Aggregate{Creating: 2, Pending: 1, Running: 2, Succeeded: 1, Failed: 1, Unknown: 1}, d.Status.Aggregate)
	require.Equal(t, "2/6", d.Status.Running)
	require.Len(t, d.Status.Tasks, 1)
	rows := d.Status.Tasks[0].Replicas
	want := []v1beta1.ReplicaPhase{"Running", "Succeeded", "Failed", "Creating", "Pending", "Unknown", "Creating", "Running"}
	for rank, phase := range want {
		require.Equal(t, phase, rows[rank].Phase, "rank %d", rank)
		require.Equal(t, spec.PodName(job, "worker", rank), rows[rank].Name)
	}
	three := int32(3)
	require.Equal(t, []v1beta1.ContainerStatus{{Name: "main", State: "Terminated", ExitCode: &three}}, rows[2].Containers)
	require.Equal(t, []v1beta1.ContainerStatus{{Name: "main", State: "Running"}}, rows[0].Containers)
	require.Equal(t, pods[2].UID, rows[2].UID)
	require.Empty(t, rows[6].UID)

	// The pods go. What finished keeps its row; what is to come again begins a new one.
	job = after(job, d)
	rows = plan(t, job, kt.At(2*time.Minute)).Status.Tasks[0].Replicas
	require.Equal(t, pods[2].UID, rows[2].UID)
	require.Equal(t, three, *rows[2].Containers[0].ExitCode)
	require.Equal(t, v1beta1.ReplicaCreating, rows[0].Phase)
	require.Empty(t, rows[0].UID)
	require.Empty(t, rows[0].Containers)

	// The job ends: what had not finished and is gone is Deleted.
	d = plan(t, job, kt.At(2*time.Minute), kt.Pod(job, "worker", 7, kt.Exited(0)))
	require.Equal(t, v1beta1.JobSucceeded, d.Status.Phase)
	require.Equal(t, v1beta1.Aggregate{Succeeded: 2, Failed: 1, Deleted: 5}, d.Status.Aggregate)
}

func TestLargeJobsKeepRowsThatNeedAttention(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1500), success(v1beta1.FinishRule{"worker": ranks(0)}), kt.Begun)
	pods := kt.Pods(job, "worker", 1500, kt.Running)
	pods[7], pods[1400] = kt.Pod(job, "worker", 7, kt.Exited(1)), kt.Pod(job, "worker", 1400, kt.Exited(1))
	s := plan(t, job, kt.At(time.Minute), pods...).Status
	require.Equal(t, v1beta1.Aggregate{Running: 1498, Failed: 2}, s.Aggregate)
	require.Equal(t, "7,1400", ledger(s, "worker").Failed)
	require.Len(t, s.Tasks[0].Replicas, 2)
	require.Equal(t, spec.PodName(job, "worker", 1400), s.Tasks[0].Replicas[1].Name)
	require.Contains(t, condition(s, v1beta1.ConditionReplicaFailure).Message, "1 other failed, too")

	for rank := range pods {
		pods[rank] = kt.Pod(job, "worker", rank, kt.Exited(1))
	}
	s = plan(t, job, kt.At(time.Minute), pods...).Status
	require.Equal(t, "0-1499", ledger(s, "worker").Failed)
	require.Len(t, s.Tasks[0].Replicas, 1000)
}

// A job in which nothing happens costs nothing: no write, no action, no wake-up.
func TestQuietJobsAreQuiet(t *testing.T) {
	worker := kt.Type("worker", 2, kt.Policy(onFailure, 3))
	named := failure(v1beta1.FinishRule{"worker": ranks(1)})
	paused := kt.PauseNow(true)
	tests := map[string]struct {
		job   *v1beta1.GenericJob
		pods  func(*v1beta1.GenericJob) []*corev1.Pod
		edit  kt.JobOption
		phase v1beta1.JobPhase
	}{
		"running":   {job: kt.Job(worker, kt.WithService()), pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2, kt.Running) }, phase: "Running"},
		"starting":  {job: kt.Job(worker), pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2) }, phase: "Pending"},
		"succeeded": {job: kt.Job(worker), pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2, kt.Exited(0), kt.Released) }, phase: "Succeeded"},
		"failed": {job: kt.Job(kt.Type("worker", 2)), pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2, kt.Exited(1), kt.Released) },
			phase: "Failed"},
		"invalid":             {job: kt.Job(kt.Type("worker", 0)), phase: "Failed"},
		"paused":              {job: kt.Job(worker), edit: paused, phase: "Paused"},
		"paused at the start": {job: kt.Job(worker, paused), phase: "Paused"},
		"debugged":            {job: kt.Job(worker, kt.DebugNow(true)), pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2, kt.Running) }, phase: "Running"},
		"a scale that is refused": {job: kt.Job(worker, named), edit: kt.Replicas("worker", 1),
			pods: func(j *v1beta1.GenericJob) []*corev1.Pod { return kt.Pods(j, "worker", 2, kt.Running) }, phase: "Running"},
		"one failed, one runs": {job: kt.Job(kt.Type("worker", 2), success(v1beta1.FinishRule{"worker": ranks(1)})),
			pods: func(j *v1beta1.GenericJob) []*corev1.Pod {
				return []*corev1.Pod{kt.Pod(j, "worker", 0, kt.Exited(1), kt.Released), kt.Pod(j, "worker", 1, kt.Running)}
			}, phase: "Running"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := tc.job
			now := kt.Start
			services := []*corev1.Service{}
			for reconcile := range 6 {
				now = now.Add(10 * time.Second)
				if reconcile == 2 && tc.edit != nil {
					job = kt.Edited(job, tc.edit)
				}
				w := kernel.World{Job: job, Now: now, Settings: kt.Settings, Services: services}
				if reconcile > 0 && tc.pods != nil {
					w.Pods = tc.pods(job)
				}
				d := planWorld(t, w)
				for _, a := range d.Actions {
					if a.Service != nil {
						services = append(services, a.Service)
					}
				}
				if reconcile == 5 {
					require.Equal(t, job.Status, d.Status)
					require.Empty(t, d.Actions)
					require.Empty(t, d.Events)
					require.Zero(t, d.RequeueAfter)
				}
				job = after(job, d)
			}
			require.Equal(t, tc.phase, job.Status.Phase)
		})
	}
}

func TestTransitionTimesChangeWithTheStatusOnly(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	job = after(job, plan(t, job, kt.At(10*time.Second), kt.Pods(job, "worker", 1, kt.Running)...))
	require.Equal(t, kt.At(10*time.Second), condition(job.Status, v1beta1.ConditionRunning).LastTransitionTime.Time)
	require.Equal(t, kt.Start, condition(job.Status, v1beta1.ConditionInitialized).LastTransitionTime.Time)
	d := plan(t, job, kt.At(20*time.Second), kt.Pods(job, "worker", 1, kt.Running)...)
	require.Equal(t, kt.At(10*time.Second), condition(d.Status, v1beta1.ConditionRunning).LastTransitionTime.Time)
}

func TestEvents(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(onFailure, 1)))
	pod := spec.PodName(job, "worker", 0)
	step := func(now time.Duration, want []kernel.Event, pods ...*corev1.Pod) {
		t.Helper()
		d := plan(t, job, kt.At(now), pods...)
		require.Equal(t, want, d.Events)
		job = after(job, d)
	}
	step(0, nil) // the first status is not written yet
	step(2*time.Second, []kernel.Event{{Reason: "Started", Message: "The job has been initialized successfully."}})
	step(10*time.Second, []kernel.Event{{Reason: "Running", Message: allFine}}, kt.Pods(job, "worker", 1, kt.Running)...)
	step(20*time.Second, []kernel.Event{
		{Warning: true, Reason: "Restarted", Message: "Pod[" + pod + "] exited with error code 1; it is replaced (restart 1 of 1); this pod was on node node", Attempt: 1, Replica: "worker-0", Pod: pod, Node: "node", UID: "uid-worker-0-0"},
	}, kt.Pods(job, "worker", 1, kt.Exited(1))...)
	step(30*time.Second, nil)
	step(40*time.Second, []kernel.Event{{Reason: "Succeeded", Message: "The job has finished successfully."}}, kt.Pods(job, "worker", 1, kt.Exited(0))...)
}
