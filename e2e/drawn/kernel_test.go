package drawn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/drawn"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// TestTheKernelAgrees has the kernel decide about drawn jobs in a small cluster without kubelets, and the oracle check the statuses. What ranks write
// is as it must be.
func TestTheKernelAgrees(t *testing.T) {
	for n := range 400 {
		if j := drawn.Draw(9, n); j.Torchrun == "" {
			s := told(j)
			s.Created, s.Status = kt.Start, lived(j)
			s.Pods = podNames(j)
			assert.Empty(t, j.Judge(s), "job %d: %s\n%+v", n, j, j.Expect())
		}
	}
}

// lived is the status of a job at its end.
func lived(j *drawn.Job) v1beta1.GenericJobStatus {
	gj := j.Manifest("ns").(*v1beta1.GenericJob)
	for i := range gj.Spec.ReplicaSpecs {
		template := &gj.Spec.ReplicaSpecs[i].Template
		template.Annotations = nil
		template.Spec.InitContainers, template.Spec.Containers = nil, template.Spec.Containers[:1]
		template.Spec.Containers[0].Name = "main" // the only one that this cluster runs
	}
	story := kt.NewStory(gj)
	rest := func(times int) {
		for range times {
			story.Kubelet(5 * time.Second)
		}
	}
	rest(3)
	f := j.Fault
	switch f.Kind {
	case drawn.Exit, drawn.Kill, drawn.Hang:
		for range min(f.Times, j.Expect().Failures) {
			failVictim(story, j)
			rest(6)
		}
	case drawn.Delete:
		name := spec.PodName(story.Cluster.Job, f.Type, f.Rank)
		story.Then(10*time.Second, "somebody deletes a pod", func() { story.Cluster.Delete(name) })
		story.Then(5*time.Second, "its code stops", func() { story.Cluster.Terminate(name, int32(j.Saved)) })
		rest(4)
	case drawn.Scale:
		story.Then(10*time.Second, "the user scales", func() {
			story.Cluster.EditJob(func(s *v1beta1.GenericJobSpec) {
				for i := range s.ReplicaSpecs {
					if n := int32(f.To); s.ReplicaSpecs[i].Type == f.Type {
						s.ReplicaSpecs[i].Replicas = &n
					}
				}
			})
		})
		rest(4)
	}
	for range 3 { // once more for policy Always
		for _, t := range j.Types {
			for rank := range t.Replicas + 1 {
				if !t.Auxiliary {
					story.Exit(time.Second, t.Name, rank, 0)
				}
			}
		}
		rest(2)
	}
	return story.Cluster.Job.Status
}

// failVictim has the code of the victim fail, with its last words.
func failVictim(story *kt.Story, j *drawn.Job) {
	f, e := j.Fault, j.Expect()
	words := f.Words
	after := 10 * time.Second
	if f.Kind == drawn.Hang {
		words = fmt.Sprintf("heartbeat: no line of output matched for %d s (steadySeconds)", drawn.SteadySeconds)
		after += time.Duration(drawn.SteadySeconds) * time.Second
	}
	story.Then(after, "the victim fails", func() {
		c := story.Cluster
		name := spec.PodName(c.Job, f.Type, f.Rank)
		c.Exit(name, e.Code)
		status := &c.Pods[name].Status.ContainerStatuses[0]
		for _, end := range []*corev1.ContainerStateTerminated{status.State.Terminated, status.LastTerminationState.Terminated} {
			if end != nil {
				end.Message = words
			}
		}
	})
}

func podNames(j *drawn.Job) map[string]string {
	gj := j.Manifest("ns").(*v1beta1.GenericJob)
	gj.UID = "job-uid"
	names := map[string]string{}
	for _, t := range j.Types {
		for rank := range t.Replicas + 1 {
			names[drawn.Replica(t.Name, rank)] = spec.PodName(gj, t.Name, rank)
		}
	}
	return names
}
