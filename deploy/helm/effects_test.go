package helm

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
)

const everything = `{
  "image": {"repository": "registry.example/genericjob", "tag": "v1", "pullPolicy": "Always"},
  "imagePullSecrets": [{"name": "registry"}],
  "replicas": 2,
  "resources": {"limits": {"memory": "2Gi"}},
  "evictAfterSeconds": 5,
  "env": [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}],
  "serviceAccount": {"annotations": {"cloud.example/role": "genericjob"}},
  "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}],
  "frameworks": ["xgboost"],
  "flags": {"leader-elect-lease-duration": "1m", "leader-elect-renew-deadline": "30s", "leader-elect-retry-period": "5s", "concurrency": 50, "force-replace-after": "1m30s", "node-lost-after": "30s", "metrics-namespace-label": true, "zap-log-level": 3, "zap-encoder": "console"},
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
  "serviceMonitor": {"enabled": true, "labels": {"release": "prometheus"}},
  "prometheusRule": {"enabled": true, "labels": {"release": "prometheus"}},
  "dashboard": {"enabled": true, "labels": {"grafana": "yes"}, "annotations": {"grafana_folder": "Training"}}
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
	all := rendered(t, "--values", written(t, everything), "--api-versions", definitions)
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
		"--concurrency=50", "--force-replace-after=1m30s", "--leader-elect-lease-duration=1m", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=5s", "--metrics-namespace-label=true", "--node-lost-after=30s", "--zap-encoder=console", "--zap-log-level=3",
		"--avoid-node-conditions=GpuUnhealthy=True,NetworkReady=False", "--avoid-nodes-across-jobs", "--avoid-nodes=after=3,within=12h",
		"--kubeflow", "--mpi-keys", "--gang-scheduler-name=volcano",
	}, manager.Args)
	require.Equal(t, "ours", pod.PriorityClassName)
	require.NotContains(t, all, "ResourceQuota "+namespace+"/genericjob-critical-pods", "it is for system-cluster-critical")
	require.Equal(t, map[string]string{"pool": "system"}, pod.NodeSelector)
	require.Equal(t, "system", pod.Tolerations[0].Key)
	require.Len(t, pod.Tolerations, 3)
	for i, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		require.Equal(t, corev1.Toleration{Key: key, Operator: "Exists", Effect: "NoExecute", TolerationSeconds: ptr.To[int64](5)}, pod.Tolerations[i+1])
	}
	require.Empty(t, pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	require.Equal(t, []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "rack", WhenUnsatisfiable: "DoNotSchedule"}}, pod.TopologySpreadConstraints)
	require.Equal(t, []string{"POD_NAME", "POD_NAMESPACE", "MEMORY_LIMIT", "HTTPS_PROXY"}, namesOf(manager.Env))
	require.Equal(t, "http://proxy:3128", manager.Env[3].Value)
	require.Equal(t, "genericjob", all["ServiceAccount "+namespace+"/genericjob-manager"].GetAnnotations()["cloud.example/role"])
	require.NotContains(t, all["Role "+namespace+"/genericjob-leader-election"].GetAnnotations(), "cloud.example/role")
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
	rules := all["PrometheusRule "+namespace+"/genericjob"]
	require.Equal(t, "prometheus", rules.GetLabels()["release"])
	require.Contains(t, text(t, rules), "{{ $labels.kind }}", "what Prometheus fills in")
	dashboard := all["ConfigMap "+namespace+"/genericjob-dashboard"]
	require.Equal(t, "yes", dashboard.GetLabels()["grafana"])
	require.Equal(t, "Training", dashboard.GetAnnotations()["grafana_folder"])
	panels, err := os.ReadFile("../monitoring/dashboard.json")
	require.NoError(t, err)
	shown, _, err := unstructured.NestedString(dashboard.Object, "data", "genericjob.json")
	require.NoError(t, err)
	require.Equal(t, string(panels), shown)
	require.Contains(t, all, "TrainingFramework /xgboost")
}

func namesOf(list []corev1.EnvVar) (names []string) {
	for _, v := range list {
		names = append(names, v.Name)
	}
	return names
}

// Without values two replicas are enough: they are spread, and leave a node that does not answer soon.
func TestOfTwoReplicasOneNodeTakesOne(t *testing.T) {
	pod := typed[appsv1.Deployment](t, rendered(t, "--set", "replicas=2")["Deployment "+namespace+"/genericjob-manager"]).Spec.Template
	apart := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	require.Len(t, apart, 1)
	require.Equal(t, corev1.LabelHostname, apart[0].PodAffinityTerm.TopologyKey)
	require.Len(t, pod.Spec.TopologySpreadConstraints, 1)
	require.Equal(t, corev1.LabelTopologyZone, pod.Spec.TopologySpreadConstraints[0].TopologyKey)
	for _, s := range []*metav1.LabelSelector{apart[0].PodAffinityTerm.LabelSelector, pod.Spec.TopologySpreadConstraints[0].LabelSelector} {
		selector, err := metav1.LabelSelectorAsSelector(s)
		require.NoError(t, err)
		require.True(t, selector.Matches(labels.Set(pod.Labels)))
	}
	var waits []int64
	for _, toleration := range pod.Spec.Tolerations {
		waits = append(waits, *toleration.TolerationSeconds)
	}
	require.Equal(t, []int64{30, 30}, waits)
}

// Helm asks for all kinds before it installs one, so the first install has no definition. Kinds and definitions outlive the release.
func TestADefinitionWaitsForItsKind(t *testing.T) {
	for _, there := range []bool{false, true} {
		args := []string{"--set", "frameworks={mpi}"}
		if there {
			args = append(args, "--api-versions", definitions)
		}
		all := rendered(t, args...)
		for id, kept := range map[string]bool{
			"CustomResourceDefinition /mpitrainingjobs.frameworks.example.com": true,
			"ClusterRole /genericjob-framework-mpi":                            false, "ClusterRole /genericjob-framework-mpi-edit": false, "TrainingFramework /mpi": true,
		} {
			o := all[id]
			if !there && strings.HasPrefix(id, "TrainingFramework") {
				require.Nil(t, o, id)
				continue
			}
			require.NotNil(t, o, id)
			require.Equal(t, kept, o.GetAnnotations()["helm.sh/resource-policy"] == "keep", id)
		}
		require.NotContains(t, all, "TrainingFramework /xgboost")
	}
	for _, some := range []string{"namespaces={a}", "namespaces={a},clusterScoped=false"} {
		said, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", "frameworks={mpi},"+some)
		require.Error(t, err)
		require.Contains(t, said, "leave frameworks empty")
	}
}

// rolesThat returns the ClusterRoles that have a right.
func rolesThat(t *testing.T, all map[string]*unstructured.Unstructured, verb, resource string) (roles []string) {
	t.Helper()
	for id, o := range all {
		if o.GetKind() != "ClusterRole" {
			continue
		}
		for _, rule := range typed[rbacv1.ClusterRole](t, o).Rules {
			if slices.Contains(rule.Resources, resource) && slices.Contains(rule.Verbs, verb) {
				roles = append(roles, id)
			}
		}
	}
	return roles
}

// Nodes are watched by who was told of conditions, and by nobody else.
func TestOnlyConditionsTakeTheRightToWatchNodes(t *testing.T) {
	watches := func(all map[string]*unstructured.Unstructured) []string { return rolesThat(t, all, "watch", "nodes") }
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
	writes := func(all map[string]*unstructured.Unstructured) []string {
		return rolesThat(t, all, "patch", "customresourcedefinitions")
	}
	require.Empty(t, writes(rendered(t)))
	all := rendered(t, "--set", "frameworkSchemas=true", "--namespace", "other")
	require.Equal(t, []string{"ClusterRole /genericjob-framework-schemas"}, writes(all))
	binding := typed[rbacv1.ClusterRoleBinding](t, all["ClusterRoleBinding /genericjob-framework-schemas"])
	require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: "genericjob-manager", Namespace: "other"}}, binding.Subjects)
	said, err := helm(t, "template", chart, "--kube-version", "1.30", "--set", "namespaces={a},frameworkSchemas=true")
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
