package suite_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const prometheusImage = "localhost/prometheus:dev"

// prometheus is a Prometheus in a pod, as somebody may run it who has no more than its image.
const prometheus = `
apiVersion: v1
kind: Namespace
metadata: {name: monitoring}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: monitoring}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: prometheus-finds-pods}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus-finds-pods}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: prometheus-finds-pods}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: monitoring}]
---
apiVersion: v1
kind: Pod
metadata: {name: prometheus, namespace: monitoring}
spec:
  serviceAccountName: prometheus
  containers:
    - name: prometheus
      image: ` + prometheusImage + `
      imagePullPolicy: Never
      args: [--config.file=/etc/prometheus/prometheus.yaml, --storage.tsdb.path=/data]
      ports: [{containerPort: 9090}]
      readinessProbe: {httpGet: {path: /-/ready, port: 9090}, periodSeconds: 1}
      volumeMounts: [{name: config, mountPath: /etc/prometheus}, {name: data, mountPath: /data}]
  volumes:
    - {name: config, configMap: {name: prometheus}}
    - {name: data, emptyDir: {}}
`

// releaseIsWatched has Prometheus scrape the operator as deploy/monitoring/README.md says. A job is stuck; its alert fires, says what to
// do, and ends when that has been done.
func releaseIsWatched(r *release) {
	r.install("--set", "networkPolicy.enabled=true,podDisruptionBudget.enabled=true")
	r.startPrometheus()
	healthy := r.submit("healthy", `{replicaSpecs: [{type: worker, template: `+pod("obey")+`}]}`)
	stuck := r.submit("stuck", `{replicaSpecs: [{type: worker, template: `+strings.Replace(pod("exit 0"), image, "registry.invalid/nobody/nothing:v1", 1)+`}]}`)
	r.awaitRunning("healthy", "1/1")

	var told alert
	r.until("the alert fires", func() bool {
		told = r.firing("GenericJobBlocked")
		return told.State == "firing"
	})
	require.Equal(r.t, v1beta1.KindGenericJob, told.Labels["kind"])
	// The policy of these pods is Never pull: what the kubelet says is the obstacle.
	require.Equal(r.t, "ErrImageNeverPull", told.Labels["reason"])
	require.Contains(r.t, told.Annotations["summary"], "A GenericJob has been held up for")
	action := told.Annotations["action"]
	require.Contains(r.t, action, "kubectl get gj -A -o wide | grep -v Running")
	shown := string(kubectlOf(r.t, "get", "gj", "-A", "-o", "wide"))
	require.Contains(r.t, shown, "ErrImageNeverPull")
	require.NotContains(r.t, action, "{{")

	// What the alert asked for: somebody corrects the image.
	r.edit("stuck", func(s *v1beta1.GenericJobSpec) {
		s.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	r.awaitPhase("stuck", v1beta1.JobPaused)
	r.edit("stuck", func(s *v1beta1.GenericJobSpec) {
		s.RunMode, s.ReplicaSpecs[0].Template.Spec.Containers[0].Image = nil, image
	})
	r.awaitPhase("stuck", v1beta1.JobSucceeded)
	r.until("the alert is over", func() bool { return r.firing("GenericJobBlocked").State == "" })
	for _, alert := range []string{"GenericJobOperatorAbsent", "GenericJobNoLeader", "GenericJobReconcilesFail"} {
		require.Empty(r.t, r.firing(alert).State, alert)
	}
	r.end(healthy, "worker", 0, 0)
	r.awaitPhase("healthy", v1beta1.JobSucceeded)
	r.awaitReleased(stuck)
	r.removeEverything()
}

// startPrometheus makes what deploy/monitoring/README.md asks for, with the scrape configuration as it stands there, and the alerts. The
// alert for stuck jobs waits for seconds instead of a quarter of an hour.
func (r *release) startPrometheus() {
	r.t.Helper()
	binary, tar := strings.TrimSpace(goRun(r.t, "path", "prometheus")), filepath.Join(r.t.TempDir(), "prometheus.tar")
	goRun(r.t, "image", "-ref", prometheusImage, "-out", tar, "-entrypoint", "/"+filepath.Base(binary), binary)
	goRun(r.t, "load", tar)

	text, err := os.ReadFile(filepath.Join(root, "deploy", "monitoring", "README.md"))
	require.NoError(r.t, err)
	_, rest, found := strings.Cut(string(text), "```yaml\nscrape_configs:")
	require.True(r.t, found, "deploy/monitoring/README.md has the scrape configuration")
	scrape, _, _ := strings.Cut(rest, "```")
	rules, err := os.ReadFile(filepath.Join(root, "deploy", "monitoring", "rules.yaml"))
	require.NoError(r.t, err)
	const quarter = `PodsNotReady|Other"}) > 900`
	require.Contains(r.t, string(rules), quarter)

	applied(r.t, prometheus)
	require.NoError(r.t, r.Create(r.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "prometheus", Namespace: "monitoring"},
		Data: map[string]string{
			"prometheus.yaml": "global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [/etc/prometheus/rules.yaml]\nscrape_configs:" + scrape,
			"rules.yaml":      strings.Replace(string(rules), quarter, `PodsNotReady|Other"}) > 20`, 1),
		},
	}))
	kubectlOf(r.t, "create", "clusterrolebinding", "genericjob-metrics-reader", "--clusterrole=genericjob-metrics-reader", "--serviceaccount=monitoring:prometheus")
	r.t.Cleanup(func() { _ = exec.Command(kubectl, "delete", "clusterrolebinding", "genericjob-metrics-reader").Run() })
	kubectlOf(r.t, "wait", "--for=condition=Ready", "--namespace", "monitoring", "pod/prometheus", "--timeout=3m")
}

// alert is what Prometheus says of an alert.
type alert struct {
	State               string
	Labels, Annotations map[string]string
}

// firing is an alert as Prometheus tells it, through the apiserver. None is without a state.
func (r *release) firing(name string) alert {
	r.t.Helper()
	var answer struct{ Data struct{ Alerts []alert } }
	text := kubectlOf(r.t, "get", "--raw", "/api/v1/namespaces/monitoring/pods/prometheus:9090/proxy/api/v1/alerts")
	require.NoError(r.t, json.Unmarshal(text, &answer))
	for _, a := range answer.Data.Alerts {
		if a.Labels["alertname"] == name {
			return a
		}
	}
	return alert{}
}
