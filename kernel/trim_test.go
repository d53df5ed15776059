package kernel_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// An informer of client-go trims each pod of its first list twice. A pod that was wrapped for its heartbeat lost its address then: nobody asked it for
// its progress until it changed. What a pod had said last lost a little more.
func TestAPodThatIsTrimmedTwiceIsAsIfTrimmedOnce(t *testing.T) {
	jobs := map[string]*v1beta1.GenericJob{
		"unwrapped":          workers(1),
		"in place":           workers(1, kt.InPlace),
		"heartbeat":          workers(1, watched(tells)),
		"progress, in place": workers(1, kt.InPlace, watched(tells)),
	}
	specs := map[string]func(*corev1.Pod){
		"plain":    func(*corev1.Pod) {},
		"probed":   func(p *corev1.Pod) { p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{} },
		"starting": func(p *corev1.Pod) { p.Spec.Containers[0].StartupProbe = &corev1.Probe{} },
		"gated":    func(p *corev1.Pod) { p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "x"}} },
		"sidecar": func(p *corev1.Pod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, corev1.Container{Name: "side", RestartPolicy: new(corev1.ContainerRestartPolicyAlways), ReadinessProbe: &corev1.Probe{}})
			p.Status.InitContainerStatuses = append(p.Status.InitContainerStatuses, corev1.ContainerStatus{Name: "side", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
		},
		"injected":       func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "proxy"}) },
		"host network":   func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"node's address": func(p *corev1.Pod) { p.Status.HostIP = p.Status.PodIP },
		"placed by Kueue": func(p *corev1.Pod) {
			p.Annotations = map[string]string{"kueue.x-k8s.io/workload": "w"}
			p.Spec.NodeSelector = map[string]string{"rack": "a"}
		},
		"claims": func(p *corev1.Pod) {
			p.Spec.ResourceClaims = make([]corev1.PodResourceClaim, 20)
			p.Status.ResourceClaimStatuses = make([]corev1.PodResourceClaimStatus, 20)
		},
	}
	var changed []string
	for job, j := range jobs {
		for kind, is := range specs {
			for state, options := range states(t) {
				pod := wrapped(j, 0, append([]kt.PodOption{withIP, is}, options...)...)
				once := podstate.Trim(pod.DeepCopy())
				if twice := podstate.Trim(once.DeepCopy()); !assert.ObjectsAreEqual(once, twice) {
					changed = append(changed, fmt.Sprintf("%s, %s, %s", job, kind, state))
				}
			}
		}
	}
	require.Empty(t, changed)

	job := workers(1, watched(tells))
	kt.Begun(job)
	pod := podstate.Trim(podstate.Trim(wrapped(job, 0, kt.Running, withIP)))
	require.NotNil(t, kernel.ProgressPod(job, []*corev1.Pod{pod}, kt.At(time.Hour)), "it is asked")
}

// states are those of a pod that are trimmed in different ways. A pod that has failed has said what the tests of podstate know.
func states(t *testing.T) map[string][]kt.PodOption {
	t.Helper()
	ready := func(is corev1.ConditionStatus, reason string) kt.PodOption {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions,
				corev1.PodCondition{Type: corev1.PodReady, Status: is, Reason: reason, LastTransitionTime: metav1.NewTime(kt.Start)},
				corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, Message: strings.Repeat("x", 500)})
			p.Spec.Tolerations = []corev1.Toleration{{Key: corev1.TaintNodeUnreachable, Operator: corev1.TolerationOpExists, TolerationSeconds: new(int64(60))}}
		}
	}
	said := func(message string) kt.PodOption {
		return func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Message = message }
	}
	all := map[string][]kt.PodOption{
		"waiting":       {},
		"running":       {kt.Running},
		"ready":         {kt.Running, ready(corev1.ConditionTrue, "")},
		"not ready":     {kt.Running, ready(corev1.ConditionFalse, "ContainersNotReady")},
		"lost":          {kt.Running, ready(corev1.ConditionFalse, "")},
		"being deleted": {kt.Running, kt.Deleted(kt.Start, time.Minute), kt.Marked},
		"disrupted":     {kt.Running, kt.Disrupted},
		"finished":      {kt.Exited(0)},
		"failed":        {kt.Exited(1)},
		"evicted":       {kt.FailedWithout("Evicted"), func(p *corev1.Pod) { p.Status.Message = strings.Repeat("x", 1000) }},
		"cannot pull": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: strings.Repeat("é", 1000)}}}}
		}},
		"invented": {kt.Exited(137), func(p *corev1.Pod) {
			p.Status.ContainerStatuses[0].ContainerID = "containerd://1"
			p.Status.ContainerStatuses[0].State.Terminated.Reason = "ContainerStatusUnknown"
		}},
		"said a little": {kt.Exited(1), said("ValueError: x\n")},
		"said much":     {kt.Exited(1), said(strings.Repeat("a  line\n", 250) + "z")},
	}
	files, err := filepath.Glob("podstate/testdata/failures/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		all[filepath.Base(file)] = []kt.PodOption{kt.Exited(1), said(string(raw))}
	}
	return all
}
