package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

// meeting is a job of two workers, which have just been told to stop and wait, and its barrier.
type meeting struct {
	job      *v1beta1.GenericJob
	pods     []*corev1.Pod
	inputs   barrier.Inputs
	draft    ledger.Draft
	replicas *roster.Roster
}

// meet has both workers report that they wait; edit changes that.
func meet(t *testing.T, edit func(*meeting)) (m *meeting, is barrier.Barrier) {
	t.Helper()
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 3)), kt.InPlace, kt.JobScope, kt.Begun)
	told := func(p *corev1.Pod) {
		p.Annotations = map[string]string{inplace.Annotation: inplace.Order{Attempt: 1, JobAttempt: 1}.String()}
	}
	m = &meeting{job: job, pods: kt.Pods(job, "worker", 2, exitedInItsPod, told)}
	now := metav1.NewMicroTime(kt.Start)
	job.Status.JobAttempt, job.Status.InPlace = 1, &v1beta1.InPlaceStatus{BarrierTime: &now}
	m.inputs = barrier.Inputs{Job: job, Now: kt.At(time.Second), WrapperImage: "wrapper", Reports: map[types.UID]inplace.Report{}}
	for _, p := range m.pods {
		m.inputs.Reports[p.UID] = inplace.Report{Pod: string(p.UID), Attempt: 1, Exits: 1}
	}
	edit(m)
	var err error
	m.draft, err = ledger.Load(job)
	require.NoError(t, err)
	m.replicas = roster.Of(job, m.draft.Ledger, m.pods, podstate.Judge{Now: m.inputs.Now})
	return m, barrier.OpenIfAllArrived(m.inputs, m.draft, m.replicas)
}

// report edits what the second worker reports.
func report(edit func(*inplace.Report)) func(*meeting) {
	return func(m *meeting) {
		r := m.inputs.Reports[m.pods[1].UID]
		edit(&r)
		m.inputs.Reports[m.pods[1].UID] = r
	}
}

func late(after time.Duration) func(*meeting) {
	return func(m *meeting) {
		delete(m.inputs.Reports, m.pods[1].UID)
		m.inputs.Now = kt.At(after)
	}
}

const silent = "replica worker-1 to say that its code has stopped"

func TestOpen(t *testing.T) {
	tests := map[string]struct {
		edit     func(*meeting)
		open     bool
		awaits   string
		replaces bool // the pod of the second worker
	}{
		"both wait":            {edit: func(*meeting) {}, open: true},
		"one has not answered": {edit: late(time.Second), awaits: silent},
		"it is given its grace and half a minute": {edit: late(time.Minute), awaits: silent},
		"and no more":                        {edit: late(time.Minute + time.Second), awaits: "the pod of replica worker-1 to be replaced", replaces: true},
		"one is still at the attempt before": {edit: report(func(r *inplace.Report) { r.Attempt = 0 }), awaits: silent},
		"one claims a later attempt":         {edit: report(func(r *inplace.Report) { r.Attempt = 2 }), awaits: silent},
		"another pod answers for it":         {edit: report(func(r *inplace.Report) { r.Pod = "other" }), awaits: silent},
		"its kubelet lags by a few ends":     {edit: report(func(r *inplace.Report) { r.Exits = 17 }), open: true},
		"but not that many":                  {edit: report(func(r *inplace.Report) { r.Exits = 18 }), awaits: silent},
		"one has no pod":                     {edit: func(m *meeting) { m.pods = m.pods[:1] }},
		"the one without a pod has succeeded": {open: true, edit: func(m *meeting) {
			m.pods, m.job.Status.Ledger = m.pods[:1], []v1beta1.TaskLedger{{Type: "worker", Succeeded: "1"}}
		}},
		"its pod is new, and no node has it yet": {open: true, edit: func(m *meeting) {
			delete(m.inputs.Reports, m.pods[1].UID)
			m.pods[1] = kt.Pod(m.job, "worker", 1)
		}},
		"the kubelet of one may know the cause": {awaits: "the kubelet to say how replica worker-1 has ended", edit: func(m *meeting) {
			m.inputs.CauseIsUnknown = true
			report(func(r *inplace.Report) { r.Exits = 2 })(m)
		}},
		"but is not awaited for long": {open: true, edit: func(m *meeting) {
			m.inputs.CauseIsUnknown, m.inputs.Now = true, kt.At(10*time.Second)
			report(func(r *inplace.Report) { r.Exits = 2 })(m)
		}},
		"nor after the clock was set back": {open: true, edit: func(m *meeting) {
			m.inputs.CauseIsUnknown, m.inputs.Now = true, kt.At(-time.Hour)
			report(func(r *inplace.Report) { r.Exits = 2 })(m)
		}},
		"after many short lives there is a delay": {awaits: "the end of the delay after several short lives, at 2026-01-01T00:00:40Z", edit: func(m *meeting) {
			at := metav1.NewTime(kt.At(40 * time.Second))
			m.job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 0, Streak: 12, NotBefore: &at}}}}
		}},
		"an auxiliary one without a pod is not awaited": {open: true, edit: func(m *meeting) {
			m.job.Spec.ReplicaSpecs = append(m.job.Spec.ReplicaSpecs, *m.job.Spec.ReplicaSpecs[0].DeepCopy())
			m.job.Spec.ReplicaSpecs[1].Type, m.job.Spec.ReplicaSpecs[1].Auxiliary = "store", true
		}},
		"with restartScope Replica nobody waits": {open: true, edit: func(m *meeting) {
			late(time.Second)(m)
			m.job.Spec.RestartScope = v1beta1.RestartScopeReplica
		}},
		"one is open already": {open: true, edit: func(m *meeting) {
			m.job.Status.InPlace.StartedJobAttempt, m.inputs.Reports = 1, nil
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			m, b := meet(t, tc.edit)
			require.Equal(t, tc.open, m.draft.BarrierIsOpen())
			require.Equal(t, tc.open, b.MayCreateUnwrapped)
			require.Equal(t, tc.awaits, b.Awaits)
			workers := &m.replicas.Types[0]
			require.Equal(t, tc.replaces, workers.Pods[1] != nil && m.replicas.IsObsolete(workers, 1))
		})
	}
}

// What has ended before the barrier opens is of attempts that are over, and is not counted again.
func TestWhatHasEndedIsNotedWhenTheBarrierOpens(t *testing.T) {
	m, _ := meet(t, report(func(r *inplace.Report) { r.Exits = 3 }))
	a := m.replicas.Types[0].Account
	require.Equal(t, 1, a.Exits(0, m.pods[0].UID), "as the kubelet says, and the report")
	require.Equal(t, 3, a.Exits(1, m.pods[1].UID), "as the report says: the kubelet lags")
}

func TestWhoIsAwaitedStaysInTheStatus(t *testing.T) {
	_, b := meet(t, func(m *meeting) {
		m.inputs.Reports = nil
		m.job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Message: "All wait: waiting for " + silent + "."}}
	})
	require.Equal(t, silent, b.Awaits, "not the first of those that have not answered")
}
