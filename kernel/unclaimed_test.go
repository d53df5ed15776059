package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// A pod that had lost its rank or its type kept our finalizer until somebody deleted the job.
func TestAPodThatIsNoReplicasIsLetGoAtTheEnd(t *testing.T) {
	without := func(label string) kt.PodOption {
		return func(p *corev1.Pod) { delete(p.Labels, label) }
	}
	deleted := kt.Deleted(kt.Start, 30*time.Second)
	for name, tc := range map[string]struct {
		first, lost    []kt.PodOption // of worker-0, and of worker-1 without a label
		job            func(*v1beta1.GenericJob)
		releases, asks bool // worker-1 is released, or created
	}{
		"the job runs":                   {first: []kt.PodOption{kt.Running}, lost: []kt.PodOption{kt.Running}, asks: true},
		"somebody deletes it":            {first: []kt.PodOption{kt.Running}, lost: []kt.PodOption{kt.Running, deleted}, releases: true, asks: true},
		"the job has failed":             {first: []kt.PodOption{kt.Exited(1)}, lost: []kt.PodOption{kt.Running}, releases: true},
		"it has been let go":             {first: []kt.PodOption{kt.Exited(1)}, lost: []kt.PodOption{kt.Running, kt.Released}},
		"the job is deleted":             {first: []kt.PodOption{kt.Running}, lost: []kt.PodOption{kt.Running}, job: func(j *v1beta1.GenericJob) { j.DeletionTimestamp = &j.CreationTimestamp }, releases: true},
		"it is somebody else's":          {first: []kt.PodOption{kt.Exited(1)}, lost: []kt.PodOption{kt.Running, func(p *corev1.Pod) { p.OwnerReferences = nil }}},
		"it ended in a job that goes on": {first: []kt.PodOption{kt.Running}, lost: []kt.PodOption{kt.Exited(0)}, asks: true},
	} {
		for _, label := range []string{v1beta1.LabelReplicaRank, v1beta1.LabelReplicaType} {
			t.Run(name+" "+label, func(t *testing.T) {
				job := workers(2, kt.BackoffLimit(0), kt.Begun)
				if tc.job != nil {
					tc.job(job)
				}
				lost := kt.Pod(job, "worker", 1, append(tc.lost, without(label))...)
				d := plan(t, job, kt.Start, kt.Pod(job, "worker", 0, tc.first...), lost)
				releases, asks := false, false
				for _, a := range d.Actions {
					releases = releases || a.Pod != nil && a.Pod.Name == lost.Name && a.Verb == kernel.ReleasePod
					asks = asks || a.Verb == kernel.CreatePod && a.Rank == 1
				}
				require.Equal(t, tc.releases, releases, lines(d.Actions))
				require.Equal(t, tc.asks, asks, lines(d.Actions))
			})
		}
	}
}
