package tenant

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/pytorch"
	"github.com/genericjob/genericjob/translators/tensorboard"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// What a team may write into the metadata of a template.
var (
	teams = map[string]string{"keep-from-drains": "true", "part-of": "night"}
	notes = map[string]string{"karpenter.sh/do-not-disrupt": "true", "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
)

// samples are jobs of all kinds.
var samples = map[string]string{
	"GenericJob":            "../samples/simple.yaml",
	"PyTorchTrainingJob":    "../samples/pytorch.yaml",
	"TensorFlowTrainingJob": "../samples/tensorflow.yaml",
	"TFJob":                 kubeflows + "tfjob/chief-ps-workers.yaml",
	"PyTorchJob":            kubeflows + "pytorchjob/master-workers.yaml",
	"XGBoostJob":            kubeflows + "xgboostjob/master-workers.yaml",
	"PaddleJob":             kubeflows + "paddlejob/collective.yaml",
	"JAXJob":                kubeflows + "jaxjob/workers.yaml",
	"MPIJob":                kubeflows + "mpijob/open-mpi.yaml",
	"JAXJob by definition":  "../frameworks/jax/sample.yaml",
	"XGBoostTrainingJob":    "../frameworks/xgboost/sample.yaml",
	"MPITrainingJob":        "../frameworks/mpi/sample.yaml",
}

const kubeflows = "../../translators/kubeflow/testdata/"

// translatorOf is what compiles a kind; nil for GenericJobs.
func translatorOf(t *testing.T, kind string) *framework.Registration {
	t.Helper()
	all := kubeflow.All("", false)
	known := map[string]framework.Registration{
		"PyTorchTrainingJob": framework.Register(pytorch.Translator), "TensorFlowTrainingJob": framework.Register(tensorflow.Translator),
		"TFJob": all[0], "PyTorchJob": all[1], "XGBoostJob": all[2], "PaddleJob": all[3], "JAXJob": all[4], "MPIJob": all[5],
		"JAXJob by definition": defined(t, "jax"), "XGBoostTrainingJob": defined(t, "xgboost"), "MPITrainingJob": defined(t, "mpi"),
	}
	if found, is := known[kind]; is {
		return &found
	}
	return nil
}

func defined(t *testing.T, name string) framework.Registration {
	t.Helper()
	file := "../frameworks/" + name
	f := one[v1beta1.TrainingFramework](t, file+"/framework.yaml", "TrainingFramework", name)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	for _, o := range objects(t, file+"/crd.yaml") {
		raw, err := yaml.Marshal(o.Object)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(raw, crd))
	}
	schemas, err := definition.SchemasOf(crd, f.Spec.Kind)
	require.NoError(t, err)
	d, err := definition.New(&f.Spec, schemas)
	require.NoError(t, err)
	return d.Registration()
}

// mark writes metadata into every pod template of a document.
func mark(node any) (marked int) {
	switch n := node.(type) {
	case map[string]any:
		for name, child := range n {
			template, is := child.(map[string]any)
			if name == "template" && is && template["spec"] != nil {
				template["metadata"] = map[string]any{"labels": teams, "annotations": notes}
				marked++
				continue
			}
			marked += mark(child)
		}
	case []any:
		for _, child := range n {
			marked += mark(child)
		}
	}
	return marked
}

// podsOf are pods of a job of a kind, one of each type, whose templates have more metadata.
func podsOf(t *testing.T, kind string) (pods []*corev1.Pod) {
	t.Helper()
	list := objects(t, samples[kind])
	o := list[len(list)-1]
	require.NotZero(t, mark(o.Object), kind)
	raw, err := yaml.Marshal(o.Object)
	require.NoError(t, err)
	job := &v1beta1.GenericJob{}
	if translator := translatorOf(t, kind); translator != nil {
		training := translator.New()
		require.NoError(t, yaml.Unmarshal(raw, training), kind)
		program, err := translator.Compile(training)
		require.NoError(t, err, kind)
		require.False(t, program.Foreign, kind)
		job.Spec = program.Spec
	} else {
		require.NoError(t, yaml.Unmarshal(raw, job), kind)
	}
	job.Namespace, job.Name, job.UID = "team", "job", "uid"
	builder := build.NewBuilder(job, build.Run{WrapperImage: "w"})
	for _, r := range job.Spec.ReplicaSpecs {
		pods = append(pods, builder.Pod(r.Type, 0, 0))
	}
	require.NotEmpty(t, pods, kind)
	return pods
}

// What a template's metadata say reaches the pods of every kind, and so what selects by it selects them: budgets, policies, autoscalers of nodes.
func TestTheMetadataOfTemplatesReachThePodsOfEachKind(t *testing.T) {
	budget := one[policyv1.PodDisruptionBudget](t, "namespace/disruption_budget.yaml", "PodDisruptionBudget", "keep-from-drains")
	for kind := range samples {
		for _, pod := range podsOf(t, kind) {
			for key, value := range teams {
				require.Equal(t, value, pod.Labels[key], "%s: %s: %s", kind, pod.Name, key)
			}
			for key, value := range notes {
				require.Equal(t, value, pod.Annotations[key], "%s: %s: %s", kind, pod.Name, key)
			}
			require.True(t, selects(t, budget.Spec.Selector, pod.Labels), "%s: %s", kind, pod.Name)
			for key := range teams {
				delete(pod.Labels, key)
			}
			require.False(t, selects(t, budget.Spec.Selector, pod.Labels), "%s: %s does not ask for it", kind, pod.Name)
		}
	}
}

func selects(t *testing.T, selector *metav1.LabelSelector, of map[string]string) bool {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	return s.Matches(labels.Set(of))
}

// No cluster of these tests enforces a NetworkPolicy. What it selects, and which ports it opens, is known without one.
func TestNetworkPoliciesSelectPodsOfJobs(t *testing.T) {
	deny := one[networkingv1.NetworkPolicy](t, "namespace/network.yaml", "NetworkPolicy", "default-deny")
	require.Equal(t, networkingv1.NetworkPolicySpec{PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}}, deny.Spec, "it lets nothing in, to no pod")
	jobs := one[networkingv1.NetworkPolicy](t, "namespace/network.yaml", "NetworkPolicy", "jobs")
	require.Len(t, jobs.Spec.Ingress, 2)
	peers, operator := jobs.Spec.Ingress[0], jobs.Spec.Ingress[1]
	require.Empty(t, peers.Ports, "frameworks choose their ports")
	require.Len(t, peers.From, 1)
	require.Nil(t, peers.From[0].NamespaceSelector, "those of this namespace")
	for kind := range samples {
		for _, pod := range podsOf(t, kind) {
			require.True(t, selects(t, &jobs.Spec.PodSelector, pod.Labels), "%s: %s", kind, pod.Name)
			require.True(t, selects(t, peers.From[0].PodSelector, pod.Labels), "%s: %s", kind, pod.Name)
		}
	}
	board, err := tensorboard.Build(&metav1.ObjectMeta{Namespace: "team", Name: "job", UID: "uid"}, v1beta1.GroupVersion.WithKind("TensorFlowTrainingJob"),
		&framework.TensorBoard{
			Spec:   v1beta1.TensorBoardSpec{LogDir: &v1beta1.LogDir{PVC: []v1beta1.LogDirPVC{{Name: "logs"}}}},
			Trains: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "tensorflow", Image: "i"}}}}, Container: "tensorflow",
		})
	require.NoError(t, err)
	require.False(t, selects(t, &jobs.Spec.PodSelector, board.Deployment.Spec.Template.Labels), "a TensorBoard is no member of a job")

	ours := one[networkingv1.NetworkPolicy](t, "../network-policy/network_policy.yaml", "NetworkPolicy", "genericjob-manager")
	require.Len(t, operator.From, 1)
	require.Equal(t, ours.Spec.PodSelector, *operator.From[0].PodSelector, "the operator's pods are those that its own policy selects")
	require.Equal(t, map[string]string{corev1.LabelMetadataName: ours.Namespace}, operator.From[0].NamespaceSelector.MatchLabels)
	require.Equal(t, []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(inplace.Port))}}, operator.Ports)
	simple := one[v1beta1.GenericJob](t, samples["GenericJob"], "GenericJob", "simple")
	require.Equal(t, inplace.Port, build.WrapperPort(&simple.Spec.ReplicaSpecs[0]))
}

// The form that works for pods of every owner: an integer, and more than any namespace has pods.
func TestTheBudgetNeedsNoScaleOfAnyOwner(t *testing.T) {
	budget := one[policyv1.PodDisruptionBudget](t, "namespace/disruption_budget.yaml", "PodDisruptionBudget", "keep-from-drains")
	require.Nil(t, budget.Spec.MaxUnavailable)
	require.Equal(t, intstr.Int, budget.Spec.MinAvailable.Type)
	quota := one[corev1.ResourceQuota](t, "namespace/quota.yaml", "ResourceQuota", "training")
	pods := quota.Spec.Hard["count/pods"]
	require.Greater(t, int64(budget.Spec.MinAvailable.IntVal), pods.Value())
}
