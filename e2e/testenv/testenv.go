// Package testenv starts etcd and a real kube-apiserver that serves our CRDs, for the tests of a package. There is no
// kubelet and no controller-manager: a pod stays as the test leaves it, and nothing is garbage-collected.
package testenv

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// Main runs all tests of a package against one apiserver, which use takes note of before the first test begins:
//
//	var cluster *envtest.Environment
//
//	func TestMain(m *testing.M) {
//		os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }))
//	}
//
// It serves the kinds of deploy/crd, and of other folders below deploy that are named. An apiserver that does not start
// fails the tests: rules that nobody has tried are not rules. While a fuzzer runs there is none: its workers are processes
// of their own, which would each start one.
func Main(m *testing.M, use func(*envtest.Environment), more ...string) int {
	flag.Parse()
	if fuzz := flag.Lookup("test.fuzz"); fuzz.Value.String() != "" {
		return m.Run()
	}
	env, err := Start(more...)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testenv:", err)
		return 1
	}
	use(env)
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "testenv: stop the apiserver:", err)
		return 1
	}
	return code
}

// Start starts etcd and an apiserver that serves the kinds of deploy/crd, and of other folders below deploy that are named.
// The caller stops it. It fails unless KUBEBUILDER_ASSETS names a folder with both programs.
func Start(more ...string) (*envtest.Environment, error) {
	return StartWith(func(*envtest.Environment) {}, more...)
}

// StartWith is Start for an environment that configure has changed before it starts. One that does not start is made anew, and changed again.
func StartWith(configure func(*envtest.Environment), more ...string) (*envtest.Environment, error) {
	root, err := Root()
	if err != nil {
		return nil, err
	}
	folders := []string{filepath.Join(root, "deploy", "crd")}
	for _, folder := range more {
		folders = append(folders, filepath.Join(root, "deploy", folder))
	}
	return serve(configure, folders)
}

// Serve is Start for the CRDs in these folders alone.
func Serve(folders ...string) (*envtest.Environment, error) {
	return serve(func(*envtest.Environment) {}, folders)
}

func serve(configure func(*envtest.Environment), folders []string) (*envtest.Environment, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("KUBEBUILDER_ASSETS names no folder with etcd and kube-apiserver: run `make test`, " +
			"which builds them")
	}
	for tries := 1; ; tries++ {
		env, err := tryServe(configure, folders)
		if err == nil {
			return env, nil
		}
		err = fmt.Errorf("start an apiserver with the CRDs of %v: %w", folders, err)
		if tries == 3 {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "testenv: try %d: %v\n", tries, err)
	}
}

// tryServe starts an apiserver once. A machine that stalls makes that fail. envtest waits for the first namespace no longer than five
// seconds. A port may be another's when etcd or the apiserver comes to listen at it.
func tryServe(configure func(*envtest.Environment), folders []string) (*envtest.Environment, error) {
	env := &envtest.Environment{
		CRDDirectoryPaths:        folders,
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: 10 * time.Minute, // a busy machine is not a broken one
		ControlPlaneStopTimeout:  10 * time.Minute,
	}
	// Both families, so that tests can ask for Services of IPv6. The first is what Services have that ask for nothing.
	env.ControlPlane.GetAPIServer().Configure().Set("service-cluster-ip-range", "10.0.0.0/24,fd00:10::/112").
		Set("request-timeout", "10m") // a busy machine has taken longer than a minute to take in a CRD
	env.CRDInstallOptions.MaxTime = 10 * time.Minute
	if err := listenApart(&env.ControlPlane); err != nil {
		return nil, err
	}
	configure(env)
	if _, err := env.Start(); err != nil {
		return nil, errors.Join(err, env.Stop())
	}
	return env, nil
}

// listenApart gives etcd and the apiserver addresses that nobody else is given.
func listenApart(plane *envtest.ControlPlane) error {
	free, err := freeAddresses(3)
	if err != nil {
		return err
	}
	plane.Etcd = &envtest.Etcd{URL: &url.URL{Scheme: "http", Host: free[0]}}
	plane.Etcd.Configure().Set("listen-peer-urls", "http://"+free[1])
	serving := &plane.GetAPIServer().SecureServing
	serving.Address, serving.Port, err = net.SplitHostPort(free[2])
	return err
}

// Needs skips a test on an apiserver older than 1.<minor>, and says what that lacks.
func Needs(t *testing.T, env *envtest.Environment, minor int, what string) {
	t.Helper()
	if have := Minor(t, env); have < minor {
		t.Skipf("needs Kubernetes 1.%d, and this is 1.%d: %s", minor, have, what)
	}
}

// Minor returns the minor version of the apiserver: 37 of 1.37.2.
func Minor(t *testing.T, env *envtest.Environment) int {
	t.Helper()
	discovered, err := discovery.NewDiscoveryClientForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := discovered.ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	have, err := strconv.Atoi(strings.TrimSuffix(version.Minor, "+")) // distributions add one
	if err != nil {
		t.Fatalf("the apiserver says it is version %+v", version)
	}
	return have
}

// Root is the checkout's folder: the nearest one above the working directory that has a go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("no go.mod above the working directory")
}
