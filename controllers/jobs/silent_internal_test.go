package jobs

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// Pods that do not answer, a stopped wrapper's for example, held all workers for as long as a call takes to give up. No reconcile of 300
// such jobs may wait, and another job hears its pod meanwhile.
func TestThreeHundredJobsWhosePodsAreSilentHoldNobodyUp(t *testing.T) {
	silent, _ := present(t) // the kernel takes calls at its door, and nobody answers
	q, _ := queued(t)
	underway := 0
	for n := range 300 {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint("silent-", n)}}
		var rounds [subjects]*round
		require.Empty(t, q.ask(t.Context(), &rounds, job, Arrival, []*corev1.Pod{silent}, true))
		q.mu.Lock()
		if rounds[Arrival].underway {
			underway++
		}
		q.mu.Unlock()
	}
	require.NotZero(t, underway, "their reconciles are over before their questions are")

	pod, door := present(t)
	go func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			var asked inplace.Question
			if json.NewDecoder(conn).Decode(&asked) == nil {
				_ = json.NewEncoder(conn).Encode(inplace.Report{Pod: asked.Pod, Attempt: 1})
			}
			_ = conn.Close()
		}
	}()
	var rounds [subjects]*round
	heard := func() bool {
		return len(q.ask(t.Context(), &rounds, asksAbout, Arrival, []*corev1.Pod{pod}, true)) == 1
	}
	require.Eventually(t, heard, 10*time.Minute, 10*time.Millisecond)
}
