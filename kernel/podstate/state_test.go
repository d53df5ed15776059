package podstate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// pod is a running pod of a template with one container, main, changed by edits.
func pod(edits ...func(*corev1.Pod)) Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{}, Finalizers: []string{v1beta1.FinalizerTracking}}}
	p.Spec.NodeName, p.Status.Phase = "n", corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	for _, edit := range edits {
		edit(p)
	}
	return Pod{p, &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}}
}

func exited(code int32, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodSucceeded
		if code != 0 {
			p.Status.Phase = corev1.PodFailed
		}
		p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.NewTime(at)}}
	}
}

func beside(name string, code *int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		s := corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
		if p.Status.Phase = corev1.PodRunning; code != nil {
			p.Status.Phase = corev1.PodFailed
			s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: *code, FinishedAt: metav1.NewTime(noon.Add(time.Hour))}}
		}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, s)
	}
}

func deleted(asked time.Time, grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: asked.Add(time.Duration(grace) * time.Second)}, &grace
	}
}

func reason(text string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase, p.Status.Reason = corev1.PodFailed, text }
}

func targeted(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at)}}
	}
}

func annotated(mark string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{mark: ""} }
}

func debugs(p *corev1.Pod) { p.Labels[v1beta1.LabelDebug] = "true" }

func TestWhatAPodMeans(t *testing.T) {
	one := int32(1)
	later := noon.Add(time.Hour)
	tests := map[string]struct {
		pod     Pod
		numbers Numbers
		replica Replica
		want    State
	}{
		"it runs":                                       {pod: pod(), want: Alive},
		"the ledger is past it":                         {pod: pod(exited(0, noon)), replica: Replica{Attempt: 1}, want: Superseded},
		"it is of an earlier mode":                      {pod: pod(), replica: Replica{ModeGeneration: 1}, want: Unwanted},
		"it is of an earlier mode and failed":           {pod: pod(exited(1, noon)), replica: Replica{ModeGeneration: 1}, want: Superseded},
		"it is of an earlier mode and did its work":     {pod: pod(exited(0, noon)), replica: Replica{ModeGeneration: 1}, want: Succeeded},
		"... and would run again":                       {pod: pod(exited(0, noon)), replica: Replica{ModeGeneration: 1, RunsAgain: true}, want: Superseded},
		"its code did its work":                         {pod: pod(exited(0, noon)), want: Succeeded},
		"its code failed":                               {pod: pod(exited(1, noon)), want: Failed},
		"a debug pod ended":                             {pod: pod(exited(0, noon), debugs), want: Disrupted},
		"somebody deletes it":                           {pod: pod(deleted(noon, 30)), want: Terminating},
		"somebody deleted it by force":                  {pod: pod(deleted(noon, 0)), want: Lost},
		"its node does not answer":                      {pod: pod(deleted(noon.Add(-time.Hour), 30)), want: Lost},
		"it finished, and then was deleted":             {pod: pod(exited(0, noon.Add(-time.Minute)), deleted(noon, 30)), want: Succeeded},
		"it was deleted, and then exited with 0":        {pod: pod(exited(0, noon.Add(time.Second)), deleted(noon, 30)), want: Disrupted},
		"it was marked, and then exited with 0":         {pod: pod(exited(0, noon), deleted(noon, 0), annotated(v1beta1.AnnotationDisrupted)), want: Disrupted},
		"it was evicted to help the node":               {pod: pod(exited(137, noon), reason("Evicted"), targeted(noon)), want: Disrupted},
		"it was evicted, and exited with 0":             {pod: pod(exited(0, noon), reason("Evicted"), targeted(noon)), want: Disrupted},
		"it had finished when its rest was evicted":     {pod: pod(exited(0, noon.Add(-time.Minute)), reason("Evicted"), targeted(noon)), want: Succeeded},
		"it had failed when its rest was evicted":       {pod: pod(exited(1, noon.Add(-time.Minute)), reason("Evicted"), targeted(noon)), want: Failed},
		"it was ended, and nobody has said yet by whom": {pod: pod(exited(143, noon), func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), want: Alive},
		"... and it has exited with 0":                  {pod: pod(exited(0, noon), func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), want: Alive},
		"a kubelet says late that it has evicted it": {pod: pod(exited(143, noon), reason("Evicted"), func(p *corev1.Pod) {
			targeted(noon.Add(5 * time.Second))(p)
			p.Status.Conditions[0].Reason = corev1.PodReasonTerminationByKubelet
		}), want: Disrupted},
		"a node short of disk turned it away":           {pod: pod(reason("Evicted"), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), want: Disrupted},
		"it went over its own limit":                    {pod: pod(exited(137, noon), reason("Evicted")), want: Failed},
		"it went over its own limit, and exited with 0": {pod: pod(exited(0, noon), reason("Evicted")), want: Failed},
		"... and a drain came later, so nobody knows":   {pod: pod(exited(0, noon), reason("Evicted"), targeted(noon.Add(time.Minute))), want: Succeeded},
		"its own deadline passed":                       {pod: pod(exited(0, noon), reason("DeadlineExceeded")), want: Failed},
		"... and a taint of its node came later":        {pod: pod(exited(0, noon), reason("DeadlineExceeded"), targeted(noon.Add(time.Minute))), want: Failed},
		"deleted before it had a node, then called Failed": {pod: pod(reason(""), deleted(noon, 0), func(p *corev1.Pod) {
			p.Spec.NodeName, p.Status.ContainerStatuses = "", nil
		}), want: Disrupted},
		"no node took it":                              {pod: pod(reason("SysctlForbidden"), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), want: Disrupted},
		"its node lost a container":                    {pod: pod(exited(137, noon), func(p *corev1.Pod) { p.Status.ContainerStatuses[0].State.Terminated.Reason = "ContainerStatusUnknown" }), want: Disrupted},
		"an injected container runs on":                {pod: pod(exited(0, noon), beside("proxy", nil)), want: Succeeded},
		"an injected container runs on beside failure": {pod: pod(exited(3, noon), beside("proxy", nil)), want: Failed},
		"an injected container runs on beside an end":  {pod: pod(exited(143, noon), beside("proxy", nil)), want: Alive},
		"... and somebody deletes the pod":             {pod: pod(exited(143, noon), beside("proxy", nil), deleted(noon.Add(time.Minute), 30)), want: Failed},
		"an injected container failed":                 {pod: pod(exited(0, noon), beside("proxy", &one)), want: Succeeded},
		"an injected container ended after a deletion": {pod: pod(exited(0, noon.Add(-time.Minute)), beside("proxy", &one), deleted(noon, 30)), want: Succeeded},

		// Its main container decides, and another one runs until somebody ends the pod.
		"its main container did its work before a drain": {pod: withLogger(0, later, targeted(later), deleted(later, 30)), want: Succeeded},
		"... and the pod is marked":                      {pod: withLogger(0, later, targeted(later), deleted(later, 30), annotated(v1beta1.AnnotationDisrupted)), want: Succeeded},
		"... and no grace period is left":                {pod: withLogger(0, later, targeted(later), deleted(later.Add(time.Second), 0)), want: Succeeded},
		"... before a pause":                             {pod: withLogger(0, later, deleted(later, 30), annotated(v1beta1.AnnotationStopped)), want: Succeeded},
		"... when it was asked to stop":                  {pod: withLogger(0, noon, targeted(noon.Add(-time.Second)), deleted(noon.Add(-time.Second), 30)), want: Disrupted},
		"its main container failed before a drain":       {pod: withLogger(1, later, targeted(later), deleted(later, 30)), want: Failed},
		"... and no grace period is left then":           {pod: withLogger(1, later, targeted(later), deleted(later.Add(time.Second), 0)), want: Failed},
		"... before an eviction by its kubelet":          {pod: withLogger(1, later, reason("Evicted"), byKubelet(later)), want: Failed},
		"... when it was told to stop":                   {pod: withLogger(1, noon, targeted(noon.Add(-time.Second)), deleted(noon.Add(-time.Second), 30)), want: Disrupted},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			judge := Judge{Now: noon.Add(time.Second), ForceReplaceAfter: 5 * time.Minute}
			before := tc.pod.DeepCopy()
			require.Equal(t, tc.want, judge.Of(tc.pod, &tc.numbers, tc.replica))
			require.Equal(t, before, tc.pod.Pod, "a look changes nothing")
			Trim(tc.pod.Pod)
			require.Equal(t, tc.want, judge.Of(tc.pod, &tc.numbers, tc.replica), "a trimmed pod means the same")
		})
	}
}

func TestANodeThatAnswersKeepsItsPods(t *testing.T) {
	p := pod(deleted(noon.Add(-time.Hour), 30))
	judge := Judge{Now: noon, ForceReplaceAfter: 5 * time.Minute, Nodes: map[string]Node{"n": {Answers: true}}}
	require.Equal(t, Terminating, judge.Of(p, &Numbers{}, Replica{}))
	require.Equal(t, NodeInterval, judge.UntilOverdue(p.Pod))
	_, told := judge.Waiting(p.Pod)
	require.Contains(t, told, "but node n answers")

	judge.Nodes = map[string]Node{"n": {Answers: true, Assumed: true}}
	require.Equal(t, Terminating, judge.Of(p, &Numbers{}, Replica{}))
	_, told = judge.Waiting(p.Pod)
	require.Equal(t, "its pod is Terminating", told, "nobody has asked the node")

	judge.Nodes = nil
	require.True(t, judge.IsOverdue(p.Pod))
	require.Zero(t, judge.UntilOverdue(p.Pod))

	judge.ForceReplaceAfter = 0
	require.False(t, judge.IsOverdue(p.Pod), "0 means never")
	require.Zero(t, judge.UntilOverdue(p.Pod))
}
