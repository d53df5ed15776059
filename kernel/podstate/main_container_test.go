package podstate

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// helped is a pod whose template names its main container, which ended at noon. Another container runs on.
func helped(code int32, edits ...func(*corev1.Pod)) Pod {
	p := withLogger(code, time.Time{}, append([]func(*corev1.Pod){phase(corev1.PodRunning)}, edits...)...)
	p.Status.ContainerStatuses[1].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	return p
}

// loggerEnded has the other container have ended.
func loggerEnded(p Pod, at time.Time) Pod {
	p.Status.ContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, FinishedAt: metav1.NewTime(at)}}
	return p
}

// loggerFailed has the other container have failed at noon.
func loggerFailed(p Pod) Pod {
	p.Status.ContainerStatuses[1].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, FinishedAt: metav1.NewTime(noon)}}
	return p
}

// loggerUnmade has the kubelet not find the other container, which it has never made.
func loggerUnmade(p Pod) Pod {
	p.Status.ContainerStatuses[1].State = lost()
	return p
}

// loggerLost has the kubelet not find the other container, which it had made.
func loggerLost(p Pod) Pod {
	p.Status.ContainerStatuses[1].ContainerID = "containerd://1"
	return loggerUnmade(p)
}

// backwards has the kubelet report the containers in another order.
func backwards(p Pod) Pod {
	slices.Reverse(p.Status.ContainerStatuses)
	return p
}

// runsOn has the main container not have ended.
func runsOn(p *corev1.Pod) {
	p.Status.ContainerStatuses[0].State = pod().Status.ContainerStatuses[0].State
}

// mayBeStarted has the kubelet start the main container again by rules of the template.
func mayBeStarted(p Pod) Pod {
	p.Template.Spec.Containers[0].RestartPolicy = ptr.To(corev1.ContainerRestartPolicyNever)
	return p
}

// unnamed has no container be the main one.
func unnamed(p Pod) Pod {
	p.Template = p.Template.DeepCopy()
	p.Template.Annotations = nil
	return p
}

// addedBeside has admission have added the other container.
func addedBeside(p Pod) Pod {
	p = unnamed(p)
	p.Template.Spec.Containers = p.Template.Spec.Containers[:1]
	return p
}

func inItsPlace(p *corev1.Pod) {
	p.Annotations = map[string]string{inplace.Annotation: inplace.Order{Attempt: 1, Go: 1}.String()}
}

// invented has a node not know how the main container ended.
func invented(p *corev1.Pod) { p.Status.ContainerStatuses[0].State = lost() }

func because(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Conditions[0].Reason = reason }
}

// bounded is a pod that its kubelet got an hour before noon, with a deadline of that many seconds.
func bounded(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.StartTime, p.Spec.ActiveDeadlineSeconds = &metav1.Time{Time: noon.Add(-time.Hour)}, &seconds
	}
}

// meansAt requires what pods mean at a time, whole and trimmed.
func meansAt(t *testing.T, now time.Time, want State, p Pod, r Replica) {
	t.Helper()
	judge := Judge{Now: now, ForceReplaceAfter: 5 * time.Minute}
	for _, p := range []Pod{p, {Trim(p.DeepCopy()), p.Template}} {
		numbers := Numbers{}
		if m := NumbersOf(p.Pod); m.Order != nil {
			numbers.Order, numbers.Attempt = m.Order, 1
		}
		require.Equal(t, want, judge.Of(p, &numbers, r))
	}
}

// The main container ended at noon, and another one ran on until something ended the pod an hour later.
func TestWhatEndsAPodAfterItsMainContainer(t *testing.T) {
	later := noon.Add(time.Hour)
	removed := func(p *corev1.Pod) { // as the garbage collector of pods does
		p.Status.Phase = corev1.PodFailed
		targeted(later)(p)
		because("DeletionByPodGC")(p)
		deleted(later, 0)(p)
	}
	byTaints := func(p *corev1.Pod) { targeted(later)(p); because(byTaint)(p); deleted(later, 30)(p) }
	forced, pause := deleted(later, 0), Replica{ModeGeneration: 1}
	stopped, marked := annotated(v1beta1.AnnotationStopped), annotated(v1beta1.AnnotationDisrupted)
	deletedBefore := func(p *corev1.Pod) { marked(p); deleted(noon.Add(-time.Second), 30)(p) }
	drained := func(p *corev1.Pod) { targeted(noon.Add(-time.Second))(p); deleted(later, 0)(p) }
	present := Replica{Attempt: 1}
	behind, obsolete := Replica{Attempt: 2}, Replica{Attempt: 2, InPlace: true, Obsolete: true}
	full, late := reason("Evicted"), reason("DeadlineExceeded")
	for name, tc := range map[string]struct {
		pod     Pod
		replica Replica
		want    State
	}{
		// Its node was removed.
		"removed, and had done its work":            {helped(0, removed), Replica{}, Succeeded},
		"... and the job is paused":                 {helped(0, removed), pause, Succeeded},
		"... and it would run again":                {helped(0, removed), Replica{ModeGeneration: 1, RunsAgain: true}, Superseded},
		"... after a drain had told it to stop":     {helped(0, removed, targeted(noon.Add(-time.Second))), Replica{}, Disrupted},
		"... marked":                                {helped(0, removed, marked), Replica{}, Disrupted},
		"... in debug mode":                         {helped(0, removed, debugs), Replica{}, Disrupted},
		"... of which nobody knows the end":         {helped(0, removed, invented), Replica{}, Disrupted},
		"... or may be started again":               {mayBeStarted(helped(0, removed)), Replica{}, Disrupted},
		"... or no container is the main one":       {unnamed(helped(0, removed)), Replica{}, Disrupted},
		"... in its place":                          {helped(0, removed, inItsPlace), present, Succeeded},
		"... in its place, and is behind":           {helped(0, removed, inItsPlace), behind, Succeeded},
		"removed, and had failed":                   {helped(3, removed), Replica{}, Failed},
		"preempted, and had failed":                 {helped(3, reason("Preempting"), targeted(later)), Replica{}, Failed},
		"... and no container is main":              {unnamed(helped(3, reason("Preempting"), targeted(later))), Replica{}, Disrupted},
		"removed, and its main container still ran": {helped(0, removed, runsOn), Replica{}, Disrupted},
		"removed, main ran, and a helper failed":    {loggerFailed(helped(0, removed, runsOn)), Replica{}, Disrupted},
		"... in another order of its containers":    {backwards(loggerFailed(helped(0, removed, runsOn))), Replica{}, Disrupted},
		"forced, main ran, and a helper failed":     {loggerFailed(helped(0, forced, runsOn)), Replica{}, Lost},

		// Its node is lost, or somebody deletes it by force.
		"forced, and had done its work":       {helped(0, forced), Replica{}, Succeeded},
		"... while the job is paused":         {helped(0, forced), pause, Succeeded},
		"... and would run again":             {helped(0, forced), Replica{ModeGeneration: 1, RunsAgain: true}, Superseded},
		"... and its policy is Always":        {helped(0, forced), Replica{RunsAgain: true, Always: true}, Succeeded},
		"... and the ledger is past it":       {helped(0, forced), Replica{Attempt: 1}, Superseded},
		"... after a drain":                   {helped(0, drained), Replica{}, Disrupted},
		"forced and marked, with its work":    {helped(0, forced, marked), Replica{}, Disrupted},
		"... stopped":                         {helped(0, forced, stopped), Replica{}, Superseded},
		"forced in debug mode":                {helped(0, forced, debugs), Replica{}, Disrupted},
		"forced, its end is unknown":          {helped(0, forced, invented), Replica{}, Lost},
		"forced, may be started again":        {mayBeStarted(helped(0, forced)), Replica{}, Lost},
		"forced, no main container":           {unnamed(helped(0, forced)), Replica{}, Lost},
		"forced, and had failed":              {helped(3, forced), Replica{}, Failed},
		"forced and marked, and had failed":   {helped(3, forced, marked), Replica{}, Disrupted},
		"forced, had failed, and is paused":   {helped(3, forced), pause, Superseded},
		"forced, and its code was killed":     {helped(137, forced), Replica{}, Disrupted},
		"forced in place, with its work":      {helped(0, forced, inItsPlace), present, Succeeded},
		"... and is behind":                   {helped(0, forced, inItsPlace), behind, Succeeded},
		"... and is obsolete":                 {helped(0, forced, inItsPlace), obsolete, Succeeded},
		"forced in place, and had failed":     {helped(3, forced, inItsPlace), present, Lost},
		"silent, and had done its work":       {helped(0, byTaints), Replica{}, Succeeded},
		"silent and marked":                   {helped(0, byTaints, marked), Replica{}, Succeeded},
		"silent, stopped, and had its work":   {helped(0, byTaints, stopped), Replica{}, Succeeded},
		"silent, and had failed":              {helped(3, byTaints), Replica{}, Failed},
		"silent, had failed, and is paused":   {helped(3, byTaints), pause, Superseded},
		"silent, and its code was killed":     {helped(137, byTaints), Replica{}, Failed},
		"silent, and did as it was told":      {helped(0, exited(0, later.Add(time.Second)), phase(corev1.PodRunning), byTaints), Replica{}, Disrupted},
		"silent in place, and had failed":     {helped(3, byTaints, inItsPlace), present, Lost},
		"silent, and no container is main":    {unnamed(helped(0, byTaints)), Replica{}, Lost},
		"deleted, and its node may yet speak": {helped(0, deleted(noon.Add(2*time.Hour), 30)), Replica{}, Terminating},

		// It went over a limit of its own.
		"over its limit, with its work":        {loggerEnded(helped(0, full), later), Replica{}, Succeeded},
		"... and its helper is not told of":    {helped(0, full), Replica{}, Succeeded},
		"... when all ended":                   {loggerEnded(helped(0, full), noon), Replica{}, Failed},
		"... and its helper ends soon":         {loggerEnded(helped(0, full), noon.Add(5*time.Second)), Replica{}, Failed},
		"... and its helper ends later":        {loggerEnded(helped(0, full), noon.Add(6*time.Second)), Replica{}, Succeeded},
		"... and it obeys in its place":        {loggerEnded(helped(0, full, inItsPlace), noon.Add(2*time.Second)), present, Failed},
		"... and its helper was never made":    {loggerUnmade(helped(0, full)), Replica{}, Failed},
		"... and its helper was lost":          {loggerLost(helped(0, full)), Replica{}, Succeeded},
		"... and what was added ran on":        {loggerEnded(addedBeside(helped(0, full)), later), Replica{}, Succeeded},
		"... but not for long":                 {loggerEnded(addedBeside(helped(0, full)), noon.Add(5*time.Second)), Replica{}, Failed},
		"over its limit, no main container":    {unnamed(helped(0, full)), Replica{}, Failed},
		"over its limit, and had failed":       {loggerEnded(helped(3, full), later), Replica{}, Failed},
		"over its limit in place, had failed":  {loggerEnded(helped(3, full, inItsPlace), later), present, Failed},
		"... and is deleted by a drain":        {loggerEnded(helped(3, full, drained), later), Replica{}, Disrupted},
		"... after it was told to end":         {loggerEnded(helped(0, full, deletedBefore), later), Replica{}, Disrupted},
		"had failed after it was told to end":  {loggerEnded(helped(143, full, deletedBefore), later), Replica{}, Disrupted},
		"was told to end at the limit":         {loggerEnded(helped(143, full, deletedBefore), noon.Add(2*time.Second)), Replica{}, Failed},
		"over its limit, its end is unknown":   {helped(0, full, invented), Replica{}, Failed},
		"over its limit, may be started again": {mayBeStarted(helped(0, full)), Replica{}, Failed},

		// Its deadline passed.
		"late, with its work":              {helped(0, late, bounded(3601)), Replica{}, Succeeded},
		"... and all have ended":           {loggerEnded(helped(0, late, bounded(7200)), later), Replica{}, Succeeded},
		"... and a taint came later":       {helped(0, late, bounded(3601), targeted(later.Add(time.Minute))), Replica{}, Succeeded},
		"... in the second in which it is": {helped(0, late, bounded(3600)), Replica{}, Failed},
		"... when it was told to stop":     {loggerEnded(helped(0, late, bounded(3599)), later), Replica{}, Failed},
		"... of unknown length":            {helped(0, late), Replica{}, Failed},
		"late, no main container":          {unnamed(helped(0, late, bounded(3601))), Replica{}, Failed},
		"late, and had failed":             {helped(3, late, bounded(3601)), Replica{}, Failed},
		"late, what was added ran on":      {pod(exited(0, noon), beside("proxy", nil), late, bounded(3601)), Replica{}, Succeeded},
	} {
		t.Run(name, func(t *testing.T) { meansAt(t, later.Add(time.Hour), tc.want, tc.pod, tc.replica) })
	}
}

// A main container that had failed before its pod went over a limit is told of by its exit code. An eviction takes up to five seconds: an end within
// that may be by the eviction.
func TestAFailureBeforeALimitIsThatOfTheCode(t *testing.T) {
	full, later := reason("Evicted"), noon.Add(time.Hour)
	for name, tc := range map[string]struct {
		pod  Pod
		code int32 // 0 if the limit is what failed
	}{
		"long before":                     {loggerEnded(helped(3, full), later), 3},
		"... told to stop by somebody":    {loggerEnded(helped(143, full), later), 143},
		"... in its place":                {loggerEnded(helped(3, full, inItsPlace), later), 3},
		"six seconds before":              {loggerEnded(helped(3, full), noon.Add(6*time.Second)), 3},
		"... beside what was never made":  {loggerUnmade(helped(3, full)), 0},
		"... beside what was lost":        {loggerLost(helped(3, full)), 3},
		"five seconds before":             {loggerEnded(helped(3, full), noon.Add(5*time.Second)), 0},
		"at once":                         {loggerEnded(helped(3, full), noon), 0},
		"its helper is not told of":       {helped(3, full), 3},
		"its end is unknown":              {loggerEnded(helped(3, full, invented), later), 0},
		"it has no time":                  {loggerEnded(helped(3, full, exited(3, time.Time{}), full), later), 0},
		"it ran, and its helper failed":   {loggerFailed(helped(0, full, exited(137, later), full)), 0},
		"no main container":               {loggerEnded(unnamed(helped(3, full)), later), 0},
		"no main container, one is added": {loggerEnded(addedBeside(helped(3, full)), later), 3},
		"it may be started again":         {mayBeStarted(loggerEnded(helped(3, full), later)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, p := range []Pod{tc.pod, {Trim(tc.pod.DeepCopy()), tc.pod.Template}} {
				r := p.FailureWithCause()
				if tc.code == 0 {
					require.Nil(t, r.ExitCode)
					require.Equal(t, v1beta1.CauseStorage, r.Cause.Kind)
					require.Contains(t, p.FailureSentence(), "a limit of its own")
					continue
				}
				require.Equal(t, tc.code, *r.ExitCode)
				require.NotEqual(t, v1beta1.CauseStorage, r.Cause.Kind)
				require.Contains(t, p.FailureSentence(), "exited with error code "+Code(tc.code))
			}
		})
	}
}

// A failure that came before the deadline is told as what it is.
func TestAFailureBeforeTheDeadlineIsNoTimeout(t *testing.T) {
	for seconds, want := range map[int64]v1beta1.CauseKind{3600: v1beta1.CauseTimeout, 3601: v1beta1.CauseUnknown} {
		p := helped(3, reason("DeadlineExceeded"), bounded(seconds))
		r := p.FailureWithCause()
		require.Equal(t, want, r.Cause.Kind)
		require.EqualValues(t, 3, *r.ExitCode)
	}
}

// Nor is one after which the operator had what ran on ended, by a deadline of a second. The template's deadline may have passed before.
func TestADeadlineByWhichTheOperatorEndsAPodIsNoTimeout(t *testing.T) {
	for own, want := range map[int64]v1beta1.CauseKind{0: v1beta1.CauseOutOfMemory, 3601: v1beta1.CauseOutOfMemory, 3600: v1beta1.CauseTimeout, 1: v1beta1.CauseTimeout} {
		p := pod(exited(137, noon), reasoned(oomKilled), beside("proxy", nil), reason("DeadlineExceeded"), bounded(1))
		if own > 0 {
			p.Template.Spec.ActiveDeadlineSeconds = &own
		}
		require.Equal(t, want, Pod{Trim(p.DeepCopy()), p.Template}.FailureWithCause().Cause.Kind, own)
	}
}

// What ran on beside the main container does not tell when the code failed.
func TestAFailureIsThatOfTheMainContainer(t *testing.T) {
	p := loggerEnded(helped(3, phase(corev1.PodFailed)), noon.Add(time.Hour))
	require.Equal(t, noon, p.Failure().Time.Time)
	require.Equal(t, noon.Add(time.Hour), unnamed(p).Failure().Time.Time)
	require.Equal(t, noon.Add(time.Hour), p.EndedAt(), "other questions are about all containers")
}

// Somebody deletes the pod of a main container that has failed, before the kubelet has told the end of a helper. It may be the cause of other failures.
func TestWhatTheMainContainerSaysIsHeardWhileAHelperRuns(t *testing.T) {
	failed := helped(3)
	require.True(t, failed.HasFailedUnasked())
	require.False(t, unnamed(helped(3)).HasFailedUnasked(), "another container may go on")
	require.False(t, loggerFailed(helped(0, runsOn)).HasFailedUnasked(), "the main container runs")
}
