package kernel_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// outside makes a pod as an apiserver stores it that has the feature gate of scheduling groups off.
func outside(pod *corev1.Pod) { pod.Spec.SchedulingGroup = nil }

// stillRuns has the phase say nothing yet of how a pod ended: a sidecar may run on.
func stillRuns(pod *corev1.Pod) { pod.Status.Phase = corev1.PodRunning }

// An operator may be killed between the create of a pod that lost its group and its delete.
func TestAPodThatAnApiserverStoredOutsideItsGangIsMadeAgain(t *testing.T) {
	const stopped = "StopPod worker-0"
	running := []kt.PodOption{kt.Running}
	ranOutside := []kt.PodOption{kt.Running, outside}
	for name, tc := range map[string]struct {
		scheduler string
		least     int32
		first     []kt.PodOption // of worker-0; the others are as in rest
		rest      []kt.PodOption
		noGroup   bool
		want      bool
	}{
		"it waits for a node":                                         {scheduler: "kubernetes", first: []kt.PodOption{outside}, want: true},
		"it runs, and the others wait for it":                         {scheduler: "kubernetes", first: ranOutside, want: true},
		"it runs, and so do the others":                               {scheduler: "kubernetes", first: ranOutside, rest: running},
		"it runs, and all were stored so":                             {scheduler: "kubernetes", first: ranOutside, rest: ranOutside},
		"it runs, and enough others are there":                        {scheduler: "kubernetes", least: 2, first: ranOutside},
		"its code was killed, and its kubelet has yet to say by whom": {scheduler: "kubernetes", first: []kt.PodOption{kt.Running, kt.Exited(137), stillRuns, outside}},
		"it runs in its group":                                        {scheduler: "kubernetes", first: running},
		"it waits in its group":                                       {scheduler: "kubernetes"},
		"the cluster has no groups of the kind":                       {scheduler: "kubernetes", first: []kt.PodOption{outside}, noGroup: true},
		"another scheduler has no such field":                         {scheduler: "volcano"},
		"no gang has no such field":                                   {},
	} {
		t.Run(name, func(t *testing.T) {
			options := []kt.JobOption{kt.BackoffLimit(0), kt.Begun}
			if tc.scheduler != "" {
				options = append(options, gang(tc.scheduler, tc.least))
			}
			job := workers(3, options...)
			w := kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings}
			first := planWorld(t, w)
			job.Status = first.Status
			if !tc.noGroup && tc.scheduler != "" {
				w.Gang.Objects = []*unstructured.Unstructured{applied(t, first)}
			}
			w.Pods = []*corev1.Pod{podstate.Trim(kt.Pod(job, "worker", 0, tc.first...))}
			for rank := 1; rank < 3; rank++ {
				w.Pods = append(w.Pods, podstate.Trim(kt.Pod(job, "worker", rank, tc.rest...)))
			}
			d := planWorld(t, w)
			require.Equal(t, tc.want, slices.Contains(did(d), stopped), lines(d.Actions))
			require.NotContains(t, did(d), "StopPod worker-1")

			if tc.want { // it fails while it is stopped, as code does that gets SIGTERM
				w.Job = after(job, d)
				kt.Stopped(w.Pods[0])
				kt.Exited(143)(w.Pods[0])
				d = planWorld(t, w)
				require.Zero(t, d.Status.BackoffCount)
				require.True(t, d.Status.Gang.HadPods, "a policy that refuses such pods later must not fail the job")
				require.Nil(t, d.Status.CompletionTime)
			}
		})
	}
}

// gangOf makes a job of three workers in a gang, with a PodGroup, and with these pods by rank.
func gangOf(t *testing.T, least int32, edit func(*corev1.PodTemplateSpec), pods [3][]kt.PodOption) kernel.World {
	t.Helper()
	job := workers(3, kt.BackoffLimit(0), kt.Begun, gang("kubernetes", least))
	if edit != nil {
		edit(&job.Spec.ReplicaSpecs[0].Template)
	}
	w := kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings}
	first := planWorld(t, w)
	job.Status, w.Gang.Objects = first.Status, []*unstructured.Unstructured{applied(t, first)}
	for rank, options := range pods {
		w.Pods = append(w.Pods, podstate.Trim(kt.Pod(job, "worker", rank, options...)))
	}
	return w
}

// A pod that runs outside was stopped, though the next pod of one that waits outside completed the group.
func TestAGroupLacksNoPodThatIsAboutToBeMadeInIt(t *testing.T) {
	waits, waitsOutside, runsOutside := []kt.PodOption{}, []kt.PodOption{outside}, []kt.PodOption{kt.Running, outside}
	for name, tc := range map[string]struct {
		least int32
		pods  [3][]kt.PodOption
		want  []string
	}{
		"the next pod completes it":   {2, [3][]kt.PodOption{runsOutside, waitsOutside, waits}, []string{"StopPod worker-1"}},
		"it is not enough":            {3, [3][]kt.PodOption{runsOutside, waitsOutside, waits}, []string{"StopPod worker-0", "StopPod worker-1"}},
		"two run, and one is too few": {2, [3][]kt.PodOption{runsOutside, runsOutside, waits}, []string{"StopPod worker-0", "StopPod worker-1"}},
		"nobody waits in the group":   {3, [3][]kt.PodOption{runsOutside, waitsOutside, waitsOutside}, []string{"StopPod worker-1", "StopPod worker-2"}},
		"enough are in the group":     {2, [3][]kt.PodOption{runsOutside, {kt.Running}, waits}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, stopsIn(planWorld(t, gangOf(t, tc.least, nil, tc.pods))))
		})
	}
}

// stopsIn returns the pods that a decision stops.
func stopsIn(d kernel.Decision) (stopped []string) {
	for _, line := range did(d) {
		if strings.HasPrefix(line, string(kernel.StopPod)) {
			stopped = append(stopped, line)
		}
	}
	return stopped
}

// A helper that had failed kept a pod outside for ever, though the main container waited for its peers. And finished work was run again while a
// helper ran.
func TestAPodOutsideItsGangIsStoppedUnlessItsOutcomeIsDecided(t *testing.T) {
	const stopped = "StopPod worker-0"
	exits := func(of int, code int32) kt.PodOption { // the other container runs on
		return func(p *corev1.Pod) {
			stillRuns(p)
			p.Status.ContainerStatuses[of].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(kt.Start)}}
		}
	}
	helped := func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "helper", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	with := func(main string) func(*corev1.PodTemplateSpec) {
		return func(r *corev1.PodTemplateSpec) {
			r.Spec.Containers = append(r.Spec.Containers, corev1.Container{Name: "helper", Image: "image"})
			if main != "" {
				r.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: main}
			}
		}
	}
	for name, tc := range map[string]struct {
		main string
		ends []kt.PodOption
		want []string
	}{
		"both run":                                  {main: "main", want: []string{stopped}},
		"a helper has failed":                       {main: "main", ends: []kt.PodOption{exits(1, 1)}, want: []string{stopped}},
		"a helper has ended":                        {main: "main", ends: []kt.PodOption{exits(1, 0)}, want: []string{stopped}},
		"the main container has done its work":      {main: "main", ends: []kt.PodOption{exits(0, 0)}},
		"the main container has failed":             {main: "main", ends: []kt.PodOption{exits(0, 1)}},
		"both have ended, and the phase is to come": {main: "main", ends: []kt.PodOption{exits(0, 0), exits(1, 0)}},
		"no main container, and one has failed":     {ends: []kt.PodOption{exits(1, 1)}},
		"no main container, and one has ended":      {ends: []kt.PodOption{exits(0, 0)}, want: []string{stopped}},
		"no main container, and both have ended":    {ends: []kt.PodOption{exits(0, 0), exits(1, 0)}},
	} {
		t.Run(name, func(t *testing.T) {
			options := append([]kt.PodOption{kt.Running, helped, outside}, tc.ends...)
			w := gangOf(t, 0, with(tc.main), [3][]kt.PodOption{options, {}, {}})
			require.Equal(t, tc.want, stopsIn(planWorld(t, w)))
		})
	}
}
