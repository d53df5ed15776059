package definitions

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LabelAggregate is the label by which a ClusterRole gives the operator rights on the kind of a definition.
const LabelAggregate = "batch.tensorstack.dev/aggregate-to-operator"

// needs are what the operator does with jobs of a kind. delete: ttlSecondsAfterFinished; finalizers: owner references that block the
// owner's deletion.
var needs = []struct{ verb, subresource string }{
	{"get", ""}, {"list", ""}, {"watch", ""}, {"delete", ""}, {"update", "status"}, {"update", "finalizers"},
}

// lacks returns the rights on a kind that the operator does not have, in the words of a role.
func (r *Reconciler) lacks(ctx context.Context, kind schema.GroupVersionResource) ([]string, error) {
	var lacks []string
	for _, need := range needs {
		ask := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: kind.Group, Version: kind.Version, Resource: kind.Resource, Subresource: need.subresource, Verb: need.verb,
			},
		}}
		if err := r.Client.Create(ctx, ask); err != nil {
			return nil, fmt.Errorf("ask whether %s %s is allowed: %w", need.verb, kind.GroupResource(), err)
		}
		if !ask.Status.Allowed {
			lacks = append(lacks, strings.TrimSuffix(need.verb+" "+kind.Resource+"/"+need.subresource, "/")+" of "+kind.Group)
		}
	}
	return lacks, nil
}
