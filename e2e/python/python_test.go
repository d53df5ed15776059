package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// run is a Python and the places that it works in.
type run struct {
	t            *testing.T
	python, root string
	folder       string
}

func TestPackage(t *testing.T) {
	r := &run{t: t, python: os.Getenv("PYTHON"), folder: t.TempDir()}
	if r.python == "" {
		t.Skip("PYTHON names no program: run `make test-python`, which makes one")
	}
	var err error
	r.root, err = testenv.Root()
	require.NoError(t, err)
	source := filepath.Join(r.root, "cmd", "python")

	r.do(source, "-m", "ruff", "check", "--no-cache", "src", "tests")
	r.do(source, "-m", "ruff", "format", "--no-cache", "--check", "src", "tests")
	r.do(source, "-m", "mypy", "--cache-dir="+filepath.Join(r.folder, "mypy"))

	kubeconfig := r.serve()
	r.do(source, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir="+r.folder, ".")
	wheels, err := filepath.Glob(filepath.Join(r.folder, "genericjob-*.whl"))
	require.NoError(t, err)
	require.Len(t, wheels, 1)
	site := filepath.Join(r.folder, "site")
	r.do(source, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target="+site, wheels[0])
	require.FileExists(t, filepath.Join(site, "genericjob", "py.typed"))

	t.Setenv("PYTHONPATH", site)
	t.Setenv("KUBECONFIG", kubeconfig)
	t.Setenv("GENERICJOB_APISERVER", "1")
	t.Logf("%s", r.do(source, "-m", "pytest", "--quiet", "--durations=3", "--ignore=tests/kubelet"))
}

// do runs Python in a folder and returns what it says.
func (r *run) do(folder string, arguments ...string) []byte {
	r.t.Helper()
	c := exec.CommandContext(r.t.Context(), r.python, arguments...)
	c.Dir, c.Env = folder, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := c.CombinedOutput()
	require.NoError(r.t, err, "%s\n%s", c, out)
	return out
}

// serve starts an apiserver with the operator, and one without our kinds. In the kubeconfig that it returns they are the contexts served
// and bare. Nobody listens at closed.
func (r *run) serve() string {
	r.t.Helper()
	served, err := testenv.Start()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, served.Stop()) })
	bare, err := testenv.Serve()
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, bare.Stop()) })

	all := clientcmdapi.NewConfig()
	for name, env := range map[string]*envtest.Environment{"served": served, "bare": bare, "closed": served} {
		own, err := clientcmd.Load(env.KubeConfig)
		require.NoError(r.t, err)
		at := own.Contexts[own.CurrentContext]
		all.Clusters[name], all.AuthInfos[name] = own.Clusters[at.Cluster], own.AuthInfos[at.AuthInfo]
		all.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	}
	all.Clusters["closed"].Server = "https://127.0.0.1:1"
	all.CurrentContext = "served"
	kubeconfig := filepath.Join(r.folder, "kubeconfig")
	require.NoError(r.t, clientcmd.WriteToFile(*all, kubeconfig))
	r.operate(kubeconfig)
	return kubeconfig
}

// operate has the operator work until the test ends.
func (r *run) operate(kubeconfig string) {
	r.t.Helper()
	manager := filepath.Join(r.folder, "manager")
	build := exec.CommandContext(r.t.Context(), "go", "build", "-o", manager, "./cmd/manager")
	build.Dir = r.root
	out, err := build.CombinedOutput()
	require.NoError(r.t, err, string(out))
	file, err := os.Create(manager + ".log")
	require.NoError(r.t, err)
	operator := exec.Command(manager, "-metrics-bind-address=0", "-health-probe-bind-address=0")
	operator.Env, operator.Stdout, operator.Stderr = append(os.Environ(), "KUBECONFIG="+kubeconfig), file, file
	require.NoError(r.t, operator.Start())
	r.t.Cleanup(func() {
		_ = operator.Process.Kill()
		_ = operator.Wait() // it was killed
		_ = file.Close()
		if text, err := os.ReadFile(file.Name()); err == nil && r.t.Failed() {
			r.t.Logf("the end of the operator's log:\n%s", text[max(0, len(text)-4000):])
		}
	})
}
