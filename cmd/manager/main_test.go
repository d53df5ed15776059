package main

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
)

const patience = 15 * time.Minute

var (
	cluster *envtest.Environment
	binary  string
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	log.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "manager")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "manager")
	build := exec.Command("go", "build", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the manager: %v\n%s", err, out)
		return 1
	}
	return testenv.Main(m, func(e *envtest.Environment) { cluster = e })
}

func TestFlagsAreFew(t *testing.T) {
	out, err := exec.Command(binary, "-h").CombinedOutput()
	require.NoError(t, err)
	flags := regexp.MustCompile(`(?m)^  -\S+`).FindAllString(string(out), -1)
	require.NotEmpty(t, flags)
	var ours, known []string
	for _, f := range flags {
		if strings.HasPrefix(f, "  -zap-") || f == "  -kubeconfig" || f == "  -version" { // what admins know from all operators made with controller-runtime
			known = append(known, f)
		} else {
			ours = append(ours, f)
		}
	}
	// --namespaces is the eleventh: without it the operator needs rights over all pods of a cluster. --wrapper-image is the twelfth. Without it an admin
	// could not restart in place whose operator runs outside of pods, or whose nodes know the image by another name. --mpi-keys is the thirteenth: it
	// needs a right on Secrets, which some admins do not grant. --node-lost-after is the fourteenth: how long a machine may be silent is known of a
	// cluster, and seldom of a job. --avoid-nodes, --avoid-node-conditions and --avoid-nodes-across-jobs are the seventeenth. Who looks after the nodes
	// knows which of their conditions are bad. He knows, too, whether tenants may count on each other's failures. --metrics-namespace-label is the
	// eighteenth: who pays for series knows how many namespaces have jobs. --leader-elect-lease-duration, --leader-elect-renew-deadline and
	// --leader-elect-retry-period are the twenty-first: who runs the apiserver knows for how long it may be silent.
	require.LessOrEqual(t, len(ours), 21, "%v", ours)
	require.Equal(t, []string{"  -kubeconfig", "  -version", "  -zap-encoder", "  -zap-log-level"}, known)
}

// Makefile gives the linker the name of a variable: if that is renamed, the linker says nothing.
func TestTheVersionIsThatOfTheBuild(t *testing.T) {
	program := filepath.Join(t.TempDir(), "manager")
	build := exec.Command("make", "-C", "../..", "--silent", "manager", "VERSION=v1.2.3-test", "MANAGER="+program)
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	text, err = exec.Command(program, "--version").CombinedOutput()
	require.NoError(t, err, string(text))
	require.Regexp(t, `^genericjob v1\.2\.3-test go1\.\d+[^ ]* linux/`+runtime.GOARCH+`\n$`, string(text))
}

func TestAMissingClusterIsAnErrorThatSaysWhatToDo(t *testing.T) {
	run := exec.Command(binary, "-metrics-bind-address=0", "-health-probe-bind-address=0")
	run.Env = []string{"HOME=" + t.TempDir(), "KUBECONFIG=/does/not/exist"}
	out, err := run.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "set KUBECONFIG, or run in a pod")
}

func get(t *testing.T, url, token string) int {
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := insecure.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	return response.StatusCode
}

// B10: Kubeflow's operator ended each clean shutdown with a panic.
func TestB10TheBinaryServesAndEndsCleanly(t *testing.T) {
	scheme, err := controllers.NewScheme()
	require.NoError(t, err)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	file := kubeconfig(t, envtest.User{Name: "operator", Groups: []string{"system:masters"}})
	health, metrics := testenv.FreeAddress(t), testenv.FreeAddress(t)
	manager := exec.Command(binary, "-health-probe-bind-address="+health, "-metrics-bind-address="+metrics)
	manager.Env = append(os.Environ(), "KUBECONFIG="+file)
	manager.Stdout, manager.Stderr = os.Stderr, os.Stderr
	require.NoError(t, manager.Start())
	defer func() { _ = manager.Process.Kill() }()

	eventually(t, "healthy", func() bool { return get(t, "http://"+health+"/healthz", "") == http.StatusOK })
	eventually(t, "ready", func() bool { return get(t, "http://"+health+"/readyz", "") == http.StatusOK })
	eventually(t, "metrics refuse who does not say who he is", func() bool {
		return get(t, "https://"+metrics+"/metrics", "") == http.StatusUnauthorized
	})
	require.NotEqual(t, http.StatusOK, get(t, "https://"+metrics+"/metrics", "not-a-token"))
	refused := token(t, c, "nobody")
	eventually(t, "metrics refuse who may not", func() bool {
		code := get(t, "https://"+metrics+"/metrics", refused)
		require.NotEqual(t, http.StatusOK, code)
		return code == http.StatusForbidden
	})
	allowed := token(t, c, "scraper")
	grantMetrics(t, c, "scraper")
	eventually(t, "metrics serve who may", func() bool { return get(t, "https://"+metrics+"/metrics", allowed) == http.StatusOK })
	require.NotEqual(t, http.StatusOK, get(t, "http://"+metrics+"/metrics", allowed), "no metrics in clear text")

	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "default"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "main", Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}}}
	require.NoError(t, c.Create(t.Context(), job))
	pods := &corev1.PodList{}
	eventually(t, "the operator works", func() bool {
		return c.List(t.Context(), pods, client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}) == nil && len(pods.Items) == 1
	})

	require.NoError(t, manager.Process.Signal(syscall.SIGTERM))
	done := make(chan error, 1)
	go func() { done <- manager.Wait() }()
	select {
	case err := <-done:
		require.NoError(t, err, "the exit code after SIGTERM is 0")
	case <-time.After(patience):
		t.Fatal("the manager does not end on SIGTERM")
	}
}

// kubeconfig returns a file with which a program is this user.
func kubeconfig(t *testing.T, user envtest.User) string {
	t.Helper()
	added, err := cluster.AddUser(user, nil)
	require.NoError(t, err)
	text, err := added.KubeConfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	return file
}

func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	require.Eventually(t, ask, patience, 100*time.Millisecond, what)
}

// token returns a token of a new ServiceAccount.
func token(t *testing.T, c client.Client, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	require.NoError(t, c.Create(t.Context(), account))
	request := &authenticationv1.TokenRequest{}
	require.NoError(t, c.SubResource("token").Create(t.Context(), account, request))
	return request.Status.Token
}

func grantMetrics(t *testing.T, c client.Client, name string) {
	t.Helper()
	role := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}},
	}
	require.NoError(t, c.Create(t.Context(), role))
	require.NoError(t, c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: "default"}},
	}))
}
