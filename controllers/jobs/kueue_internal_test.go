package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/kueue"
)

// queues are what an apiserver answers that is asked for objects of Kueue's: all are there but those with an error.
type queues struct {
	client.Client
	errs     map[string]error
	workload *unstructured.Unstructured
}

// Get implements client.Client.
func (q queues) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if o.GetObjectKind().GroupVersionKind().Kind == "Workload" {
		q.workload.DeepCopyInto(o.(*unstructured.Unstructured))
		return nil
	}
	o.SetName(key.Name)
	return q.errs[key.Name]
}

// A Workload that is there needs its priority class no more: the class may be deleted, or the operator may not read it.
func TestAPriorityClassThatCannotBeReadKeepsNoFlavorFromBeingRead(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Spec.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team", PriorityClass: "high"}}
	w := kueue.Workload(job, *job.Spec.Scheduler.Kueue, nil, new(int32(7)))
	w.Object["status"] = map[string]any{
		"admission":  map[string]any{"podSetAssignments": []any{map[string]any{"name": "worker", "flavors": map[string]any{"cpu": "spot"}}}},
		"conditions": []any{map[string]any{"type": "Admitted", "status": "True"}},
	}
	resource := schema.GroupResource{Resource: "workloadpriorityclasses"}
	for name, err := range map[string]error{
		"deleted": apierrors.NewNotFound(resource, "high"), "no right": apierrors.NewForbidden(resource, "high", errors.New("no right")), "no answer": errors.New("no answer"),
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Client: queues{errs: map[string]error{"high": err}, workload: w}, workloads: &wake.Workloads{}}
			seen, err := r.readKueue(t.Context(), job)
			require.NoError(t, err)
			require.Empty(t, seen.Forbidden)
			require.NotNil(t, seen.Flavors["spot"])
		})
	}
}

// What runs needs no flavor. So one that is missing, or that the operator may not read, is no error, and the other one is read.
func TestAFlavorThatCannotBeReadIsLeftOut(t *testing.T) {
	workload := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"admission": map[string]any{"podSetAssignments": []any{
			map[string]any{"name": "master", "flavors": map[string]any{"cpu": "there"}}, map[string]any{"name": "worker", "flavors": map[string]any{"cpu": "other"}},
		}},
		"conditions": []any{map[string]any{"type": "Admitted", "status": "True"}},
	}}}
	resource := schema.GroupResource{Resource: "resourceflavors"}
	for name, c := range map[string]struct {
		err             error
		forbidden, fail bool
	}{
		"deleted":     {apierrors.NewNotFound(resource, "other"), false, false},
		"no right":    {apierrors.NewForbidden(resource, "other", errors.New("no right")), true, false},
		"no answer":   {errors.New("no answer"), false, true},
		"it is there": {nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			seen := kernel.Kueue{Workload: workload}
			err := (&Reconciler{Client: queues{errs: map[string]error{"other": c.err}}}).readFlavors(t.Context(), &seen)
			require.Equal(t, c.fail, err != nil)
			require.Equal(t, c.forbidden, seen.FlavorForbidden != "")
			if !c.fail {
				require.NotNil(t, seen.Flavors["there"])
				require.Equal(t, c.err == nil, seen.Flavors["other"] != nil)
			}
		})
	}
}
