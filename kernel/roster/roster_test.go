package roster

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/spec"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// jobOf is a job with three workers and one ps, in mode generation 2. Worker 1 is in attempt 1, and so is worker 5, which was scaled
// away.
func jobOf(edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	three := int32(3)
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &three}, {Type: "ps"}}
	job.Status.ModeGeneration = 2
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 1, Attempt: 1}, {Rank: 5, Attempt: 1}}}}
	for _, edit := range edits {
		edit(job)
	}
	return job
}

// podOf is the pod of a replica of the job, made for an attempt and mode generation 2.
func podOf(replicaType string, rank, attempt int, edits ...func(*corev1.Pod)) *corev1.Pod {
	job := jobOf()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: spec.PodName(job, replicaType, rank), Namespace: "ns", CreationTimestamp: metav1.NewTime(start),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))},
		Labels: map[string]string{
			v1beta1.LabelReplicaType: replicaType, v1beta1.LabelReplicaRank: strconv.Itoa(rank),
			v1beta1.LabelAttempt: strconv.Itoa(attempt), v1beta1.LabelModeGeneration: "2",
		},
	}}
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

func label(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels[key] = value }
}

func unlabelled(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { delete(p.Labels, key) }
}

func named(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Name = name }
}

func created(at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(at) }
}

func phase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.Phase = phase }
}

func rosterOf(t *testing.T, job *v1beta1.GenericJob, pods ...*corev1.Pod) *Roster {
	t.Helper()
	d, err := ledger.Load(job)
	require.NoError(t, err)
	return Of(job, d.Ledger, pods, podstate.Judge{Now: start})
}

// replicasWithPods says of which replica each pod is, as "worker-1" or "scaled down worker-7".
func replicasWithPods(r *Roster) []string {
	var list []string
	for _, t := range r.Types {
		for rank, pod := range t.Pods {
			if pod != nil {
				list = append(list, fmt.Sprintf("%s-%d", t.Type, rank))
			}
		}
	}
	for _, s := range r.ScaledDown {
		list = append(list, fmt.Sprintf("scaled down %s-%d@%d", s.Type, s.Rank, s.Attempt))
	}
	return list
}

func TestWherePodsArePut(t *testing.T) {
	other := func(edit func(*metav1.OwnerReference)) func(*corev1.Pod) {
		return func(p *corev1.Pod) { edit(&p.OwnerReferences[0]) }
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"a pod is at its replica":                              {podOf("worker", 2, 0), []string{"worker-2"}},
		"a pod past which the ledger has moved is there still": {podOf("worker", 1, 0), []string{"worker-1"}},
		"the first rank that the spec does not have is, too":   {podOf("worker", 3, 0), []string{"scaled down worker-3@0"}},
		"a rank that was scaled away is a scaled-down pod":     {podOf("worker", 5, 1), []string{"scaled down worker-5@1"}},
		"so is one of a type that has gone":                    {podOf("gone", 0, 3), []string{"scaled down gone-0@3"}},
		"a pod from before an edit of podNames is ours":        {podOf("worker", 2, 0, named("job-worker-2")), []string{"worker-2"}},
		"and so may be a scaled-down pod":                      {podOf("gone", 0, 0, named("job-gone-0")), []string{"scaled down gone-0@0"}},
		"a pod without an attempt is older than any":           {podOf("gone", 0, 0, unlabelled(v1beta1.LabelAttempt)), []string{"scaled down gone-0@-1"}},
		"nobody's pod is not ours":                             {podOf("worker", 2, 0, func(p *corev1.Pod) { p.OwnerReferences = nil }), nil},
		"a namesake's pod is not ours":                         {podOf("worker", 2, 0, other(func(o *metav1.OwnerReference) { o.UID = "older" })), nil},
		"an owner that is no controller does not count":        {podOf("worker", 2, 0, other(func(o *metav1.OwnerReference) { o.Controller = nil })), nil},
		"a copy under another name is not ours":                {podOf("worker", 2, 0, named("job-copy")), nil},
		"a pod that gives itself another rank is not ours":     {podOf("worker", 2, 0, label(v1beta1.LabelReplicaRank, "1")), nil},
		"nor one of another type":                              {podOf("worker", 0, 0, label(v1beta1.LabelReplicaType, "ps")), nil},
		"nor one without a rank":                               {podOf("worker", 2, 0, unlabelled(v1beta1.LabelReplicaRank)), nil},
		"nor one of a negative rank":                           {podOf("worker", -1, 0), nil},
		"nor one of a rank that no job has":                    {podOf("worker", spec.MaxReplicas, 0), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, setting := range []v1beta1.PodNames{"", v1beta1.PodNamesPlain} { // names of both spellings are ours under both
				job := jobOf(func(job *v1beta1.GenericJob) { job.Spec.PodNames = setting })
				pods := []*corev1.Pod{tc.pod}
				before := tc.pod.DeepCopy()
				require.Equal(t, tc.want, replicasWithPods(rosterOf(t, job, pods...)))
				require.Equal(t, before, tc.pod, "the pod was changed")
			}
		})
	}
}

func TestTheOrderOfPodsDoesNotMatter(t *testing.T) {
	pods := []*corev1.Pod{podOf("worker", 7, 0), podOf("ps", 0, 0), podOf("worker", 0, 9), podOf("gone", 0, 0), podOf("worker", 2, 9), podOf("worker", 10, 0)}
	for range pods {
		pods = append(pods[1:], pods[0])
		r := rosterOf(t, jobOf(), slices.Clone(pods)...)
		require.Equal(t, []string{"worker-0", "worker-2", "ps-0", "scaled down gone-0@0", "scaled down worker-10@0", "scaled down worker-7@0"}, replicasWithPods(r))
		require.Equal(t, podOf("worker", 0, 0).Name, r.Newer)
	}
}

// A pod that was made for what the ledger does not know yet shows that the job's cache is older than that of the pods.
func TestNewer(t *testing.T) {
	modeGeneration := func(n int) func(*corev1.Pod) { return label(v1beta1.LabelModeGeneration, strconv.Itoa(n)) }
	over := func(job *v1beta1.GenericJob) { job.Status.CompletionTime = &metav1.Time{Time: start} }
	whole := func(job *v1beta1.GenericJob) { job.Status.JobAttempt = 3 }
	tests := map[string]struct {
		job   *v1beta1.GenericJob
		pod   *corev1.Pod
		newer bool
	}{
		"a pod of this attempt":                         {jobOf(), podOf("worker", 1, 1), false},
		"an older one":                                  {jobOf(), podOf("worker", 1, 0), false},
		"a later attempt than the ledger has":           {jobOf(), podOf("worker", 1, 2), true},
		"a later attempt of a replica never replaced":   {jobOf(), podOf("worker", 0, 1), true},
		"job attempts count":                            {jobOf(whole), podOf("worker", 1, 4), false},
		"beyond those, too":                             {jobOf(whole), podOf("worker", 1, 5), true},
		"a later mode generation":                       {jobOf(), podOf("worker", 1, 1, modeGeneration(3)), true},
		"an earlier mode generation":                    {jobOf(), podOf("worker", 1, 1, modeGeneration(1)), false},
		"a rank that was scaled away has an attempt":    {jobOf(), podOf("worker", 5, 1), false},
		"a scaled-down pod may be newer":                {jobOf(), podOf("worker", 5, 2), true},
		"so may one of a type that nobody knows":        {jobOf(), podOf("gone", 0, 1), true},
		"a pod without numbers":                         {jobOf(), podOf("worker", 0, 0, unlabelled(v1beta1.LabelAttempt), unlabelled(v1beta1.LabelModeGeneration)), false},
		"a pod that is not ours proves nothing":         {jobOf(), podOf("worker", 0, 9, named("job-copy")), false},
		"nothing is newer than the end of a job":        {jobOf(over), podOf("worker", 1, 2), false},
		"an attempt that is no number is not a new one": {jobOf(), podOf("worker", 0, 0, label(v1beta1.LabelAttempt, "many")), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := ""
			if tc.newer {
				want = tc.pod.Name
			}
			require.Equal(t, want, rosterOf(t, tc.job, tc.pod).Newer)
		})
	}
}

func TestGarbage(t *testing.T) {
	whole := func(job *v1beta1.GenericJob) { job.Status.JobAttempt = 1 }
	tests := map[string]struct {
		job        *v1beta1.GenericJob
		pod        *corev1.Pod
		superseded bool
	}{
		"no pod":                     {jobOf(), nil, false},
		"a pod of this attempt":      {jobOf(), podOf("worker", 1, 1), false},
		"a newer one":                {jobOf(), podOf("worker", 1, 2), false},
		"an older one":               {jobOf(), podOf("worker", 1, 0), true},
		"a restart of the whole job": {jobOf(whole), podOf("worker", 0, 0), true},
		"an earlier mode generation alone is none":  {jobOf(), podOf("worker", 1, 1, label(v1beta1.LabelModeGeneration, "0")), false},
		"a pod without an attempt is":               {jobOf(), podOf("worker", 0, 0, unlabelled(v1beta1.LabelAttempt)), true},
		"scaled-down pods are, of whatever attempt": {jobOf(), podOf("gone", 0, 9), true},
		"what is not ours is not superseded":        {jobOf(), podOf("worker", 1, 0, named("job-copy")), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var pods []*corev1.Pod
			if tc.pod != nil {
				pods = []*corev1.Pod{tc.pod}
			}
			has, _ := rosterOf(t, tc.job, pods...).HasPodsThatMustGo()
			require.Equal(t, tc.superseded, has)
		})
	}
}

func TestEndingsAreToldByTheReplicasOwnAccount(t *testing.T) {
	always := func(job *v1beta1.GenericJob) {
		one := int32(1)
		job.Spec.ReplicaSpecs[0].RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways, Limit: &one}
	}
	done := phase(corev1.PodSucceeded)
	tests := map[string]struct {
		job  *v1beta1.GenericJob
		pod  *corev1.Pod // of worker 1, which is in attempt 1 and mode generation 2
		want podstate.State
	}{
		"it lives":                          {jobOf(), podOf("worker", 1, 1, phase(corev1.PodRunning)), podstate.Alive},
		"it was made for another mode":      {jobOf(), podOf("worker", 1, 1, phase(corev1.PodRunning), label(v1beta1.LabelModeGeneration, "1")), podstate.Unwanted},
		"the ledger has moved past it":      {jobOf(), podOf("worker", 1, 0, done), podstate.Superseded},
		"a success of another mode is one":  {jobOf(), podOf("worker", 1, 1, done, label(v1beta1.LabelModeGeneration, "1")), podstate.Succeeded},
		"unless the replica runs again":     {jobOf(always), podOf("worker", 1, 1, done, label(v1beta1.LabelModeGeneration, "1")), podstate.Superseded},
		"a success of this mode is counted": {jobOf(always), podOf("worker", 1, 1, done), podstate.Succeeded},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r := rosterOf(t, tc.job, podOf("worker", 0, 0), tc.pod)
			require.Equal(t, tc.want, r.State(&r.Types[0], 1))
		})
	}
}

func TestFirstCreated(t *testing.T) {
	late, early := start.Add(time.Hour), start.Add(time.Minute)
	tests := map[string]struct {
		pods []*corev1.Pod
		want time.Time
	}{
		"no pods":                                {nil, time.Time{}},
		"the first is not the first in the list": {[]*corev1.Pod{podOf("worker", 0, 0, created(late)), podOf("worker", 1, 0, created(early))}, early},
		"a scaled-down pod was a pod of the job": {[]*corev1.Pod{podOf("worker", 0, 0, created(late)), podOf("gone", 1, 0, created(early))}, early},
		"what is not ours began nothing":         {[]*corev1.Pod{podOf("worker", 0, 0, created(late)), podOf("worker", 1, 0, created(early), named("x"))}, late},
		"a pod without a time is not the first":  {[]*corev1.Pod{podOf("worker", 0, 0, created(late)), podOf("worker", 1, 0, created(time.Time{}))}, late},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, rosterOf(t, jobOf(), tc.pods...).FirstCreated())
		})
	}
}
