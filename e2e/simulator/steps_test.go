package simulator

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// step is one call of a script.
type step struct {
	say string
	do  func(*stage) error
}

// script is a drawn series of calls about one object.
type script struct {
	about *subject
	steps []step
}

// stepsDrawn is how many steps are drawn for a script.
const stepsDrawn = 15

// anybody are the steps of every kind.
var anybody = []func(*Tape) step{create, create, remove, remove, remove, remove, foreground, annotate, annotate, hold, strip, userAnnotates}

// drawScript draws a script: zero is the choice of no step.
func drawScript(t *Tape) script {
	s := script{about: pickOf(t, subjects...)}
	s.steps = append(s.steps, create(t))
	can := slices.Concat(anybody, s.about.can, s.about.can)
	for range stepsDrawn - 1 {
		if n := t.Pick(len(can) + 1); n > 0 {
			s.steps = append(s.steps, can[n-1](t))
		}
	}
	return s
}

var ages = []string{"the newest view", "the view before", "an old view"}

// create creates the object, if its name is free.
func create(t *Tape) step {
	held := t.Chance(2)
	return step{fmt.Sprintf("operator: create, finalizer %v", held), func(s *stage) error {
		o := s.empty()
		if held {
			o.SetFinalizers([]string{v1beta1.FinalizerTracking})
		}
		s.returned = o
		return s.client().Create(s.ctx, o)
	}}
}

// remove deletes the object.
func remove(t *Tape) step {
	byUID, byVersion, age := t.Pick(3) < 2, t.Chance(3), t.Pick(3)
	period := pickOf(t, unsaid, unsaid, 0, 1, 900, 1800) // a machine may stall, and time that is over is no more given
	background := t.Chance(3)
	say := "operator: delete"
	if byUID {
		say += ", UID"
	}
	if byVersion {
		say += ", resourceVersion"
	}
	if byUID || byVersion {
		say += " of " + ages[age]
	}
	if period != unsaid {
		say += fmt.Sprintf(", grace period %d", period)
	}
	if background {
		say += ", in the background"
	}
	return step{say, func(s *stage) error {
		uid, version := s.seenAs(age)
		with := client.Preconditions{}
		if byUID && uid != "" {
			with.UID = &uid
		}
		if byVersion && version != "" {
			with.ResourceVersion = &version
		}
		options := []client.DeleteOption{with}
		if period != unsaid {
			options = append(options, client.GracePeriodSeconds(period))
		}
		if background {
			options = append(options, client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
		return s.client().Delete(s.ctx, s.handle(), options...)
	}}
}

// patch is a patch of the operator's.
func (s *stage) patch(kind types.PatchType, body map[string]any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	o := s.handle()
	s.returned = o
	return s.client().Patch(s.ctx, o, client.RawPatch(kind, raw))
}

// seen are the metadata of a patch that holds for a view.
func (s *stage) seen(age int, version bool) map[string]any {
	meta := map[string]any{}
	if o := s.view(age); o != nil {
		meta["uid"] = o.GetUID()
		if version {
			meta["resourceVersion"] = o.GetResourceVersion()
		}
	}
	return meta
}

// annotate is how the operator marks pods.
func annotate(t *Tape) step {
	age, value := t.Pick(3), pickOf(t, "a", "b")
	return step{fmt.Sprintf("operator: annotate with %s, by %s", value, ages[age]), func(s *stage) error {
		meta := s.seen(age, true)
		meta["annotations"] = map[string]string{"mark": value}
		return s.patch(types.MergePatchType, map[string]any{"metadata": meta})
	}}
}

// release takes the operator's finalizer off.
func release(t *Tape) step {
	age := t.Pick(3)
	return step{"operator: release, by the UID of " + ages[age], func(s *stage) error {
		meta := s.seen(age, false)
		meta["$deleteFromPrimitiveList/finalizers"] = []string{v1beta1.FinalizerTracking}
		return s.patch(types.StrategicMergePatchType, map[string]any{"metadata": meta})
	}}
}

// endPod has the kubelet end a pod.
func endPod(t *Tape) step {
	age := t.Pick(3)
	return step{"operator: activeDeadlineSeconds 1, by " + ages[age], func(s *stage) error {
		return s.patch(types.MergePatchType, map[string]any{"metadata": s.seen(age, true), "spec": map[string]any{"activeDeadlineSeconds": 1}})
	}}
}

// ports changes the ports of a Service.
func ports(t *Tape) step {
	age, port := t.Pick(3), pickOf(t, int32(80), 81)
	return step{fmt.Sprintf("operator: port %d, by the UID of %s", port, ages[age]), func(s *stage) error {
		list := []corev1.ServicePort{{Name: "p", Port: port, TargetPort: intstr.FromInt32(port), Protocol: corev1.ProtocolTCP}}
		return s.patch(types.MergePatchType, map[string]any{"metadata": s.seen(age, false), "spec": map[string]any{"ports": list}})
	}}
}

// merge is a patch of a job that holds for one view alone.
func merge(t *Tape) step {
	age, value := t.Pick(3), pickOf(t, "a", "b")
	return step{fmt.Sprintf("operator: merge annotation %s, by the resourceVersion of %s", value, ages[age]), func(s *stage) error {
		o := s.view(age)
		before := o.DeepCopyObject().(client.Object)
		o.SetAnnotations(map[string]string{"merged": value})
		s.returned = o
		return s.client().Patch(s.ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	}}
}

// update writes a job anew: its spec, its annotations, both or nothing.
func update(t *Tape) step {
	age, spec, note := t.Pick(3), t.Pick(3), pickOf(t, "", "a", "b")
	return step{fmt.Sprintf("operator: update, deadline %d, annotation %q, by %s", spec, note, ages[age]), func(s *stage) error {
		o := s.view(age)
		if spec > 0 {
			setDeadline(o, int64(100*spec))
		}
		if note != "" {
			o.SetAnnotations(map[string]string{"updated": note})
		}
		s.returned = o
		return s.client().Update(s.ctx, o)
	}}
}

func setDeadline(o client.Object, seconds int64) {
	switch o := o.(type) {
	case *v1beta1.GenericJob:
		o.Spec.ActiveDeadlineSeconds = &seconds
	case *v1beta1.PyTorchTrainingJob:
		o.Spec.RunPolicy.ActiveDeadlineSeconds = &seconds
	}
}

// writesStatus writes the status of a job. It may bring edits of all else along, which do not count.
func writesStatus(t *Tape) step {
	age, phase, more := t.Pick(3), pickOf(t, v1beta1.JobPending, v1beta1.JobRunning), t.Chance(3)
	return step{fmt.Sprintf("operator: status %s, more %v, by %s", phase, more, ages[age]), func(s *stage) error {
		o := s.view(age)
		switch o := o.(type) {
		case *v1beta1.GenericJob:
			o.Status.Phase = phase
		case *v1beta1.PyTorchTrainingJob:
			o.Status.Phase = phase
		}
		if more {
			setDeadline(o, 999)
			o.SetAnnotations(map[string]string{"updated": "with the status"})
		}
		s.returned = o
		return s.client().Status().Update(s.ctx, o)
	}}
}
