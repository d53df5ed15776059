package tenant

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// The table says "verb group/resource[/subresource]".
func TestWhatTheTeamMayDo(t *testing.T) {
	const team = "rights"
	admin := give(t, team)
	may := func(namespace, what string) bool {
		verb, rest, _ := strings.Cut(what, " ")
		parts := append(strings.Split(rest, "/"), "")
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "anna", Groups: []string{"team", "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: strings.TrimPrefix(parts[0], "core"), Resource: parts[1], Subresource: parts[2],
			},
		}}
		require.NoError(t, admin.Create(t.Context(), review))
		return review.Status.Allowed
	}
	allowed := []string{
		"list core/pods", "get core/pods/log", "create core/pods/exec", "get core/pods/exec", "create core/pods/portforward", "get core/pods/portforward", "delete core/pods", "list core/events",
		"update batch.tensorstack.dev/genericjobs/scale", "list core/resourcequotas", "create core/configmaps", "create resource.k8s.io/resourceclaimtemplates",
	}
	for _, kind := range kindsOf(t, "../crd", "../kubeflow/crd", "../frameworks/jax", "../frameworks/xgboost", "../frameworks/mpi") {
		if strings.HasSuffix(kind, "/trainingframeworks") {
			continue
		}
		allowed = append(allowed, "create "+kind, "patch "+kind, "delete "+kind, "watch "+kind)
		require.False(t, may(team, "update "+kind+"/status"), "%s: the ledger is nobody's to edit", kind)
	}
	for _, what := range allowed {
		require.Eventually(t, func() bool { return may(team, what) }, patience, 50*time.Millisecond, what) // the apiserver hears of a role a moment later
		require.False(t, may("default", what), "%s, elsewhere", what)
	}
	require.Eventually(t, func() bool { return may("", "list batch.tensorstack.dev/trainingframeworks") }, patience, 50*time.Millisecond)
	for _, what := range []string{
		"create core/pods", "patch core/pods", "update core/resourcequotas", "create policy/poddisruptionbudgets", "update networking.k8s.io/networkpolicies",
		"create batch.tensorstack.dev/trainingframeworks", "avoid-nodes batch.tensorstack.dev/genericjobs", "update rbac.authorization.k8s.io/roles",
	} {
		require.False(t, may(team, what), what)
	}
	require.False(t, may("", "patch core/namespaces"), "its labels and annotations say what policies hold")
}

// kindsOf are the kinds whose CRDs are in these folders, as group/resource.
func kindsOf(t *testing.T, folders ...string) (list []string) {
	t.Helper()
	for _, folder := range folders {
		found, err := filepath.Glob(folder + "/*.yaml")
		require.NoError(t, err)
		for _, file := range found {
			for _, o := range objects(t, file) {
				if o.GetKind() == "CustomResourceDefinition" {
					resource, group, _ := strings.Cut(o.GetName(), ".")
					list = append(list, group+"/"+resource)
				}
			}
		}
	}
	require.Greater(t, len(list), 3)
	return list
}

// Who is bound to it may set avoidNodes: the verb is what the policy asks for.
func TestTheRoleOfAvoidNodesIsForAllKindsThatHaveIt(t *testing.T) {
	role := one[rbacv1.Role](t, "namespace/roles.yaml", "Role", "avoid-nodes")
	require.Len(t, role.Rules, 1)
	var have []string
	for _, resource := range role.Rules[0].Resources {
		have = append(have, fmt.Sprintf("%s/%s", role.Rules[0].APIGroups[0], resource))
	}
	require.ElementsMatch(t, slices.DeleteFunc(kindsOf(t, "../crd"), func(kind string) bool { return strings.HasSuffix(kind, "/trainingframeworks") }), have)
}
