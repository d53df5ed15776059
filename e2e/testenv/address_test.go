package testenv_test

import (
	"net"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

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
	own, err := net.Listen("tcp", address)
	require.NoError(t, err)
	require.NoError(t, own.Close())
}
