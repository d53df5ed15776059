package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/kernel"
)

// flavors are what an apiserver answers that is asked for resource flavors.
type flavors struct {
	client.Client
	errs map[string]error
}

// Get implements client.Client.
func (f flavors) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetName(key.Name)
	return f.errs[key.Name]
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
			err := (&Reconciler{Client: flavors{errs: map[string]error{"other": c.err}}}).readFlavors(t.Context(), &seen)
			require.Equal(t, c.fail, err != nil)
			require.Equal(t, c.forbidden, seen.FlavorForbidden != "")
			if !c.fail {
				require.NotNil(t, seen.Flavors["there"])
				require.Equal(t, c.err == nil, seen.Flavors["other"] != nil)
			}
		})
	}
}
