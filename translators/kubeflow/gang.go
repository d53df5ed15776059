package kubeflow

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// volcano is the value of --gang-scheduler-name that stands for Volcano, which has PodGroups of its own. Any other value is a scheduler with the
// PodGroups of Coscheduling. The training operator reads the flag in the same way.
const volcano = "volcano"

// policyIgnored is the reason of the warning that a field of schedulingPolicy has no effect.
const policyIgnored = "SchedulingPolicyIgnored"

// inGangs returns a translator whose jobs are placed as gangs by the scheduler of that name; "" returns t itself. The job's schedulingPolicy says how.
func inGangs[T client.Object](t framework.Translator[T], scheduler string, policy func(T) (p *kubeflow.SchedulingPolicy, least *int32)) framework.Translator[T] {
	if scheduler == "" {
		return t
	}
	compile := t.Compile
	t.Compile = func(job T) (framework.Program, error) {
		program, err := compile(job)
		if err != nil || program.Foreign {
			return program, err
		}
		p, least := policy(job)
		return program, setScheduler(&program, scheduler, ptr.Deref(p, kubeflow.SchedulingPolicy{}), least)
	}
	return t
}

// setScheduler sets the scheduler of a program. Least is how many replicas are placed together if the policy has no minAvailable; nil is all.
func setScheduler(program *framework.Program, scheduler string, p kubeflow.SchedulingPolicy, least *int32) error {
	if n := p.MinAvailable; n != nil && *n < 1 {
		return fmt.Errorf("spec.runPolicy.schedulingPolicy.minAvailable is %d: want 1 or more", *n)
	}
	program.Warnings = slices.DeleteFunc(program.Warnings, func(w framework.Warning) bool { return w.Reason == policyIgnored })
	s := &v1beta1.SchedulePolicy{MinMember: firstSet(p.MinAvailable, least)}
	var ignored []string
	if scheduler == volcano {
		s.Volcano = &v1beta1.VolcanoScheduler{Queue: p.Queue, PriorityClassName: p.PriorityClass, MinResources: p.MinResources.DeepCopy()}
		if p.ScheduleTimeoutSeconds != nil {
			ignored = append(ignored, "scheduleTimeoutSeconds")
		}
	} else {
		s.Coscheduling = &v1beta1.Coscheduling{
			SchedulerName: scheduler, ScheduleTimeoutSeconds: firstSet(p.ScheduleTimeoutSeconds, nil), MinResources: p.MinResources.DeepCopy(),
		}
		if p.Queue != "" {
			ignored = append(ignored, "queue")
		}
	}
	program.Spec.Scheduler = s
	if len(ignored) > 0 {
		program.Warnings = append(program.Warnings, framework.Warning{Reason: policyIgnored, Message: fmt.Sprintf(
			"spec.runPolicy.schedulingPolicy: %s has no effect with the cluster's gang scheduler, which is %s.", strings.Join(ignored, ", "), scheduler)})
	}
	return nil
}

func tfPolicy(job *kubeflow.TFJob) (*kubeflow.SchedulingPolicy, *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, nil
}

func xgboostPolicy(job *kubeflow.XGBoostJob) (*kubeflow.SchedulingPolicy, *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, nil
}

func jaxPolicy(job *kubeflow.JAXJob) (*kubeflow.SchedulingPolicy, *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, nil
}

func mpiPolicy(job *v2beta1.MPIJob) (*kubeflow.SchedulingPolicy, *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, nil
}

// pytorchPolicy lets an elastic job begin with its smallest number of workers, and its master if it has one.
func pytorchPolicy(job *kubeflow.PyTorchJob) (p *kubeflow.SchedulingPolicy, least *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, pytorchKind.fewestReplicas(job.Spec.ElasticPolicy, job.Spec.PyTorchReplicaSpecs)
}

// paddlePolicy does the same as pytorchPolicy.
func paddlePolicy(job *kubeflow.PaddleJob) (p *kubeflow.SchedulingPolicy, least *int32) {
	return job.Spec.RunPolicy.SchedulingPolicy, paddleKind.fewestReplicas(elasticPolicyOf(job.Spec.ElasticPolicy), job.Spec.PaddleReplicaSpecs)
}
