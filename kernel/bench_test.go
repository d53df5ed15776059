package kernel_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// BenchmarkPlan is one reconcile over a job whose pods all run and of which one has just started. A large job makes this reconcile most
// often.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			job := kt.Job(kt.Type("worker", int32(n)), kt.Begun)
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

// BenchmarkPlanWithFaults is the same for a job with avoidNodes, when much speaks against nodes: as much as the operator remembers for one job.
func BenchmarkPlanWithFaults(b *testing.B) {
	const n = 5000
	job := kt.Job(kt.Type("worker", n), kt.Begun, avoiding(v1beta1.AvoidNodes{}))
	pods := kt.Pods(job, "worker", n, kt.Running)
	job = after(job, kernel.Plan(kernel.World{Job: job, Pods: pods[1:], Now: kt.Start, Settings: kt.Settings}))
	for _, faults := range []int{0, 1, 200} {
		b.Run(fmt.Sprintf("faults=%d", faults), func(b *testing.B) {
			w := kernel.World{Job: job, Pods: pods, Now: kt.At(time.Minute), NodeCount: 9999, Settings: kt.Settings}
			for i := range faults {
				w.NodeProblems = append(w.NodeProblems, others(fmt.Sprint("n", i), v1beta1.AvoidFailed, time.Second, 2*time.Second))
			}
			b.ReportAllocs()
			for b.Loop() {
				kernel.Plan(w)
			}
		})
	}
}
