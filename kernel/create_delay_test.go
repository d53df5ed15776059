package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// An operator whose clock was ahead has written when the next pod may come. No replica waits for longer than the longest delay, however far ahead
// that clock was.
func TestADelayThatAnotherClockWroteIsNoLongerThanTheLongest(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Replicas: []v1beta1.RankRecord{{Attempt: 2, Restarts: 2, Streak: 2, NotBefore: new(metav1.NewTime(kt.At(time.Hour)))}}}}
	d := plan(t, job, kt.At(time.Second))
	require.Empty(t, did(d))
	require.LessOrEqual(t, d.RequeueAfter, 5*time.Minute+time.Second)
	job = after(job, d)
	require.Empty(t, did(plan(t, job, kt.At(5*time.Minute))), "it waits once")
	require.Equal(t, []string{"CreatePod worker-0@2"}, did(plan(t, job, kt.At(5*time.Minute+2*time.Second))))
}
