package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// BenchmarkPlan is one reconcile over a job whose pods all run and of which one has just started, the reconcile that a large job
// makes most often.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			job := kt.Job(kt.Task("worker", int32(n)), kt.Begun)
			pods := kt.Pods(job, "worker", n, kt.Running)
			job = after(job, kernel.Plan(kernel.World{Job: job, Pods: pods[1:], Now: kt.Start, Settings: kt.Settings}))
			w := kernel.World{Job: job, Pods: pods, Now: kt.At(time.Minute), Settings: kt.Settings}
			b.ReportAllocs()
			for b.Loop() {
				kernel.Plan(w)
			}
		})
	}
}
