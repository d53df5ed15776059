package tenant

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// operator is who makes pods, and GenericJobs of training jobs.
const operator = "system:serviceaccount:genericjob-system:genericjob-manager"

// job is one from YAML, in a namespace.
func job(t *testing.T, namespace, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &o.Object), text)
	o.SetNamespace(namespace)
	if o.GetName() == "" {
		o.SetName("job")
	}
	return o
}

// ours is a job of one of our kinds, with two types; of the second pod more may be said.
func ours(kind, spec, pod string) string {
	return `{apiVersion: batch.tensorstack.dev/v1beta1, kind: ` + kind + `, spec: {` + spec + `replicaSpecs: [
		{type: chief, template: {spec: {containers: [{name: tensorflow, image: i}]}}},
		{type: worker, template: {spec: {` + pod + `containers: [{name: tensorflow, image: i}]}}}]}}`
}

// theirs is a job of one of Kubeflow's kinds.
func theirs(kind, replicas, pod string) string {
	version, field, worker, container := "v1", map[string]string{
		"TFJob": "tf", "PyTorchJob": "pytorch", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax", "MPIJob": "mpi",
	}[kind]+"ReplicaSpecs", "Worker", strings.ToLower(strings.TrimSuffix(kind, "Job"))
	more := ""
	switch kind {
	case "TFJob":
		container = "tensorflow"
	case "XGBoostJob":
		more = "Master: {replicas: 1, template: {spec: {containers: [{name: xgboost, image: i}]}}}, "
	case "MPIJob":
		version = "v2beta1"
		more = "Launcher: {replicas: 1, template: {spec: {containers: [{name: mpi, image: i}]}}}, "
	}
	return `{apiVersion: kubeflow.org/` + version + `, kind: ` + kind + `, spec: {` + field + `: {` + more + worker + `: {replicas: ` + replicas +
		`, template: {spec: {` + pod + `containers: [{name: ` + container + `, image: i}]}}}}}}`
}

// awaitPolicies waits until the apiserver has read the policies.
func awaitPolicies(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	for _, probe := range []string{
		ours("GenericJob", "", "hostNetwork: true, "), strings.Replace(ours("GenericJob", "", ""), "type: worker,", "type: worker, replicas: 9999,", 1), ours("GenericJob", "avoidNodes: {}, ", ""),
	} {
		require.Eventually(t, func() bool {
			err := c.Create(t.Context(), job(t, namespace, probe), client.DryRunAll) // without rights yet it is refused, too
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
		}, patience, 50*time.Millisecond, probe)
	}
}

// Each policy refuses what it says, for each kind, and names the field, the value and what to do.
func TestPoliciesRefuseWithAReason(t *testing.T) {
	const team = "refused"
	give(t, team)
	anna := as(t, "anna", "team")
	awaitPolicies(t, anna, team)
	onHost := ": hostNetwork, hostPID and hostIPC are not allowed in namespace refused: remove them from the template"
	privileged := ": privileged containers are not allowed in namespace refused: remove securityContext.privileged"
	hostPath := ": volumes of kind hostPath are not allowed in namespace refused: use a persistentVolumeClaim or an emptyDir"
	many := "the job has 65 replicas over all types, and namespace refused allows 64: ask for fewer, or have an admin raise the annotation " +
		"batch.tensorstack.dev/max-replicas of the namespace"
	rows := [][2]string{
		{`{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, spec: {replicas: 65, replicaSpecs: [{type: worker, template: {spec: {containers: [{name: m, image: i}]}}}]}}`, many},
		{ours("GenericJob", "avoidNodes: {}, ", ""),
			"spec.avoidNodes: anna may not set or change it in namespace refused: leave it as it was, or have an admin bind you to the Role avoid-nodes"},
	}
	for _, kind := range []string{"PyTorchTrainingJob", "TensorFlowTrainingJob"} {
		rows = append(rows, [2]string{ours(kind, "runPolicy: {avoidNodes: {after: 2}}, ", ""), "spec.runPolicy.avoidNodes: anna may not set or change it"})
	}
	for _, kind := range []string{"GenericJob", "PyTorchTrainingJob", "TensorFlowTrainingJob"} {
		for pod, words := range map[string]string{
			"hostNetwork: true, ": onHost, "hostPID: true, ": onHost, "hostIPC: true, ": onHost,
			"initContainers: [{name: x, image: i, securityContext: {privileged: true}}], ":      privileged,
			"ephemeralContainers: [{name: x, image: i, securityContext: {privileged: true}}], ": privileged,
			"volumes: [{name: v, emptyDir: {}}, {name: h, hostPath: {path: /}}], ":              hostPath,
		} {
			rows = append(rows, [2]string{ours(kind, "", pod), "spec.replicaSpecs of type worker" + words})
		}
		rows = append(rows, [2]string{strings.Replace(ours(kind, "", ""), "type: worker,", "type: worker, replicas: 64,", 1), many})
	}
	for kind, field := range map[string]string{
		"TFJob": "tf", "PyTorchJob": "pytorch", "XGBoostJob": "xgb", "PaddleJob": "paddle", "JAXJob": "jax", "MPIJob": "mpi",
	} {
		place, most := "spec."+field+"ReplicaSpecs.Worker", "65"
		if kind == "XGBoostJob" || kind == "MPIJob" { // another replica leads
			most = "64"
		}
		rows = append(rows,
			[2]string{theirs(kind, "2", "hostNetwork: true, "), place + onHost},
			[2]string{strings.Replace(theirs(kind, "2", ""), "image: i}]}}}}}}", "image: i, securityContext: {privileged: true}}]}}}}}}", 1), place + privileged},
			[2]string{theirs(kind, "2", "volumes: [{name: h, hostPath: {path: /}}], "), place + hostPath},
			[2]string{theirs(kind, most, ""), many})
	}
	for _, row := range rows {
		require.ErrorContains(t, anna.Create(t.Context(), job(t, team, row[0]), client.DryRunAll), row[1], row[0])
	}
	elsewhere := as(t, "")
	require.NoError(t, elsewhere.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}))
	require.NoError(t, elsewhere.Create(t.Context(), job(t, "elsewhere", ours("GenericJob", "avoidNodes: {}, ", "hostNetwork: true, ")), client.DryRunAll))
}

// What the policies do not mean goes through: all samples, and one of each of Kubeflow's kinds.
func TestPoliciesAdmitSamples(t *testing.T) {
	const team = "samples"
	admin := give(t, team)
	anna := as(t, "anna", "team")
	awaitPolicies(t, anna, team)
	found, err := filepath.Glob("../samples/*.yaml")
	require.NoError(t, err)
	require.Greater(t, len(found), 4)
	for _, file := range append(found, "../frameworks/xgboost/sample.yaml") {
		for _, o := range objects(t, file) {
			o.SetNamespace(team)
			require.NoError(t, anna.Create(t.Context(), o, client.DryRunAll), file)
		}
	}
	for _, kind := range []string{"TFJob", "PyTorchJob", "XGBoostJob", "PaddleJob", "JAXJob", "MPIJob"} {
		require.NoError(t, anna.Create(t.Context(), job(t, team, theirs(kind, "63", "")), client.DryRunAll), kind)
	}
	// The namespace says how many replicas are too many.
	most := job(t, team, ours("GenericJob", "", ""))
	annotate(t, admin, team, "1")
	require.Eventually(t, func() bool { return anna.Create(t.Context(), most.DeepCopy(), client.DryRunAll) != nil }, patience, 50*time.Millisecond)
	annotate(t, admin, team, "2")
	require.Eventually(t, func() bool { return anna.Create(t.Context(), most.DeepCopy(), client.DryRunAll) == nil }, patience, 50*time.Millisecond)
}

// What runs is what counts. An elastic job has as many replicas as it expects. What the operator adds is no replica that a team asks for.
func TestReplicasAreCountedAsTheyRun(t *testing.T) {
	const team = "counted"
	admin := give(t, team)
	anna := as(t, "anna", "team")
	awaitPolicies(t, anna, team)
	require.NoError(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "manager"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "trainer"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operator}},
	}))
	elastic := func(expects string) *unstructured.Unstructured {
		return job(t, team, strings.Replace(ours("PyTorchTrainingJob", "torchrunConfig: {enabled: true}, elastic: {enabled: true, minReplicas: 2, maxReplicas: 100"+expects+"}, ", ""),
			"type: worker,", "type: worker, replicas: 99,", 1))
	}
	require.NoError(t, anna.Create(t.Context(), elastic(""), client.DryRunAll), "its types do not count")
	require.NoError(t, anna.Create(t.Context(), elastic(", expectedReplicas: 64"), client.DryRunAll))
	require.ErrorContains(t, anna.Create(t.Context(), elastic(", expectedReplicas: 65"), client.DryRunAll), "the job has 65 replicas over all types, and namespace counted allows 64")

	made := func(workers string) *unstructured.Unstructured { // as of an elastic job, with its store
		return job(t, team, strings.NewReplacer("type: worker,", "type: worker, replicas: "+workers+",", "type: chief,", "type: rendezvous, auxiliary: true,").Replace(ours("GenericJob", "", "")))
	}
	manager := as(t, operator)
	require.Eventually(t, func() bool { return manager.Create(t.Context(), made("64"), client.DryRunAll) == nil }, patience, 50*time.Millisecond)
	require.ErrorContains(t, manager.Create(t.Context(), made("65"), client.DryRunAll), "the job has 65 replicas")
	require.ErrorContains(t, anna.Create(t.Context(), made("64"), client.DryRunAll), "the job has 65 replicas", "who writes it asks for it")
}

func annotate(t *testing.T, admin client.Client, namespace, most string) {
	t.Helper()
	ns := &corev1.Namespace{}
	require.NoError(t, admin.Get(t.Context(), client.ObjectKey{Name: namespace}, ns))
	patch := client.MergeFrom(ns.DeepCopy())
	ns.Annotations["batch.tensorstack.dev/max-replicas"] = most
	require.NoError(t, admin.Patch(t.Context(), ns, patch))
}

// A job that is stored is held to the policies where its spec changes, by kubectl scale, too. All else goes on: also the deletion of what came before
// them.
func TestPoliciesHoldForChanges(t *testing.T) {
	const team = "changes"
	admin := give(t, team)
	anna := as(t, "anna", "team")
	awaitPolicies(t, anna, team)
	stored := job(t, team, `{apiVersion: batch.tensorstack.dev/v1beta1, kind: GenericJob, spec: {replicas: 2, replicaSpecs: [
		{type: worker, template: {spec: {containers: [{name: m, image: i}]}}}]}}`)
	require.NoError(t, anna.Create(t.Context(), stored))
	scale := func(n string) error {
		return anna.SubResource("scale").Update(t.Context(), stored.DeepCopy(), client.WithSubResourceBody(job(t, team,
			`{apiVersion: autoscaling/v1, kind: Scale, spec: {replicas: `+n+`}}`)))
	}
	require.ErrorContains(t, scale("65"), "the job has 65 replicas over all types, and namespace changes allows 64")
	require.NoError(t, scale("64"))
	require.ErrorContains(t, scale("0"), "should be greater than or equal to 1", "no policy is about that")

	avoid := []byte(`{"spec": {"avoidNodes": {"after": 2}}}`)
	require.ErrorContains(t, anna.Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", avoid)), "anna may not set or change it")
	require.NoError(t, admin.Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", avoid)), "an admin may do all")
	label := []byte(`{"metadata": {"labels": {"a": "b"}}}`)
	require.NoError(t, anna.Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", label)), "it is not what is changed")

	annotate(t, admin, team, "1") // the job has more since
	finalizer := []byte(`{"metadata": {"finalizers": ["example.com/f"]}}`)
	require.NoError(t, admin.Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", finalizer)))
	require.NoError(t, anna.Delete(t.Context(), stored.DeepCopy()))
	require.NoError(t, admin.Patch(t.Context(), stored.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`))))
}

// The Role is what the policy asks for, and only of people: the operator copies what they were asked about.
func TestWhoMaySetAvoidNodes(t *testing.T) {
	const team = "avoids"
	admin := give(t, team)
	awaitPolicies(t, as(t, "anna", "team"), team)
	bound := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "avoid-nodes"}}
	bound.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "avoid-nodes"}
	bound.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "otto"}}
	require.NoError(t, admin.Create(t.Context(), bound))
	otto := as(t, "otto", "team")
	for _, text := range []string{
		ours("GenericJob", "avoidNodes: {}, ", ""), ours("PyTorchTrainingJob", "runPolicy: {avoidNodes: {}}, ", ""),
		ours("TensorFlowTrainingJob", "runPolicy: {avoidNodes: {}}, ", ""),
	} {
		require.Eventually(t, func() bool { return otto.Create(t.Context(), job(t, team, text), client.DryRunAll) == nil }, patience, 50*time.Millisecond, text)
		require.Error(t, as(t, "anna", "team").Create(t.Context(), job(t, team, text), client.DryRunAll))
	}
	manager := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "manager"}}
	manager.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "trainer"}
	manager.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operator}}
	require.NoError(t, admin.Create(t.Context(), manager))
	require.Eventually(t, func() bool {
		return as(t, operator).Create(t.Context(), job(t, team, ours("GenericJob", "avoidNodes: {}, ", "")), client.DryRunAll) == nil
	}, patience, 50*time.Millisecond)
}

// A kind that comes later is not forgotten.
func TestPoliciesAreForAllKinds(t *testing.T) {
	for _, name := range []string{"templates", "replicas", "queue", "avoid_nodes"} {
		policy := one[admissionv1.ValidatingAdmissionPolicy](t, "cluster/"+name+".yaml", "ValidatingAdmissionPolicy", "genericjob-"+strings.ReplaceAll(name, "_", "-"))
		var have []string
		for _, rule := range policy.Spec.MatchConstraints.ResourceRules {
			for _, resource := range rule.Resources {
				if !strings.Contains(resource, "/") {
					have = append(have, rule.APIGroups[0]+"/"+resource)
				}
			}
		}
		want := []string{"batch.tensorstack.dev/trainingframeworks"}
		want = append(want, have...)
		folders := []string{"../crd", "../kubeflow/crd"}
		if name == "avoid_nodes" { // Kubeflow's kinds do not have it
			folders = folders[:1]
		}
		require.ElementsMatch(t, kindsOf(t, folders...), want, name)
	}
}
