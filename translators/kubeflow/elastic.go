package kubeflow

import (
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
)

// PyTorchJobs and PaddleJobs may be elastic: then workers come and go while the others run.

// elasticPolicyOf returns the elastic policy of a PaddleJob in the form that PyTorchJobs have.
func elasticPolicyOf(e *kubeflow.PaddleElasticPolicy) *kubeflow.ElasticPolicy {
	if e == nil {
		return nil
	}
	return &kubeflow.ElasticPolicy{MinReplicas: e.MinReplicas, MaxReplicas: e.MaxReplicas, Metrics: e.Metrics}
}

// workerLimits returns the smallest and the largest number of workers of an elastic job.
func workerLimits(e *kubeflow.ElasticPolicy, list []member) (least, most int32) {
	n := find(list, worker).replicas
	switch {
	case e.MinReplicas == nil && e.MaxReplicas == nil:
		return n, n
	case e.MinReplicas == nil:
		return *e.MaxReplicas, *e.MaxReplicas
	default:
		return *e.MinReplicas, ptr.Deref(e.MaxReplicas, *e.MinReplicas)
	}
}

// fewestReplicas returns how many replicas an elastic job needs at least; nil for a job that is not elastic.
func (k *kind) fewestReplicas(e *kubeflow.ElasticPolicy, specs map[string]*kubeflow.ReplicaSpec) *int32 {
	list, err := k.members(specs)
	if err != nil || e == nil || find(list, worker) == nil {
		return nil
	}
	n, _ := workerLimits(e, list)
	if m := find(list, master); m != nil {
		n += m.replicas
	}
	return ptr.To(max(n, 1))
}

// setElastic says that the workers of a program may change in number, and sets the autoscaler of a job with metrics. A suspended job has none.
func (k *kind) setElastic(program *framework.Program, job string, e *kubeflow.ElasticPolicy, list []member, specs map[string]*kubeflow.ReplicaSpec) error {
	program.Elastic = true
	least, most := workerLimits(e, list)
	if least > most {
		return fmt.Errorf("spec.elasticPolicy.minReplicas is %d and maxReplicas %d: the first must not be more than the second", least, most)
	}
	if len(e.Metrics) == 0 || program.Spec.RunMode.Pauses() {
		return nil
	}
	if find(list, worker).spec != specs[kubeflow.PyTorchWorker] {
		program.Warnings = append(program.Warnings, framework.Warning{Reason: "CannotScale", Message: "spec." + k.field + ": the autoscaler only finds the type if it is spelled Worker: rename it."})
	}
	program.Autoscaler = &autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: kubeflow.GroupVersion.String(), Kind: k.name, Name: job},
		MinReplicas:    ptr.To(least),
		MaxReplicas:    most,
		Metrics:        (&autoscalingv2.HorizontalPodAutoscalerSpec{Metrics: e.Metrics}).DeepCopy().Metrics,
	}
	return nil
}
