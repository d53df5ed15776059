package barrier_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
)

var (
	mades    = []string{"present", "earlier", "obsolete"}
	orders   = []string{"go", "wait", "earlier"}
	barriers = []string{"open", "closed"}
	columns  = []kt.PodOption{kt.Running, exitedInItsPod, kt.Exited(0), kt.Exited(1)}
	names    = map[podstate.State]string{
		podstate.Alive: "Alive", podstate.Behind: "Behind", podstate.FailedInPod: "FailedInPod", podstate.Succeeded: "Succeeded", podstate.Failed: "Failed",
		podstate.Superseded: "Superseded", podstate.Unwanted: "Unwanted", podstate.Terminating: "Terminating", podstate.Lost: "Lost",
		podstate.Disrupted: "Disrupted",
	}
)

// exitedInItsPod has the code end, and the kubelet start its container again.
func exitedInItsPod(p *corev1.Pod) {
	kt.Running(p)
	s := &p.Status.ContainerStatuses[0]
	s.RestartCount, s.LastTerminationState = 1, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
}

// state is a job in its second attempt, and a pod of it.
func state(made, order, barrierIs string, option kt.PodOption) (*v1beta1.GenericJob, *corev1.Pod) {
	job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 3)), kt.InPlace, kt.JobScope, kt.Begun)
	job.Status.InPlace = &v1beta1.InPlaceStatus{}
	madeIn := job
	if job.Status.JobAttempt, job.Status.InPlace.StartedJobAttempt = 2, 1; barrierIs == "open" {
		job.Status.InPlace.StartedJobAttempt = 2
	}
	switch made {
	case "earlier":
		madeIn = job.DeepCopy()
		madeIn.Status.JobAttempt = 1
	case "obsolete":
		madeIn = job.DeepCopy()
		madeIn.Status.JobAttempt = 1
		job.Status.InPlace.MinPodJobAttempt = 2
	}
	o := map[string]inplace.Order{"go": {Attempt: 2, Go: 2, JobAttempt: 2}, "wait": {Attempt: 2, JobAttempt: 2}, "earlier": {Attempt: 1, Go: 1, JobAttempt: 1}}[order]
	return job, kt.Pod(madeIn, "worker", 0, option, func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.Annotation: o.String()} })
}

// means says what the pod means, and what it is told.
func means(t *testing.T, job *v1beta1.GenericJob, pod *corev1.Pod) (meaning, told string) {
	t.Helper()
	draft, err := ledger.Load(job)
	require.NoError(t, err)
	return meansBy(draft, job, pod)
}

// meansBy says the same by a ledger that has been written to.
func meansBy(draft ledger.Draft, job *v1beta1.GenericJob, pod *corev1.Pod) (meaning, told string) {
	replicas := roster.Of(job, draft.Ledger, []*corev1.Pod{pod}, podstate.Judge{Now: kt.Start, ForceReplaceAfter: time.Minute})
	want := barrier.OrderOf(draft.Ledger, replicas.Types[0].Account, 0)
	switch meaning = names[replicas.State(&replicas.Types[0], 0)]; {
	case meaning != "Alive" && meaning != "Behind", *replicas.Types[0].Order(0) == want:
		return meaning, "-"
	case want.Go < want.Attempt:
		return meaning, "wait"
	default:
		return meaning, "go"
	}
}

// TestEveryStateOfAPodIsInTheTables compares the tables of the package's comment with what the code says of each combination.
func TestEveryStateOfAPodIsInTheTables(t *testing.T) {
	ages, states, next := drawn(t, "the pod was made for"), drawn(t, "the pod is"), drawn(t, "the barrier is")
	used := map[int]bool{}
	for _, made := range mades {
		for _, order := range orders {
			for _, barrierIs := range barriers {
				age := ""
				for i, row := range ages {
					if row[0] == inWords[made] && (row[1] == inWords[order] || row[1] == "any attempt") && slices.Contains(strings.Fields(row[2]), barrierIs) {
						require.Empty(t, age, "two rows fit %s %s %s", made, order, barrierIs)
						age, used[i] = row[3], true
					}
				}
				told := only(t, next, barrierIs)[1]
				if age == "obsolete" || told == order {
					told = "-"
				}
				for i, column := range columns {
					job, pod := state(made, order, barrierIs, column)
					meaning, gets := means(t, job, pod)
					require.Equal(t, only(t, states, age)[i+1], meaning, "%s %s %s", made, order, barrierIs)
					if i == 0 {
						require.Equal(t, told, gets, "%s %s %s", made, order, barrierIs)
					}
				}
			}
		}
	}
	require.Len(t, used, len(ages), "each row fits something")
}

// inWords is how the tables call the attempt for which a pod was made, and that of its order.
var inWords = map[string]string{
	"present": "this attempt", "earlier": "an earlier attempt", "obsolete": "one that is obsolete", "go": "this attempt", "wait": "this attempt",
}

// only returns the one row that begins so.
func only(t *testing.T, rows [][]string, begin string) (row []string) {
	t.Helper()
	for _, r := range rows {
		if r[0] == begin {
			require.Nil(t, row, "two rows begin with %q", begin)
			row = r
		}
	}
	require.NotNil(t, row, "no row begins with %q", begin)
	return row
}

// drawn are the rows of the table in doc.go whose head begins so.
func drawn(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, below, found := strings.Cut(string(text), "//\t"+head+"  ")
	require.True(t, found, "no table has the head %q", head)
	table, _, _ := strings.Cut(below, "\n//\n")
	for _, line := range strings.Split(table, "\n")[1:] {
		rows = append(rows, regexp.MustCompile(` {2,}`).Split(strings.TrimPrefix(line, "//\t"), -1))
	}
	require.NotEmpty(t, rows)
	return rows
}

func always(job *v1beta1.GenericJob) {
	job.Spec.ReplicaSpecs[0].RestartPolicy.Policy = v1beta1.RestartAlways
}

func laterMode(job *v1beta1.GenericJob) { job.Status.ModeGeneration++ }

func deleted(ago time.Duration) kt.PodOption { return kt.Deleted(kt.At(-ago), time.Second) }

// TestWhatElseDecides holds the list below the tables: what the tables take for granted is otherwise here.
func TestWhatElseDecides(t *testing.T) {
	tests := map[string]struct {
		state string // of the pod: made, order and barrier
		edit  func(*v1beta1.GenericJob)
		pod   kt.PodOption
		exits int      // that are counted
		want  []string // as in the second table
	}{
		"an earlier mode generation":     {"present go open", laterMode, nil, 0, []string{"Unwanted", "Unwanted", "Succeeded", "Superseded"}},
		"one that is deleted":            {"present go open", nil, deleted(0), 0, []string{"Terminating", "FailedInPod", "Succeeded", "Disrupted"}},
		"one whose node is silent":       {"present go open", nil, deleted(time.Hour), 0, []string{"Lost", "FailedInPod", "Disrupted", "Disrupted"}},
		"one that is deleted and behind": {"earlier wait closed", nil, deleted(0), 0, []string{"Superseded", "Superseded", "Succeeded", "Superseded"}},
		"counted exits":                  {"present go open", nil, nil, 1, []string{"Alive", "Alive", "Succeeded", "Failed"}},
		"Always, at the present attempt": {"present go open", always, nil, 0, []string{"Alive", "FailedInPod", "Succeeded", "Failed"}},
		"Always, behind":                 {"earlier wait closed", always, nil, 0, []string{"Behind", "Behind", "Superseded", "Superseded"}},
		"Always, obsolete":               {"obsolete earlier open", always, nil, 0, []string{"Unwanted", "Unwanted", "Superseded", "Superseded"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, column := range columns {
				of := strings.Fields(tc.state)
				job, pod := state(of[0], of[1], of[2], column)
				if tc.edit != nil {
					tc.edit(job)
				}
				if tc.pod != nil {
					tc.pod(pod)
				}
				draft, err := ledger.Load(job)
				require.NoError(t, err)
				draft.NoteExits(draft.Accounts()[0], 0, pod.UID, tc.exits)
				meaning, _ := meansBy(draft, job, pod)
				got = append(got, meaning)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// With restartScope Replica nobody waits: a pod is behind until it is told of the attempt of its replica.
func TestOneReplicaGoesOnAlone(t *testing.T) {
	tests := map[string]struct {
		order    inplace.Order
		min      int32
		is, told string
	}{
		"it is told to go":         {inplace.Order{}, 0, "Behind", "go"},
		"it has been told":         {inplace.Order{Attempt: 1, Go: 1}, 0, "Alive", "-"},
		"a new pod is to be made":  {inplace.Order{}, 1, "Unwanted", "-"},
		"it was told to wait once": {inplace.Order{Attempt: 1}, 0, "Alive", "go"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 3)), kt.InPlace, kt.Begun)
			pod := kt.Pod(job, "worker", 0, kt.Running, func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.Annotation: tc.order.String()} })
			job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Attempt: 1, MinPodAttempt: tc.min}}}}
			meaning, told := means(t, job, pod)
			require.Equal(t, [2]string{tc.is, tc.told}, [2]string{meaning, told})
		})
	}
}
