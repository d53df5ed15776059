package testenv_test

import (
	"net"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// A test that ran beside another was given the port that the other's program was about to listen at.
func TestWhatOthersListenAtLeavesAFreeAddressFree(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has more than one loopback address")
	}
	address := testenv.FreeAddress(t)
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	if other, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", port)); err == nil { // else somebody else has it already
		defer other.Close()
	}
	for range 100 {
		require.NotEqual(t, address, testenv.FreeAddress(t))
	}
	number, err := strconv.Atoi(port)
	require.NoError(t, err)
	require.Less(t, number, 30_000, "it could be given to a connection, or to a Service")
	own, err := net.Listen("tcp", address)
	require.NoError(t, err)
	require.NoError(t, own.Close())
}

func TestAnApiserverThatDoesNotStartIsTriedAgain(t *testing.T) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS names no folder with etcd: run `make test`, which builds it")
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	var tries []*url.URL
	_, err = testenv.StartWith(func(env *envtest.Environment) {
		tries = append(tries, env.ControlPlane.Etcd.URL)
		env.ControlPlane.Etcd.URL = &url.URL{Scheme: "http", Host: taken.Addr().String()}
	})
	require.ErrorContains(t, err, "etcd")
	require.Len(t, tries, 3)
	require.NotEqual(t, tries[0], tries[1], "each has other addresses")
}
