package barrier_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ending"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/roster"
)

var (
	mades    = []string{"present", "earlier", "too-old"}
	orders   = []string{"go", "wait", "earlier"}
	barriers = []string{"open", "closed"}
	columns  = []kt.PodOption{kt.Running, exitedInItsPod, kt.Exited(0), kt.Exited(1)}
	names    = map[ending.Ending]string{
		ending.Alive: "Alive", ending.Behind: "Behind", ending.Exited: "Exited", ending.Succeeded: "Succeeded", ending.Failed: "Failed",
		ending.Superseded: "Superseded", ending.Unwanted: "Unwanted",
	}
)

// exitedInItsPod has the code end, and the kubelet start its container again.
func exitedInItsPod(p *corev1.Pod) {
	kt.Running(p)
	s := &p.Status.ContainerStatuses[0]
	s.RestartCount, s.LastTerminationState = 1, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
}

// state is a job in its second attempt, and a pod of it.
func state(made, order, is string, option kt.PodOption) (*v1beta1.GenericJob, *corev1.Pod) {
	job := kt.Job(kt.Task("worker", 1, kt.Policy(v1beta1.RestartOnFailure, 3)), kt.InPlace, kt.JobScope, kt.Begun)
	job.Status.InPlace = &v1beta1.InPlaceStatus{}
	madeIn := job
	if job.Status.JobAttempt, job.Status.InPlace.StartedJobAttempt = 2, 1; is == "open" {
		job.Status.InPlace.StartedJobAttempt = 2
	}
	switch made {
	case "earlier":
		madeIn = job.DeepCopy()
		madeIn.Status.JobAttempt = 1
	case "too-old":
		madeIn = job.DeepCopy()
		madeIn.Status.JobAttempt = 1
		job.Status.InPlace.MinPodJobAttempt = 2
	}
	o := map[string]inplace.Order{"go": {Attempt: 2, Go: 2, JobAttempt: 2}, "wait": {Attempt: 2, JobAttempt: 2}, "earlier": {Attempt: 1, Go: 1, JobAttempt: 1}}[order]
	return job, kt.Pod(madeIn, "worker", 0, option, func(p *corev1.Pod) { p.Annotations = map[string]string{inplace.Annotation: o.String()} })
}

// means says what the pod means, and what it is told.
func means(t *testing.T, job *v1beta1.GenericJob, pod *corev1.Pod) (is, told string) {
	t.Helper()
	draft, err := ledger.Load(job)
	require.NoError(t, err)
	replicas := roster.Of(job, draft.Ledger, []*corev1.Pod{pod}, ending.Judge{Now: kt.Start})
	want := barrier.OrderOf(draft.Ledger, replicas.Types[0].Account, 0)
	switch is = names[replicas.Ending(&replicas.Types[0], 0)]; {
	case is != "Alive" && is != "Behind", *replicas.Types[0].Order(0) == want:
		return is, "-"
	case want.Go < want.Attempt:
		return is, "wait"
	default:
		return is, "go"
	}
}

// TestEveryStateOfAPodIsInTheTable compares the table of the package's comment with what the code says of each combination.
func TestEveryStateOfAPodIsInTheTable(t *testing.T) {
	var rows [][]string
	for _, made := range mades {
		for _, order := range orders {
			for _, is := range barriers {
				row := []string{made, order, is}
				told := ""
				for i, column := range columns {
					job, pod := state(made, order, is, column)
					meaning, next := means(t, job, pod)
					if row = append(row, meaning); i == 0 {
						told = next
					}
				}
				rows = append(rows, append(row, told))
			}
		}
	}
	require.Equal(t, drawn(t), rows)
}

// drawn are the rows of the table in doc.go.
func drawn(t *testing.T) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	for line := range strings.Lines(string(text)) {
		if row := strings.Fields(strings.TrimPrefix(line, "//")); len(row) == 8 && slices.Contains(mades, row[0]) {
			rows = append(rows, row)
		}
	}
	return rows
}
