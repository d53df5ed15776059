package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// limitCritical is how GKE's apiservers are configured, for example.
const limitCritical = `
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
  - name: ResourceQuota
    configuration:
      apiVersion: apiserver.config.k8s.io/v1
      kind: ResourceQuotaConfiguration
      limitedResources:
        - resource: pods
          matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-cluster-critical]}]
`

// system-cluster-critical outside of kube-system is refused in some clusters, and then there is no operator.
func TestTheOperatorsPodIsAdmittedWhereCriticalPodsAreLimited(t *testing.T) {
	file := filepath.Join(t.TempDir(), "admission.yaml")
	require.NoError(t, os.WriteFile(file, []byte(limitCritical), 0o600))
	env, err := testenv.StartWith(func(env *envtest.Environment) {
		env.ControlPlane.GetAPIServer().Configure().Set("admission-control-config-file", file)
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })
	c, err := client.New(env.Config, client.Options{})
	require.NoError(t, err)

	var deployment appsv1.Deployment
	quota := &corev1.ResourceQuota{}
	for file, to := range map[string]any{"manager/manager.yaml": &deployment, "manager/critical_pods_quota.yaml": quota} {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(raw, to))
	}
	require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: quota.Namespace}}))
	start := func() error {
		pod := &corev1.Pod{Spec: deployment.Spec.Template.Spec}
		pod.Namespace, pod.GenerateName = quota.Namespace, "manager-"
		return c.Create(t.Context(), pod)
	}
	eventually := func(what string, ask func() bool) {
		t.Helper()
		require.Eventually(t, ask, 10*time.Minute, 100*time.Millisecond, what)
	}
	eventually("refused without the quota", func() bool { // for another reason as long as the class is not there
		err := start()
		require.Error(t, err)
		return strings.Contains(err.Error(), "insufficient quota to match these scopes")
	})
	require.NoError(t, c.Create(t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}}
	require.NoError(t, c.Status().Update(t.Context(), quota)) // as kube-controller-manager does
	eventually("admitted with it", func() bool { return start() == nil })
}
