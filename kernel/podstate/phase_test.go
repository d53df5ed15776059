package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// awaitingPhase is a pod whose code has exited with 0, and whose phase does not say so yet.
func awaitingPhase(edits ...func(*corev1.Pod)) Pod {
	return pod(append([]func(*corev1.Pod){exited(0, noon), phase(corev1.PodRunning)}, edits...)...)
}

// A kubelet reports the ends of containers first, and with the phase that it has evicted the pod.
func TestASuccessIsLeftToThePhase(t *testing.T) {
	crashed := state(func(s *corev1.ContainerStatus) { s.RestartCount, s.LastTerminationState = 1, end(3) })
	inPlace := func(edits ...func(*corev1.Pod)) Pod {
		return wrapped(append([]func(*corev1.Pod){crashed, exited(0, noon), phase(corev1.PodRunning)}, edits...)...)
	}
	asked := deleted(noon.Add(5*time.Second), 30)
	for name, tc := range map[string]struct {
		pod     Pod
		replica Replica
		want    State
	}{
		"nobody has said why yet":                  {awaitingPhase(), Replica{}, Alive},
		"... and the mode has changed":             {awaitingPhase(), Replica{ModeGeneration: 1}, AwaitingPhase},
		"... and it would run again":               {awaitingPhase(), Replica{ModeGeneration: 1, RunsAgain: true}, Superseded},
		"... and its policy is Always":             {awaitingPhase(), Replica{RunsAgain: true, Always: true}, Alive},
		"... and the ledger is past it":            {awaitingPhase(), Replica{Attempt: 1}, Superseded},
		"... and somebody deletes it":              {awaitingPhase(asked), Replica{}, Alive},
		"... by force":                             {awaitingPhase(deleted(noon.Add(time.Minute), 0)), Replica{}, Succeeded},
		"... whose node does not answer":           {awaitingPhase(deleted(noon.Add(time.Second), 5)), Replica{}, Succeeded},
		"... which was seen before its end":        {awaitingPhase(asked, annotated(v1beta1.AnnotationDisrupted)), Replica{}, Succeeded},
		"... which the operator did":               {awaitingPhase(asked, annotated(v1beta1.AnnotationStopped)), Replica{}, Succeeded},
		"... and then it ended":                    {awaitingPhase(deleted(noon.Add(-time.Second), 600)), Replica{}, Disrupted},
		"the garbage collector of pods removes it": {awaitingPhase(asked, phase(corev1.PodFailed), targeted(noon.Add(4*time.Second))), Replica{}, Succeeded},
		"the kubelet had evicted it":               {awaitingPhase(phase(corev1.PodSucceeded), byKubelet(noon.Add(2*time.Second))), Replica{}, Disrupted},
		"... and somebody deletes it, too":         {awaitingPhase(asked, phase(corev1.PodSucceeded), byKubelet(noon.Add(2*time.Second))), Replica{}, Disrupted},
		"its own deadline had passed":              {awaitingPhase(reason("DeadlineExceeded")), Replica{}, Failed},
		"a native sidecar drains":                  {awaitingPhase(sidecarRuns), Replica{}, Succeeded},
		"a crash before it was not counted":        {inPlace(), Replica{Attempt: 1}, Alive},
		"... and its phase says so":                {inPlace(phase(corev1.PodSucceeded)), Replica{Attempt: 1}, Succeeded},
		"all others begin again":                   {inPlace(), Replica{Attempt: 2, InPlace: true}, Alive},
		"... and it does so, too":                  {inPlace(), Replica{Attempt: 2, InPlace: true, Always: true}, Behind},
		"it is to be replaced":                     {inPlace(), Replica{Attempt: 2, InPlace: true, Obsolete: true}, AwaitingPhase},
		"... and its phase says it":                {inPlace(phase(corev1.PodSucceeded)), Replica{Attempt: 2, InPlace: true, Obsolete: true}, Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			judge := Judge{Now: noon.Add(5*time.Minute + 7*time.Second), ForceReplaceAfter: 5 * time.Minute}
			for _, p := range []Pod{tc.pod, {Trim(tc.pod.DeepCopy()), tc.pod.Template}} {
				m := NumbersOf(p.Pod)
				m.Attempt, m.ModeGeneration = 0, 0
				if m.Order != nil {
					m.Attempt = 1
				}
				require.Equal(t, tc.want, judge.Of(p, &m, tc.replica))
			}
		})
	}
}

func sidecarRuns(p *corev1.Pod) {
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "proxy", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

// TestWhetherAnOutcomeIsDecided: a stop would lose an outcome that is, and may have been the only way to one that is not.
func TestWhetherAnOutcomeIsDecided(t *testing.T) {
	one, zero := int32(1), int32(0)
	named := func(edits ...func(*corev1.Pod)) Pod {
		p := pod(edits...)
		p.Template.Annotations = map[string]string{v1beta1.AnnotationDefaultContainer: "main"}
		return p
	}
	helped := func(p Pod) Pod {
		p.Template.Spec.Containers = append(p.Template.Spec.Containers, corev1.Container{Name: "helper"})
		return p
	}
	runs := state(func(s *corev1.ContainerStatus) {
		s.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	})
	goesOn := phase(corev1.PodRunning)
	initFailed := func(p Pod) Pod {
		p.Template.Spec.InitContainers = []corev1.Container{{Name: "first"}}
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "first", State: end(1)}}
		p.Status.ContainerStatuses[0].State = waiting("PodInitializing")
		return p
	}
	for name, tc := range map[string]struct {
		pod  Pod
		want bool
	}{
		"it runs":                                 {pod(runs, goesOn), false},
		"the main container runs":                 {named(runs, goesOn), false},
		"... and a helper has failed":             {helped(named(runs, beside("helper", &one), goesOn)), false},
		"... and a helper has ended":              {helped(named(runs, beside("helper", &zero), goesOn)), false},
		"... but the pod is over":                 {helped(named(runs, beside("helper", &one), phase(corev1.PodFailed))), true},
		"it has done its work, and a helper runs": {helped(named(exited(0, noon), beside("helper", nil), goesOn)), true},
		"it has failed, and a helper runs":        {helped(named(exited(1, noon), beside("helper", nil), goesOn)), true},
		"it was killed, and its phase is to come": {named(exited(137, noon), goesOn), true},
		"no main container, and one has failed":   {helped(pod(runs, beside("helper", &one), goesOn)), true},
		"no main container, and one has ended":    {helped(pod(runs, beside("helper", &zero), goesOn)), false},
		"no main container, and all have ended":   {helped(pod(exited(0, noon), beside("helper", &zero), goesOn)), true},
		"an added container has failed":           {pod(runs, beside("proxy", &one), goesOn), false},
		"an init container has failed":            {initFailed(pod(runs, phase(corev1.PodPending))), true},
		"... before the main container":           {initFailed(named(runs, phase(corev1.PodPending))), true},
		"an end that its kubelet has invented":    {named(state(func(s *corev1.ContainerStatus) { s.State = lost() }), goesOn), true},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, tc.pod.IsDecided()) })
	}
}
