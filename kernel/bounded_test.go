package kernel_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

// manyTypes is a job of so many types of so many replicas.
func manyTypes(types, replicas int, more ...kt.JobOption) *v1beta1.GenericJob {
	var options []kt.JobOption
	for i := range types {
		options = append(options, kt.Type(fmt.Sprint("t", i), int32(replicas)))
	}
	return kt.Job(append(options, more...)...)
}

// TestOfEachTypeAsManyPodsArePlannedAsCanBeCreated: all that follows from what is missing is as if all were planned.
func TestOfEachTypeAsManyPodsArePlannedAsCanBeCreated(t *testing.T) {
	t.Parallel()
	job := manyTypes(3, 30)
	pods := kt.Pods(job, "t1", 25, kt.Running)
	w := kernel.World{Job: job, Pods: pods, Now: kt.Start, Settings: kt.Settings}
	all := kernel.Plan(w)
	require.Len(t, all.Actions, 65)
	require.Empty(t, all.TypesLackingPods)

	w.MaxCreates = 7
	some := kernel.Plan(w)
	require.Equal(t, []string{"t0", "t2"}, some.TypesLackingPods)
	want := append(append(append([]kernel.Action{}, all.Actions[:7]...), all.Actions[30:35]...), all.Actions[35:42]...)
	require.Equal(t, want, some.Actions)
	all.Actions, some.Actions, some.TypesLackingPods = nil, nil, nil
	require.Equal(t, all, some)

	w.MaxCreates = 30
	require.Empty(t, kernel.Plan(w).TypesLackingPods)
}

// TestADelayBehindWhatIsPlannedIsHeeded: a replica behind those that are planned may be due sooner than anything else happens.
func TestADelayBehindWhatIsPlannedIsHeeded(t *testing.T) {
	t.Parallel()
	job := kt.Job(kt.Type("worker", 10), kt.Begun)
	later := metav1.NewTime(kt.At(30 * time.Second))
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Rank: 9, Attempt: 1, Streak: 2, NotBefore: &later}}}}
	w := kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings}
	all := kernel.Plan(w)
	w.MaxCreates = 2
	some := kernel.Plan(w)
	require.Len(t, some.Actions, 2)
	require.NotZero(t, some.RequeueAfter)
	require.Equal(t, all.RequeueAfter, some.RequeueAfter)
}

// TestATinyJobOfManyReplicasTakesLittle: a job of a few kilobytes may ask for 16 types of 10,000, where the CRD is older.
func TestATinyJobOfManyReplicasTakesLittle(t *testing.T) {
	job := manyTypes(16, 1250, kt.Begun)
	job = after(job, kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings}))
	for i := range job.Spec.ReplicaSpecs { // a running job's spec is not looked at again
		*job.Spec.ReplicaSpecs[i].Replicas = 10_000
	}
	w := kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings, MaxCreates: 200}
	require.Len(t, kernel.Plan(w).Actions, 16*200, "%v", kernel.Plan(w).Status.Conditions)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const times = 10
	for range times {
		kernel.Plan(w)
	}
	runtime.ReadMemStats(&after)
	took := (after.TotalAlloc - before.TotalAlloc) / times
	t.Logf("a plan takes %d kB, and is weighed as %d kB", took>>10, kernel.Weight(w)>>10)
	require.Less(t, took, uint64(5<<20), "all that was taken in turn, for 160,000 replicas that are missing")
	require.Less(t, int(took), 8*kernel.Weight(w), "what it is weighed as is of the same order")
}

// TestVariablesStandForNoGigabytes: 60 kB of variables stand for 120 MB of host names.
func TestVariablesStandForNoGigabytes(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"in one text":    {strings.Repeat("$(service.worker.hosts)", 2500)},
		"in many texts":  strings.SplitAfter(strings.Repeat("$(service.worker.hosts)", 2500), ")"),
		"none is needed": {strings.Repeat("x", 3<<20)},
	} {
		job := kt.Job(kt.WithService(), kt.Type("worker", 3000, kt.Template(func(p *corev1.PodTemplateSpec) { p.Spec.Containers[0].Args = args })))
		pod := kernel.NewPodBuilder(job, kt.Settings).Pod(kernel.Action{Verb: kernel.CreatePod, Type: "worker"})
		require.Less(t, pod.Size(), 5<<20, name)
		require.Greater(t, pod.Size(), spec.MaxAdded, "an apiserver that takes the pod would run it as it is: "+name)
		d := kernel.Plan(kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings, MaxCreates: 1})
		if name == "none is needed" {
			require.NotEmpty(t, d.Actions)
			continue
		}
		require.Equal(t, v1beta1.JobFailed, d.Status.Phase, name)
		require.Contains(t, condition(d.Status, v1beta1.ConditionFailed).Message, "spec.replicaSpecs[worker].template: container main: variables stand for more than 3 MiB of text in one pod", name)
	}
}

func TestAJobOfTooManyReplicasOverAllTypes(t *testing.T) {
	t.Parallel()
	d := plan(t, manyTypes(2, 10_000), kt.Start)
	require.Len(t, d.Actions, 20_000)
	d = plan(t, manyTypes(3, 7_000), kt.Start)
	require.Equal(t, "spec.replicaSpecs: the job has 21000 replicas, and 20000 are allowed over all types: run fewer in one job",
		condition(d.Status, v1beta1.ConditionFailed).Message)
}

// forged is a ledger that names as many ranks as it can in 1.4 MB at most. Problem is what is told of it; "" if it can be read.
type forged struct {
	ledger  []v1beta1.TaskLedger
	problem string
}

// forgedLedgers are what names many ranks in few bytes, or makes many accounts.
func forgedLedgers() map[string]forged {
	all := v1beta1.RankRecord{LastRank: spec.MaxReplicas - 1}
	again := slices.Repeat([]v1beta1.RankRecord{all}, 50_000)
	perType := func(types int, of v1beta1.TaskLedger) (list []v1beta1.TaskLedger) {
		for i := range types {
			of.Type = fmt.Sprint("t", i)
			list = append(list, of)
		}
		return list
	}
	tooMany := func(n int) string {
		return fmt.Sprintf("status.ledger names %d ranks in succeeded, failed and replicas, and 200000 are allowed over all types", n)
	}
	return map[string]forged{
		"records of many types":         {perType(24_000, v1beta1.TaskLedger{Replicas: again[:1]}), tooMany(240_000_000)},
		"succeeded ranks of many types": {perType(35_000, v1beta1.TaskLedger{Succeeded: "0-9999"}), tooMany(350_000_000)},
		"failed ranks of many types":    {perType(35_000, v1beta1.TaskLedger{Failed: "0-9999"}), tooMany(350_000_000)},
		"records of the same ranks":     {perType(1, v1beta1.TaskLedger{Replicas: again}), tooMany(500_000_000)},
		"few records of the same ranks": {perType(1, v1beta1.TaskLedger{Replicas: again[:9]}), "status.ledger[t0].replicas: rank 0 after rank 9999: want ascending ranks, each in one record"},
		"as many records as are kept":   {perType(12, v1beta1.TaskLedger{Replicas: again[:1]}), ""},
		"as many outcomes as are read":  {perType(20, v1beta1.TaskLedger{Succeeded: "0-9999"}), ""},
		"as many types as are stored":   {perType(35_000, v1beta1.TaskLedger{Succeeded: "0"}), ""},
	}
}

// TestAForgedLedgerTakesLittle: who may write a status needs some bytes to name 10,000 ranks.
func TestAForgedLedgerTakesLittle(t *testing.T) {
	for name, tc := range forgedLedgers() {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1), kt.Begun)
			job.Status.Ledger = tc.ledger
			require.Less(t, sizeOf(t, job.Status), 1_400_000)
			w := kernel.World{Job: job, Now: kt.Start, Settings: kt.Settings}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			d := kernel.Plan(w)
			runtime.ReadMemStats(&after)
			took := int(after.TotalAlloc - before.TotalAlloc)
			t.Logf("a plan for a status of %d kB takes %d kB, and is weighed as %d kB", sizeOf(t, job.Status)>>10, took>>10, kernel.Weight(w)>>10)
			if tc.problem == "" {
				require.NotEqual(t, v1beta1.JobUnknown, d.Status.Phase)
				require.Less(t, took, 8*kernel.Weight(w), "what it is weighed as is of the same order")
				require.Less(t, took, 160<<20, "all that was taken in turn")
				return
			}
			require.Less(t, took, 2<<20)
			require.Equal(t, v1beta1.JobUnknown, d.Status.Phase)
			blocked := condition(d.Status, v1beta1.ConditionBlocked)
			require.Equal(t, v1beta1.ReasonLedgerUnreadable, blocked.Reason)
			require.Equal(t, tc.problem+". The operator does nothing for this job "+status.Repair+".", blocked.Message)
		})
	}
}
