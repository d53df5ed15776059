package faults_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

var (
	jobs     = flag.Int("jobs", 11, "jobs in each run of TestFaults")
	duration = flag.Duration("duration", 10*time.Second, "how long faults and kills go on in each run of TestFaults")
	seed     = flag.Int64("seed", 0, "seed of TestFaults; 0 = draw one")
	program  = flag.String("manager", "", "binary of the operator; default: it is built")
	logs     = flag.String("logs", "", "folder to keep the operators' logs in")
)

// operatorNamespace is where deploy/rbac has the operator, before deploy/default renames it.
const operatorNamespace = "system"

var (
	apiserver *rest.Config      // with which the test talks to the apiserver, as an admin
	upstream  *url.URL          // the apiserver
	transport http.RoundTripper // talks to the apiserver as the operator's ServiceAccount
	binary    string            // the operator
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	log.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "faults")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	flag.Parse()
	if binary = *program; binary == "" {
		binary = filepath.Join(dir, "manager")
		if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/manager").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the manager: %v\n%s", err, out)
			return 1
		}
	}
	return testenv.Main(m, func(e *envtest.Environment) {
		if err := use(e); err != nil {
			panic(err)
		}
	}, "kubeflow/crd")
}

// use takes note of the apiserver and gives the operator the rights that deploy gives it, and no more.
func use(e *envtest.Environment) error {
	apiserver = e.Config
	apiserver.QPS = -1
	user, err := e.AddUser(envtest.User{Name: "system:serviceaccount:system:manager"}, nil)
	if err != nil {
		return err
	}
	operator := user.Config()
	if transport, err = rest.TransportFor(operator); err != nil {
		return err
	}
	if upstream, err = url.Parse(operator.Host); err != nil {
		return err
	}
	c, err := client.New(apiserver, client.Options{})
	if err != nil {
		return err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}
	if err := c.Create(context.Background(), ns); err != nil {
		return err
	}
	deploy := filepath.Join("..", "..", "deploy")
	return errors.Join(
		grant(c, filepath.Join(deploy, "rbac", "manager_role.yaml")),
		grant(c, filepath.Join(deploy, "rbac", "framework_roles.yaml")),
		grant(c, filepath.Join(deploy, "rbac", "leader_election_role.yaml")),
		grant(c, filepath.Join(deploy, "kubeflow", "component", "manager_role.yaml")))
}

// grant creates the objects of a file of roles.
func grant(c client.Client, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if strings.HasSuffix(o.GetKind(), "Binding") { // deploy/kubeflow has the names that deploy/default makes
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "system"}}, "subjects")
		}
		if err := c.Create(context.Background(), o); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// newClient talks to the apiserver directly, as an admin.
func newClient(t *testing.T) client.WithWatch {
	t.Helper()
	scheme, err := controllers.NewScheme(append(translators.All(), kubeflow.All("", false)...)...)
	require.NoError(t, err)
	c, err := client.NewWithWatch(apiserver, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return c
}

// newNamespace is one that no other test uses.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-"}}
	require.NoError(t, c.Create(t.Context(), ns))
	return ns.Name
}
