// Package tenant holds what an admin gives each team's namespace; its tests keep what the manifests promise.
package tenant

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/kernel/build"
)

// patience bounds every wait. No test depends on how fast anything is.
const patience = 10 * time.Minute

var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }, "kubeflow/crd", "frameworks/xgboost/crd.yaml"))
}

// objects are those of a file.
func objects(t *testing.T, file string) (list []*unstructured.Unstructured) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, doc := range regexp.MustCompile(`(?m)^---$`).Split(string(raw), -1) {
		o := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(doc), &o.Object), file)
		list = append(list, o)
	}
	return list
}

// one is the object of a kind among those of a file.
func one[T any](t *testing.T, file, kind, name string) *T {
	t.Helper()
	for _, o := range objects(t, file) {
		if o.GetKind() == kind && o.GetName() == name {
			raw, err := yaml.Marshal(o.Object)
			require.NoError(t, err)
			out := new(T)
			require.NoError(t, yaml.UnmarshalStrict(raw, out))
			return out
		}
	}
	require.Fail(t, "no such object", "%s: %s %s", file, kind, name)
	return nil
}

// as is a client of somebody.
func as(t *testing.T, user string, groups ...string) client.Client {
	t.Helper()
	config := rest.CopyConfig(cluster.Config)
	if user != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	}
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	return c
}

// give makes a namespace with the whole kit in it, as kustomize and the controller-manager would.
func give(t *testing.T, name string) client.Client {
	t.Helper()
	admin := as(t, "")
	for _, file := range files(t, "cluster") {
		for _, o := range objects(t, file) {
			require.NoError(t, client.IgnoreAlreadyExists(admin.Create(t.Context(), o)), file)
		}
	}
	for _, file := range files(t, "namespace") {
		for _, o := range objects(t, file) {
			if o.GetKind() == "Namespace" {
				o.SetName(name)
			} else {
				o.SetNamespace(name)
			}
			require.NoError(t, admin.Create(t.Context(), o), file)
		}
	}
	quota := &corev1.ResourceQuota{}
	require.NoError(t, admin.Get(t.Context(), client.ObjectKey{Namespace: name, Name: "training"}, quota))
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{}
	for name := range quota.Spec.Hard {
		quota.Status.Used[name] = resource.MustParse("0")
	}
	require.NoError(t, admin.Status().Update(t.Context(), quota))
	return admin
}

// files are those that the kustomization of a folder lists. That must be all.
func files(t *testing.T, folder string) (list []string) {
	t.Helper()
	var kustomization struct {
		Resources []string `json:"resources"`
	}
	raw, err := os.ReadFile(filepath.Join(folder, "kustomization.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, &kustomization))
	there, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, there, len(kustomization.Resources)+1, "%s: each file is listed", folder)
	for _, name := range kustomization.Resources {
		list = append(list, filepath.Join(folder, name))
	}
	return list
}

// withContext makes pods of a job restricted, as Pod Security calls it. They say nothing of what they request.
func withContext(job *v1beta1.GenericJob) {
	for i := range job.Spec.ReplicaSpecs {
		pod := &job.Spec.ReplicaSpecs[i].Template.Spec
		pod.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), RunAsUser: new(int64(1234)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		for j := range pod.Containers {
			pod.Containers[j].SecurityContext = &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}
		}
	}
}

// podOf is what the operator makes of the first replica of a job, for an apiserver of any version.
func podOf(job *v1beta1.GenericJob) *corev1.Pod {
	pod := build.NewBuilder(job, build.Run{WrapperImage: "w"}).Pod("worker", 0, 0)
	build.LeaveOutRestartRules(pod)
	return pod
}

// Quota, LimitRange and Pod Security let in what the operator makes of a template that says nothing of requests; the wrapper's init container, too.
func TestPodsWithoutRequestsAreAdmitted(t *testing.T) {
	const team = "admitted"
	admin := give(t, team)
	for _, strategy := range []v1beta1.RestartStrategy{v1beta1.RestartInPlace, v1beta1.RestartRecreate} {
		job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: strings.ToLower(string(strategy)), UID: "u"}}
		job.Spec.RestartStrategy = strategy
		job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "i", Command: []string{"train"}}},
		}}}}
		require.ErrorContains(t, admin.Create(t.Context(), podOf(job)), `violates PodSecurity "restricted:latest"`)

		withContext(job)
		require.Eventually(t, func() bool { // the apiserver learns by a watch what the quota's status says
			err := admin.Create(t.Context(), podOf(job), client.DryRunAll)
			return err == nil || !strings.Contains(err.Error(), "status unknown for quota")
		}, patience, 50*time.Millisecond)
		pod := podOf(job)
		require.NoError(t, admin.Create(t.Context(), pod), strategy)
		require.Equal(t, strategy == v1beta1.RestartInPlace, len(pod.Spec.InitContainers) == 1, strategy)
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			require.Equal(t, "100m", c.Resources.Requests.Cpu().String(), c.Name)
			require.Equal(t, "256Mi", c.Resources.Requests.Memory().String(), c.Name)
			require.Empty(t, c.Resources.Limits, c.Name)
		}
	}
	// The README's own job, as it stands there.
	hello := &v1beta1.GenericJob{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(block(t, 1)), hello))
	hello.Namespace, hello.UID = team, "u"
	require.NoError(t, admin.Create(t.Context(), podOf(hello)))
	// What the LimitRange must not do: refuse a container that requests much, and says no limit.
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "large", UID: "u"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "main", Image: "i", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("500Gi")}}}},
	}}}}
	withContext(job)
	require.NoError(t, admin.Create(t.Context(), podOf(job)))
	job.Name = "larger"
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse("900Gi")
	require.ErrorContains(t, admin.Create(t.Context(), podOf(job)), "exceeded quota: training")
}

// block is a manifest in the README.
func block(t *testing.T, i int) string {
	t.Helper()
	raw, err := os.ReadFile("README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(raw), -1)
	require.Len(t, blocks, 2)
	return blocks[i][1]
}

// The README's example of another team is what kustomize makes of it.
func TestAnotherTeamIsAKustomization(t *testing.T) {
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	if _, err := os.Stat(kubectl); err != nil {
		t.Skipf("no kubectl in KUBEBUILDER_ASSETS, so nothing is rendered: run make test")
	}
	here, err := os.Getwd()
	require.NoError(t, err)
	folder, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	kit, err := filepath.Rel(folder, filepath.Join(here, "namespace"))
	require.NoError(t, err)
	own := strings.Replace(block(t, 0), "path/to/deploy/tenant/namespace", kit, 1)
	require.NotEqual(t, block(t, 0), own)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(own), 0o600))
	rendered, err := exec.CommandContext(t.Context(), kubectl, "kustomize", folder).CombinedOutput() // #nosec G204 -- the program of the tests
	require.NoError(t, err, string(rendered))
	file := filepath.Join(folder, "rendered.yaml")
	require.NoError(t, os.WriteFile(file, rendered, 0o600))
	for _, o := range objects(t, file) {
		if o.GetKind() == "Namespace" {
			require.Equal(t, "vision", o.GetName())
		} else {
			require.Equal(t, "vision", o.GetNamespace(), o.GetName())
		}
	}
	require.Equal(t, "vision-researchers", one[rbacv1.RoleBinding](t, file, "RoleBinding", "trainers").Subjects[0].Name)
	gpus := one[corev1.ResourceQuota](t, file, "ResourceQuota", "training").Spec.Hard["requests.nvidia.com/gpu"]
	require.EqualValues(t, 64, gpus.Value())
}
