// Package translate says, without a cluster, what the operator would make of a manifest, or what is wrong with it. It shows the
// GenericJob, what belongs to it, and the pods. It compiles as the operator does, with the operator's own code. All of it is pure.
package translate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// Made is what would be made of one job.
type Made struct {
	Kind *jobs.Kind
	Job  client.Object
	// Objects are what would be made, in the order in which it would be, the pods last.
	Objects []client.Object
	// Warnings are what the user may not have meant.
	Warnings []string
	// Err says what is wrong with the job: nothing would be made of it.
	Err error
}

// hash stands for the part of names that is made of the job's UID, which only the apiserver gives.
const hash = "xxxxx"

// Of says what would be made of a job. With all, each replica's pod is among it, else that of rank 0 of each type.
func Of(kind *jobs.Kind, job client.Object, all bool) Made {
	m := Made{Kind: kind, Job: job}
	if job.GetNamespace() == "" {
		job.SetNamespace(metav1.NamespaceDefault)
	}
	gj, ok := job.(*v1beta1.GenericJob)
	if !ok {
		program, err := training.Compile(*kind.Framework, kind.Kind, job)
		if m.Err = err; err != nil {
			return m
		}
		if program.Foreign {
			m.Err = errors.New("spec.managedBy names another controller: this operator makes nothing of it")
			return m
		}
		gj = m.compiled(program)
	} else if gj.Spec.ManagedBy.IsForeign() {
		m.Err = fmt.Errorf("spec.managedBy is %q: this operator makes nothing of it", *gj.Spec.ManagedBy)
		return m
	}
	if m.ask(gj); m.Err == nil {
		m.add(gj, all)
	}
	return m
}

// ask asks the kernel what the operator would warn of when it sees the GenericJob first, and what would keep it from running.
func (m *Made) ask(gj *v1beta1.GenericJob) {
	first := why.IfNew(gj, time.Now(), false)
	m.warn(why.AboutFields(first.Events))
	for _, t := range []v1beta1.JobConditionType{v1beta1.ConditionFailed, v1beta1.ConditionBlocked} {
		if c := status.Condition(first.Status.Conditions, t); c != nil && c.Status == metav1.ConditionTrue && c.Reason == v1beta1.ReasonInvalidSpec {
			m.Err = errors.New(c.Message)
		}
	}
	if name := spec.Prebuilt(m.Job); name != "" && spec.Kueue(gj) != nil { // a training job has no GenericJob then
		m.Err = errors.New(spec.PrebuiltMessage(name))
	}
}

func (m *Made) warn(events []kernel.Event) {
	for _, e := range events {
		m.Warnings = append(m.Warnings, e.Reason+": "+e.Message)
	}
}

// compiled notes what is made beside the GenericJob, and returns that.
func (m *Made) compiled(program framework.Program) *v1beta1.GenericJob {
	name, namespace := m.Job.GetName(), m.Job.GetNamespace()
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(m.Job, m.Kind.GroupVersionKind)}
	m.warn(training.Warnings(program))
	if len(program.Data) > 0 {
		m.Objects = append(m.Objects, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: framework.ConfigMapName(name, program.Data), Namespace: namespace, OwnerReferences: owner},
			Data:       program.Data, Immutable: ptr.To(true),
		})
	}
	if program.Autoscaler != nil {
		m.Objects = append(m.Objects, &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, OwnerReferences: owner}, Spec: *program.Autoscaler,
		})
	}
	if program.TensorBoard != nil {
		board, err := tensorboard.Build(m.Job, m.Kind.GroupVersionKind, program.TensorBoard)
		if err != nil {
			m.Warnings = append(m.Warnings, "no TensorBoard: "+err.Error())
		} else {
			m.Objects = append(m.Objects, board.Deployment, board.Service)
		}
	}
	gj := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, OwnerReferences: owner}, Spec: program.Spec}
	framework.AnnotateCompiled(gj, 1, program.Elastic)
	return gj
}

// add notes the GenericJob and what it makes.
func (m *Made) add(gj *v1beta1.GenericJob, all bool) {
	if m.Kind.Framework != nil {
		m.Objects = append(m.Objects, gj)
	}
	if service := build.Service(gj); service != nil {
		m.Objects = append(m.Objects, service)
	}
	group := build.Group{Number: 1, MinMember: least(gj)}
	for _, t := range spec.ReplicaTypes(gj, false) {
		group.Left = append(group.Left, t.N)
	}
	if versions := build.GangVersions(gj); len(versions) > 0 {
		m.Objects = append(m.Objects, build.GangObject(gj, group, versions[0]))
	}
	builder := build.NewBuilder(gj, build.Run{Gang: firstNumber(gj)})
	for _, t := range spec.ReplicaTypes(gj, false) {
		n := t.N
		if !all {
			n = min(n, 1)
		}
		for rank := range n {
			m.Objects = append(m.Objects, unhashed(gj, builder.Pod(t.Type, rank, 0)))
		}
	}
}

// least returns how many pods are placed together or not at all.
func least(gj *v1beta1.GenericJob) int {
	n := 0
	for _, t := range spec.ReplicaTypes(gj, false) {
		n += t.N
	}
	if s := gj.Spec.Scheduler; s != nil && s.MinMember != nil {
		return min(n, int(*s.MinMember))
	}
	return n
}

// firstNumber returns that of the first group, where groups have numbers.
func firstNumber(gj *v1beta1.GenericJob) int32 {
	if build.GroupsAreImmutable(gj) {
		return 1
	}
	return 0
}

// unhashed marks the part of a pod's name that is not known yet.
func unhashed(gj *v1beta1.GenericJob, pod *corev1.Pod) *corev1.Pod {
	if gj.Spec.PodNames != v1beta1.PodNamesPlain {
		end := strings.TrimPrefix(pod.Name, gj.Name+"-"+v1beta1.Hash5(gj.Name, string(gj.UID))+"-")
		pod.Name = gj.Name + "-" + hash + "-" + end
	}
	return pod
}

// SetKinds writes kind and apiVersion into all objects, so that they can be printed.
func (m *Made) SetKinds(scheme *runtime.Scheme) error {
	for _, o := range m.Objects {
		if !o.GetObjectKind().GroupVersionKind().Empty() {
			continue
		}
		kinds, _, err := scheme.ObjectKinds(o)
		if err != nil {
			return fmt.Errorf("name the kind of %T: %w", o, err)
		}
		o.GetObjectKind().SetGroupVersionKind(kinds[0])
	}
	return nil
}
