package helm

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

const everything = `{
  "image": {"repository": "registry.example/genericjob", "tag": "v1", "pullPolicy": "Always"},
  "imagePullSecrets": [{"name": "registry"}],
  "replicas": 2,
  "resources": {"limits": {"memory": "2Gi"}},
  "flags": {"concurrency": 50, "force-replace-after": "1m30s", "node-lost-after": "30s", "metrics-namespace-label": true, "zap-log-level": 3, "zap-encoder": "console"},
  "avoidNodes": {"conditions": ["GpuUnhealthy=True", "NetworkReady=False"], "acrossJobs": true, "default": {"after": 3, "within": "12h"}},
  "kubeflow": {"enabled": true, "gangSchedulerName": "volcano"},
  "priorityClassName": "ours",
  "nodeSelector": {"pool": "system"},
  "tolerations": [{"key": "system", "operator": "Exists"}],
  "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}},
  "podSecurityContext": {"runAsUser": 1000, "runAsNonRoot": false},
  "labels": {"team": "ml", "app.kubernetes.io/name": "mine"},
  "annotations": {"owner": "ml@example"},
  "networkPolicy": {"enabled": true, "metricsFrom": ["prometheus", "other"]},
  "podDisruptionBudget": {"enabled": true},
  "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}}
}`

// typed reads an object of the chart's as what it is.
func typed[T any](t *testing.T, o *unstructured.Unstructured) *T {
	t.Helper()
	require.NotNil(t, o)
	to := new(T)
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, to, true))
	return to
}

func TestValuesHaveTheirEffect(t *testing.T) {
	all := rendered(t, "--values", written(t, everything))
	deployment := typed[appsv1.Deployment](t, all["Deployment "+namespace+"/genericjob-manager"])
	pod := deployment.Spec.Template.Spec
	manager := pod.Containers[0]
	require.Equal(t, "registry.example/genericjob:v1", manager.Image)
	require.Equal(t, corev1.PullAlways, manager.ImagePullPolicy)
	require.Equal(t, []corev1.LocalObjectReference{{Name: "registry"}}, pod.ImagePullSecrets)
	require.EqualValues(t, 2, *deployment.Spec.Replicas)
	require.Equal(t, "2Gi", manager.Resources.Limits.Memory().String())
	require.Equal(t, "128Mi", manager.Resources.Requests.Memory().String(), "what is left out stays")
	require.Equal(t, []string{
		"--leader-elect", "--metrics-bind-address=:8443", "--health-probe-bind-address=:8081",
		"--concurrency=50", "--force-replace-after=1m30s", "--metrics-namespace-label=true", "--node-lost-after=30s", "--zap-encoder=console", "--zap-log-level=3",
		"--avoid-node-conditions=GpuUnhealthy=True,NetworkReady=False", "--avoid-nodes-across-jobs", "--avoid-nodes=after=3,within=12h",
		"--kubeflow", "--mpi-keys", "--gang-scheduler-name=volcano",
	}, manager.Args)
	require.Equal(t, "ours", pod.PriorityClassName)
	require.NotContains(t, all, "ResourceQuota "+namespace+"/genericjob-critical-pods", "it is for system-cluster-critical")
	require.Equal(t, map[string]string{"pool": "system"}, pod.NodeSelector)
	require.Equal(t, "system", pod.Tolerations[0].Key)
	require.NotNil(t, pod.Affinity.PodAntiAffinity)
	require.NotNil(t, pod.Affinity.NodeAffinity, "what is left out stays")
	require.EqualValues(t, 1000, *pod.SecurityContext.RunAsUser)
	require.True(t, *pod.SecurityContext.RunAsNonRoot, "what is restricted stays so")

	for id, o := range all {
		require.Equal(t, "ml", o.GetLabels()["team"], id)
		require.Equal(t, "genericjob", o.GetLabels()["app.kubernetes.io/name"], "%s: ours wins", id)
		require.Equal(t, "ml@example", o.GetAnnotations()["owner"], id)
	}
	require.Equal(t, map[string]string{
		"app.kubernetes.io/component": "manager", "app.kubernetes.io/name": "genericjob", "team": "ml",
	}, deployment.Spec.Template.Labels)
	require.Equal(t, "ml@example", deployment.Spec.Template.Annotations["owner"])
	require.Equal(t, "prometheus", all["ServiceMonitor "+namespace+"/genericjob-manager"].GetLabels()["release"])
	require.Contains(t, text(t, all["NetworkPolicy "+namespace+"/genericjob-manager"]), `"prometheus",`)
	require.Contains(t, all, "PodDisruptionBudget "+namespace+"/genericjob-manager")
}

// Nodes are watched by who was told of conditions, and by nobody else.
func TestOnlyConditionsTakeTheRightToWatchNodes(t *testing.T) {
	watches := func(all map[string]*unstructured.Unstructured) (roles []string) {
		for id, o := range all {
			if o.GetKind() != "ClusterRole" {
				continue
			}
			for _, rule := range typed[rbacv1.ClusterRole](t, o).Rules {
				if slices.Contains(rule.Resources, "nodes") && slices.Contains(rule.Verbs, "watch") {
					roles = append(roles, id)
				}
			}
		}
		return roles
	}
	require.Empty(t, watches(rendered(t)))
	require.Empty(t, watches(rendered(t, "--set", "avoidNodes.acrossJobs=true,avoidNodes.default.after=1")))
	all := rendered(t, "--set", "avoidNodes.conditions={GpuUnhealthy=True}", "--namespace", "other")
	require.Equal(t, []string{"ClusterRole /genericjob-node-conditions"}, watches(all))
	binding := typed[rbacv1.ClusterRoleBinding](t, all["ClusterRoleBinding /genericjob-node-conditions"])
	require.Equal(t, "genericjob-node-conditions", binding.RoleRef.Name)
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "genericjob-manager", Namespace: "other"}}, binding.Subjects)
	said, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", "namespaces={a},clusterScoped=false,avoidNodes.conditions={GpuUnhealthy=True}")
	require.Error(t, err)
	require.Contains(t, said, "leave avoidNodes.conditions empty, for nodes are in none")
}

func TestOnlySchemasTakeTheRightToWriteCRDs(t *testing.T) {
	writes := func(all map[string]*unstructured.Unstructured) (roles []string) {
		for id, o := range all {
			if o.GetKind() != "ClusterRole" {
				continue
			}
			for _, rule := range typed[rbacv1.ClusterRole](t, o).Rules {
				if slices.Contains(rule.Resources, "customresourcedefinitions") && slices.Contains(rule.Verbs, "patch") {
					roles = append(roles, id)
				}
			}
		}
		return roles
	}
	require.Empty(t, writes(rendered(t)))
	all := rendered(t, "--set", "frameworks.schemas=true", "--namespace", "other")
	require.Equal(t, []string{"ClusterRole /genericjob-framework-schemas"}, writes(all))
	binding := typed[rbacv1.ClusterRoleBinding](t, all["ClusterRoleBinding /genericjob-framework-schemas"])
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "genericjob-manager", Namespace: "other"}}, binding.Subjects)
	said, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", "namespaces={a},frameworks.schemas=true")
	require.Error(t, err)
	require.Contains(t, said, "an operator of some namespaces serves no TrainingFrameworks")
}

// A release may be called anything, and be in any namespace.
func TestTheNameOfAReleaseIsNoPartOfNames(t *testing.T) {
	said, err := helm(t, "template", "training", chart, "--namespace", "elsewhere", "--kube-version", "1.30", "--set", "kubeflow.enabled=true")
	require.NoError(t, err, said)
	require.NotContains(t, said, "genericjob-system")
	require.NotContains(t, said, "namespace: system")
	require.Contains(t, objects(t, said), "Deployment elsewhere/genericjob-manager")
}
