package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// A hang counts for the node of the replica that was found first. Who fails after another one of that hang was ended may have lost that one.
func TestWhoFailsAfterAHangThatHasCountedSpeaksAgainstNoNode(t *testing.T) {
	for name, tc := range map[string]struct {
		crash int // second at which worker 2 fails
		want  []string
	}{
		"after the hang":            {66, []string{"x"}},
		"in the second of the hang": {65, []string{"x"}},
		"before the hang":           {64, []string{"c", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := hung(avoiding(v1beta1.AvoidNodes{After: new(int32(1)), AtMost: new(int32(9))}))
			pods := kt.Pods(job, "worker", 4, kt.Running)
			sees := func(second int) {
				w := kernel.World{Job: job, Pods: pods, Now: kt.At(time.Minute + time.Duration(second)*time.Second), NodeCount: 9, Settings: kt.Settings}
				job.Status = stored(t, planWorld(t, w).Status)
			}
			first, found, late, other := crashed(0, 1, nan), ended(0, 50, inData), ended(0, 65, inData), crashed(tc.crash, 1, nan)
			pods[3] = kt.Pod(job, "worker", 3, first, onNode("x"))
			sees(5)
			pods[0] = kt.Pod(job, "worker", 0, found, onNode("h"))
			sees(55)
			pods[1], pods[2] = kt.Pod(job, "worker", 1, late, onNode("l")), kt.Pod(job, "worker", 2, other, onNode("c"))
			sees(70)
			require.ElementsMatch(t, tc.want, failedNodes(job))
			require.EqualValues(t, 3, job.Status.BackoffCount, "the hang is counted once")
		})
	}
}

// failedNodes are the nodes that failures speak against.
func failedNodes(job *v1beta1.GenericJob) (nodes []string) {
	for _, n := range job.Status.NodeFailures {
		nodes = append(nodes, n.Node)
	}
	return nodes
}
