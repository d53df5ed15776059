package metrics

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators"
)

var update = flag.Bool("update", false, "draw deploy/monitoring/dashboard.svg")

// patience bounds every wait. No test depends on how fast anything is.
const patience = 20 * time.Minute

// operatorNamespace is where deploy/default installs the operator.
const operatorNamespace = "genericjob-system"

// run is an apiserver, operators, and a Prometheus that scrapes them.
type run struct {
	client.WithWatch
	t      *testing.T
	root   string // of the checkout
	folder string
	config *rest.Config
	api    string // Prometheus' own
	begin  time.Time

	prometheus, promtool, stateProgram, manager string
}

func newRun(t *testing.T) *run {
	t.Helper()
	r := &run{t: t, folder: t.TempDir(), prometheus: os.Getenv("PROMETHEUS"), promtool: os.Getenv("PROMTOOL"), stateProgram: os.Getenv("KUBE_STATE_METRICS")}
	if r.prometheus == "" || r.promtool == "" || r.stateProgram == "" {
		t.Skip("PROMETHEUS, PROMTOOL and KUBE_STATE_METRICS name no programs: run `make e2e-metrics`, which builds them")
	}
	log.SetLogger(logr.Discard())
	var err error
	r.root, err = testenv.Root()
	require.NoError(t, err)
	r.manager = filepath.Join(r.folder, "manager")
	r.do(exec.Command("go", "build", "-o", r.manager, "./cmd/manager"))
	env, err := testenv.Start()
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the apiserver: %v", err)
		}
	})
	r.config = env.Config
	r.config.QPS = -1
	scheme, err := controllers.NewScheme(translators.All()...)
	require.NoError(t, err)
	r.WithWatch, err = client.NewWithWatch(r.config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	r.install()
	return r
}

// do runs a program in the checkout and returns what it says.
func (r *run) do(c *exec.Cmd) []byte {
	r.t.Helper()
	c.Dir = r.root
	out, err := c.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", c, out)
	return out
}

// install makes what deploy/default has beside the kinds and the operator's pod.
func (r *run) install() {
	r.t.Helper()
	kubectl := filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")
	for _, document := range bytes.Split(r.do(exec.Command(kubectl, "kustomize", "deploy/default")), []byte("\n---\n")) {
		o := &unstructured.Unstructured{}
		require.NoError(r.t, yaml.Unmarshal(document, &o.Object))
		switch o.GetKind() {
		case "CustomResourceDefinition", "Deployment", "ResourceQuota":
		default:
			require.NoError(r.t, r.Create(r.t.Context(), o), "%s %s", o.GetKind(), o.GetName())
		}
	}
	scraper := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "prometheus"}}
	require.NoError(r.t, r.Create(r.t.Context(), scraper))
	require.NoError(r.t, r.Create(r.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scrape"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "genericjob-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: scraper.Namespace, Name: scraper.Name}},
	}))
}

// token is one of a ServiceAccount.
func (r *run) token(namespace, name string) string {
	r.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	require.NoError(r.t, r.SubResource("token").Create(r.t.Context(), account, request))
	return request.Status.Token
}

func (r *run) write(name, text string) string {
	r.t.Helper()
	file := filepath.Join(r.folder, name)
	require.NoError(r.t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

// until waits for something, and says what if it does not come.
func (r *run) until(what string, is func() bool) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for !is() {
		select {
		case <-ctx.Done():
			require.FailNow(r.t, "waited in vain", "for %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// process is a program that runs until the test ends, or is killed.
type process struct {
	*exec.Cmd
	log     string
	address string
	ended   chan struct{}
}

func (r *run) start(name, address string, environment []string, program string, arguments ...string) *process {
	r.t.Helper()
	p := &process{Cmd: exec.Command(program, arguments...), log: filepath.Join(r.folder, name+".log"), address: address, ended: make(chan struct{})}
	out, err := os.Create(p.log)
	require.NoError(r.t, err)
	defer out.Close()
	p.Dir, p.Env, p.Stdout, p.Stderr = r.folder, append(os.Environ(), environment...), out, out
	require.NoError(r.t, p.Start())
	go func(ended chan<- struct{}) {
		_ = p.Wait() // it is killed
		close(ended)
	}(p.ended)
	r.t.Cleanup(func() {
		p.kill()
		if text, err := os.ReadFile(p.log); err == nil && r.t.Failed() {
			r.t.Logf("the end of %s's log:\n%s", name, text[max(0, len(text)-4000):])
		}
	})
	return p
}

// kill ends a process without a chance to finish anything.
func (p *process) kill() {
	if p.ended != nil {
		_ = p.Process.Kill()
		<-p.ended
		p.ended = nil
	}
}

// operate starts an operator, with the rights of its ServiceAccount.
func (r *run) operate(name string) *process {
	r.t.Helper()
	address := testenv.FreeAddress(r.t)
	return r.start(name, address, []string{"KUBECONFIG=" + r.kubeconfig(name, operatorNamespace, "genericjob-manager")}, r.manager, "-leader-elect", "-leader-elect-namespace="+operatorNamespace,
		"-metrics-bind-address="+address, "-health-probe-bind-address=0")
}

// kubeconfig is a file with which a program is a ServiceAccount.
func (r *run) kubeconfig(name, namespace, account string) string {
	r.t.Helper()
	return r.write(name+".kubeconfig", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: %q, certificate-authority: %q}}], users: [{name: u, user: {token: %q}}]}`,
		r.config.Host, r.write("ca.crt", string(r.config.CAData)), r.token(namespace, account)))
}
