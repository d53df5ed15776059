package kerneltest

import (
	"reflect"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
)

// carryOut makes a decision true: status, then actions.
func (c *Cluster) carryOut(job *v1beta1.GenericJob, d kernel.Decision) {
	if !reflect.DeepEqual(job.Status, d.Status) {
		c.updateStatus(d.Status)
	}
	job.Status = d.Status
	builder := kernel.NewPodBuilder(job, Settings).In(c.Kueue())
	for _, a := range d.Actions {
		c.do(builder, a)
	}
}

func (c *Cluster) do(builder *kernel.PodBuilder, a kernel.Action) {
	switch a.Verb {
	case kernel.CreateService, kernel.UpdateService:
		c.Services[a.Service.Name] = a.Service.DeepCopy()
	case kernel.CreatePod:
		_ = c.createPod(builder.Pod(a)) // it exists: its event leads to the next reconcile
	case kernel.ApplyObject:
		c.applyGroup(a.Object)
	case kernel.DeleteObject:
		c.deleteObject(a.Object)
	case kernel.CreateObject:
		c.rv++
		c.Workload = a.Object.DeepCopy()
	case kernel.WriteObjectStatus:
		c.rv++
		c.Workload.Object["status"] = a.Object.DeepCopy().Object["status"]
	default:
		c.stopOrRelease(a)
	}
}

// stopOrRelease carries out the verbs that stop, release and delete. What fails because an object has changed is left to the
// next reconcile, which will see it.
func (c *Cluster) stopOrRelease(a kernel.Action) {
	switch a.Verb {
	case kernel.StopPod:
		if c.markPod(a.Pod, v1beta1.AnnotationStopped) == nil {
			c.deletePod(a.Pod.Name, a.Pod.UID, grace)
		}
	case kernel.MarkPod:
		_ = c.markPod(a.Pod, v1beta1.AnnotationDisrupted)
	case kernel.OrderPod:
		_ = c.annotatePod(a.Pod, inplace.Annotation, a.Order.String())
	case kernel.EndPod:
		c.endPod(a.Pod)
	case kernel.ReleasePod:
		_ = c.releasePod(a.Pod)
	case kernel.DeletePod:
		c.deletePod(a.Pod.Name, a.Pod.UID, grace)
	case kernel.ForceDeletePod:
		c.deletePod(a.Pod.Name, a.Pod.UID, 0)
	case kernel.DeleteJob:
		c.DeleteJob()
	default:
	}
}

// sweep lets go of the pods of a job that is gone.
func (c *Cluster) sweep() {
	for _, p := range c.sortedPods() {
		if len(p.Finalizers) > 0 {
			_ = c.releasePod(p)
		}
	}
}
