package helm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// site is an apiserver with nothing in it, where the tests install. Nothing runs there, and nothing is waited for: how jobs fare
// meanwhile is tested on a cluster, in e2e/suite.
type site struct {
	client.Client
	t          *testing.T
	env        *envtest.Environment
	kubeconfig string // of who installs
}

func newSite(t *testing.T) *site {
	t.Helper()
	if os.Getenv("HELM") == "" {
		t.Skip("HELM names no program, so the chart is not installed: run make chart, which builds it")
	}
	log.SetLogger(logr.Discard())
	env, err := testenv.Serve()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	s := &site{t: t, env: env}
	s.Client, err = client.New(env.Config, client.Options{})
	require.NoError(t, err)
	s.be("admin", "system:masters")
	return s
}

// be has somebody else install from now on.
func (s *site) be(name string, groups ...string) {
	s.t.Helper()
	user, err := s.env.AddUser(envtest.User{Name: name, Groups: groups}, nil)
	require.NoError(s.t, err)
	text, err := user.KubeConfig()
	require.NoError(s.t, err)
	s.kubeconfig = filepath.Join(s.t.TempDir(), "kubeconfig")
	require.NoError(s.t, os.WriteFile(s.kubeconfig, text, 0o600))
}

// awaitRights waits until the apiserver knows that somebody may do everything in these namespaces: it learns of roles by watches.
func (s *site) awaitRights(name string, namespaces ...string) {
	s.t.Helper()
	for _, in := range namespaces {
		require.EventuallyWithT(s.t, func(c *assert.CollectT) {
			ask := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: name, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: in, Verb: "create", Group: rbacv1.GroupName, Resource: "roles",
			}}}
			require.NoError(c, s.Create(s.t.Context(), ask))
			require.True(c, ask.Status.Allowed)
		}, 10*time.Minute, 100*time.Millisecond)
	}
}

func (s *site) tryHelm(args ...string) (string, error) {
	s.t.Helper()
	return helm(s.t, append(args, "--kubeconfig", s.kubeconfig, "--namespace", namespace)...)
}

func (s *site) helm(args ...string) string {
	s.t.Helper()
	text, err := s.tryHelm(args...)
	require.NoError(s.t, err, text)
	return text
}

// find reads an object; nil if there is none.
func (s *site) find(version, kind, in, name string) *unstructured.Unstructured {
	s.t.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(version)
	o.SetKind(kind)
	err := s.Get(s.t.Context(), client.ObjectKey{Namespace: in, Name: name}, o)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(s.t, err)
	return o
}

func (s *site) kind() *unstructured.Unstructured {
	s.t.Helper()
	return s.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "genericjobs.batch.tensorstack.dev")
}

func (s *site) shortNames() []string {
	s.t.Helper()
	names, _, _ := unstructured.NestedStringSlice(s.kind().Object, "spec", "names", "shortNames")
	return names
}

func (s *site) operator() *unstructured.Unstructured {
	s.t.Helper()
	return s.find("apps/v1", "Deployment", namespace, "genericjob-manager")
}

// submit creates a job, as soon as the kind is served.
func (s *site) submit() *unstructured.Unstructured {
	s.t.Helper()
	job := func() *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "GenericJob",
			"metadata": map[string]any{"namespace": "default", "name": "job"},
			"spec": map[string]any{"replicaSpecs": []any{map[string]any{"type": "main", "template": map[string]any{
				"spec": map[string]any{"containers": []any{map[string]any{"name": "main", "image": "busybox"}}},
			}}}},
		}}
	}
	require.EventuallyWithT(s.t, func(c *assert.CollectT) { require.NoError(c, s.Create(s.t.Context(), job())) }, 10*time.Minute, 100*time.Millisecond)
	return s.job()
}

func (s *site) job() *unstructured.Unstructured {
	s.t.Helper()
	return s.find("batch.tensorstack.dev/v1beta1", "GenericJob", "default", "job")
}

// older is the chart with a kind that lacks something.
func older(t *testing.T) string {
	t.Helper()
	folder := copied(t)
	file := filepath.Join(folder, "bases/crd/batch.tensorstack.dev_genericjobs.yaml")
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	without := strings.Replace(string(raw), "    shortNames:\n    - gj\n", "", 1)
	require.NotEqual(t, string(raw), without)
	require.NoError(t, os.WriteFile(file, []byte(without), 0o600))
	return folder
}

func TestTheLifeOfARelease(t *testing.T) {
	s := newSite(t)
	said := s.helm("install", "genericjob", older(t), "--create-namespace", "--set", "kubeflow.enabled=true")
	require.Contains(t, said, "IT CANNOT START YET", "nobody can pull the image")
	require.Empty(t, s.shortNames())
	job := s.submit()

	s.helm("upgrade", "genericjob", chart, "--reset-then-reuse-values", "--set", "replicas=2,image.repository=registry.example/genericjob")
	require.Equal(t, []string{"gj"}, s.shortNames(), "kinds are upgraded")
	replicas, _, _ := unstructured.NestedInt64(s.operator().Object, "spec", "replicas")
	require.EqualValues(t, 2, replicas)
	s.helm("rollback", "genericjob", "1")
	require.Empty(t, s.shortNames())
	replicas, _, _ = unstructured.NestedInt64(s.operator().Object, "spec", "replicas")
	require.EqualValues(t, 1, replicas)
	require.Equal(t, job.Object, s.job().Object, "nobody touches a job")

	said = s.helm("uninstall", "genericjob")
	require.Contains(t, said, "genericjobs.batch.tensorstack.dev", "it says what it keeps")
	require.Nil(t, s.operator())
	require.Nil(t, s.find("rbac.authorization.k8s.io/v1", "ClusterRole", "", "genericjob-manager"))
	require.NotNil(t, s.kind())
	require.Equal(t, job.Object, s.job().Object)

	said, err := s.tryHelm("install", "another", chart)
	require.Error(t, err, said)
	require.Contains(t, said, "exists and cannot be imported")
	s.helm("install", "another", chart, "--take-ownership")
	require.NotNil(t, s.operator())
	s.helm("uninstall", "another")
	s.helm("install", "another", chart)
	require.Equal(t, job.Object, s.job().Object)
}

// A definition keeps in its status by which revision jobs were compiled: nothing that Helm does makes it anew.
func TestTheLifeOfADefinition(t *testing.T) {
	s := newSite(t)
	definition := func() *unstructured.Unstructured {
		return s.find("batch.tensorstack.dev/v1beta1", "TrainingFramework", "", "xgboost")
	}
	const values = "frameworks={xgboost}"
	said := s.helm("install", "genericjob", chart, "--create-namespace", "--set", values)
	require.Contains(t, said, "NOT SERVED YET: xgboost.")
	said = s.helm("upgrade", "genericjob", chart, "--set", values)
	require.NotContains(t, said, "NOT SERVED YET")
	made := definition()
	require.NotNil(t, made)
	s.helm("upgrade", "genericjob", chart, "--set", values+",replicas=2")
	require.Equal(t, made.GetUID(), definition().GetUID())
	s.helm("upgrade", "genericjob", chart, "--reset-values")
	require.Equal(t, made.GetUID(), definition().GetUID(), "who wants it gone deletes it")
	s.helm("uninstall", "genericjob")
	require.Equal(t, made.GetUID(), definition().GetUID())
	s.helm("install", "genericjob", chart, "--set", values)
	require.Equal(t, made.GetUID(), definition().GetUID())
	require.NotNil(t, s.find("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "xgboosttrainingjobs.frameworks.example.com"))
}

// A release is one Secret, with the chart and what it rendered. The apiserver takes no more than 1 MiB of data. A fifth of it is left for the values
// of those who install it, and for kinds that grow.
func TestAReleaseFitsIntoItsSecret(t *testing.T) {
	s := newSite(t)
	s.helm("install", "genericjob", chart, "--create-namespace", "--set",
		"kubeflow.enabled=true,networkPolicy.enabled=true,podDisruptionBudget.enabled=true,dashboard.enabled=true,frameworks={mpi,xgboost}")
	secret := &corev1.Secret{}
	require.NoError(t, s.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sh.helm.release.v1.genericjob.v1"}, secret))
	require.Less(t, len(secret.Data["release"]), 4*(1<<20)/5, "of 1 MiB")
	t.Logf("%d bytes", len(secret.Data["release"]))
}

func TestAReleaseTakesOverWhatKustomizeInstalled(t *testing.T) {
	s := newSite(t)
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	text, err := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", s.kubeconfig, "apply", "-k", "../default").CombinedOutput()
	require.NoError(t, err, string(text))
	job, before := s.submit(), s.operator()
	s.helm("install", "genericjob", chart, "--take-ownership", "--force-conflicts", "--set", "image.tag=v2")
	require.Equal(t, before.GetUID(), s.operator().GetUID())
	require.Equal(t, job.Object, s.job().Object)
	require.Equal(t, "Helm", s.kind().GetLabels()["app.kubernetes.io/managed-by"])
}

func TestATenantInstallsWhoHasNoRightsOutsideOfHisNamespaces(t *testing.T) {
	s := newSite(t)
	for _, name := range []string{namespace, "team-a"} {
		require.NoError(t, s.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		require.NoError(t, s.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "tenant"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant"}},
		}))
	}
	s.be("tenant")
	s.awaitRights("tenant", namespace, "team-a")
	said, err := s.tryHelm("install", "genericjob", chart, "--set", "namespaces={team-a}")
	require.Error(t, err, said)
	require.Contains(t, said, "forbidden")
	s.helm("upgrade", "--install", "genericjob", chart, "--set", "namespaces={team-a},clusterScoped=false")
	require.NotNil(t, s.find("rbac.authorization.k8s.io/v1", "Role", "team-a", "genericjob-manager"))
	require.NotNil(t, s.operator())
	s.helm("uninstall", "genericjob")
	require.Nil(t, s.operator())
}
