package deploy

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers"
)

// part is a section of a page, without its heading.
func part(t *testing.T, page, heading string) string {
	t.Helper()
	raw, err := os.ReadFile(page)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(raw), "\n## "+heading+"\n")
	require.True(t, found, heading)
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// granted are the rules of all roles that are bound to the operator's ServiceAccount, as rows of a table.
func granted(t *testing.T) (rows []string) {
	t.Helper()
	all := documents(t, "rbac/*.yaml")
	maps.Copy(all, documents(t, "kubeflow/component/manager_role.yaml"))
	maps.Copy(all, documents(t, "kubeflow/component/keys_role.yaml"))
	maps.Copy(all, documents(t, "node-conditions/*.yaml"))
	maps.Copy(all, documents(t, "framework-schemas/*.yaml"))
	names, bound := slices.Sorted(maps.Keys(all)), map[string]bool{}
	for _, name := range names {
		var b rbacv1.ClusterRoleBinding // a RoleBinding has the same fields
		require.NoError(t, yaml.Unmarshal(all[name], &b), name)
		for _, s := range b.Subjects {
			if s.Kind == rbacv1.ServiceAccountKind && strings.HasSuffix(s.Name, "manager") {
				bound[b.RoleRef.Kind+"/"+b.RoleRef.Name] = true
			}
		}
	}
	for _, name := range names {
		var r rbacv1.ClusterRole // a Role has the same rules
		require.NoError(t, yaml.Unmarshal(all[name], &r), name)
		if !bound[r.Kind+"/"+r.Name] {
			continue
		}
		if r.AggregationRule != nil {
			rows = append(rows, "| "+r.Name+" | by aggregation | | |")
		}
		for _, rule := range r.Rules {
			groups := strings.ReplaceAll(" "+strings.Join(rule.APIGroups, " ")+" ", "  ", " core ")
			rows = append(rows, "| "+r.Name+" |"+groups+"| "+strings.Join(rule.Resources, " ")+" | "+strings.Join(rule.Verbs, " ")+" |")
		}
	}
	return rows
}

// The table lacked six rights, among them those on all CRDs.
func TestTheThreatModelListsEveryRightOfTheOperator(t *testing.T) {
	var listed []string
	for _, row := range regexp.MustCompile(`(?m)^(\|.*\|)[^|]+\|$`).FindAllStringSubmatch(part(t, "rights.md", "All rules"), -1)[2:] { // heading and line
		listed = append(listed, row[1])
	}
	require.ElementsMatch(t, granted(t), listed)
}

func TestTheThreatModelKnowsHowManyJobsAreWorkedOnAtOnce(t *testing.T) {
	require.Contains(t, part(t, "attacks.md", "The operator's memory and time"), fmt.Sprintf("| %d workers, one job each;", controllers.DefaultConcurrency))
	require.Contains(t, part(t, "THREAT-MODEL.md", "Not defended"), fmt.Sprintf("- **%d jobs whose calls all hang**", controllers.DefaultConcurrency))
}

// A policy cannot say "pods that have the same value of a label", which the text asked for.
func TestTheRecommendedNetworkPolicyLetsTheOperatorIn(t *testing.T) {
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(part(t, "THREAT-MODEL.md", "Recommended settings"))
	require.Len(t, block, 2)
	var recommended, ours networkingv1.NetworkPolicy
	require.NoError(t, yaml.UnmarshalStrict([]byte(block[1]), &recommended))
	raw, err := os.ReadFile("network-policy/network_policy.yaml")
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(raw, &ours))
	require.Equal(t, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, recommended.Spec.PolicyTypes)
	var ports []networkingv1.NetworkPolicyPort
	for _, rule := range recommended.Spec.Ingress {
		for _, from := range rule.From {
			if from.NamespaceSelector != nil && from.NamespaceSelector.MatchLabels[corev1.LabelMetadataName] == ours.Namespace {
				require.Equal(t, ours.Spec.PodSelector, *from.PodSelector, "the operator's pods are those that its own policy selects")
				ports = rule.Ports
			}
		}
	}
	require.Equal(t, []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(inplace.Port))}}, ports)
}
