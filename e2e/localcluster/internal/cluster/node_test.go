package cluster

import (
	"crypto/tls"
	"net/netip"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
)

// withNodes is a layout that knows as many added nodes as there may be.
func withNodes(t *testing.T) Layout {
	l := testLayout(t)
	for number := 1; number <= maxNodes; number++ {
		n, err := l.newNode("node" + strconv.Itoa(number))
		require.NoError(t, err)
		require.Equal(t, number, n.number)
		require.NoError(t, writeFile(n.data("number"), []byte(strconv.Itoa(number)+"\n")))
	}
	return l
}

func TestNodesShareNoAddressPortOrFolder(t *testing.T) {
	l := withNodes(t)
	require.Len(t, l.nodes(), maxNodes+1)
	network := netip.MustParsePrefix(podRange)
	var last netip.Addr // of the nodes so far, and of their pods
	for _, n := range l.nodes() {
		address := netip.MustParseAddr(n.ip())
		require.True(t, network.Contains(address))
		first, end := n.pods()
		require.Positive(t, netip.MustParseAddr(first).Compare(last), "pods of %s begin at %s, but %s is taken", n.name, first, last)
		last = netip.MustParseAddr(end)
		require.True(t, network.Contains(last))
		for _, other := range l.nodes() {
			start, end := other.pods()
			require.False(t, address.Compare(netip.MustParseAddr(start)) >= 0 && address.Compare(netip.MustParseAddr(end)) <= 0,
				"%s of %s is a pod's on %s", address, n.name, other.name)
		}
	}
	for name, of := range map[string]func(node) string{
		"address": node.ip, "sockets": node.run, "cgroup": node.cgroup, "files": node.folder, "socket": node.containerdSocket,
		"kubelet": func(n node) string { return n.kubelet().Name }, "port": func(n node) string { return strconv.Itoa(n.port()) },
		"tag": func(n node) string { return string(n.tag()) },
	} {
		seen := map[string]string{}
		for _, n := range l.nodes() {
			require.Empty(t, seen[of(n)], "%s of %s", name, n.name)
			seen[of(n)] = n.name
		}
	}
}

func TestANodeIsFoundAgainAndItsPlaceIsReused(t *testing.T) {
	l := withNodes(t)
	_, err := l.newNode("another")
	require.ErrorContains(t, err, "one too many")
	same, err := l.newNode("node3")
	require.NoError(t, err)
	require.Equal(t, 3, same.number)

	require.NoError(t, os.RemoveAll(same.folder()))
	_, err = l.findNode("node3")
	require.ErrorContains(t, err, "node add node3")
	another, err := l.newNode("another")
	require.NoError(t, err)
	require.Equal(t, 3, another.number)

	first, err := l.newNode(NodeName)
	require.NoError(t, err)
	require.True(t, first.first())
	for _, wrong := range []string{"", "a/b", "A", "..", "a23456789012345678901"} {
		_, err := l.newNode(wrong)
		require.ErrorContains(t, err, "lower-case", wrong)
	}
}

func TestOnlyAnAddedNodeKeepsPodsOff(t *testing.T) {
	l := withNodes(t)
	require.NoError(t, l.writeConfigurations("/usr/sbin/runc"))
	for _, n := range l.nodes() {
		content, err := os.ReadFile(n.config("kubelet.yaml"))
		require.NoError(t, err)
		var kubelet struct {
			Address     string
			Port        int
			CgroupRoot  string              `yaml:"cgroupRoot"`
			Certificate string              `yaml:"tlsCertFile"`
			Taints      []map[string]string `yaml:"registerWithTaints"`
		}
		require.NoError(t, yaml.Unmarshal(content, &kubelet))
		require.Equal(t, n.ip(), kubelet.Address)
		require.Equal(t, n.port(), kubelet.Port)
		require.Equal(t, "/"+n.cgroup(), kubelet.CgroupRoot)
		require.Equal(t, !n.first(), len(kubelet.Taints) == 1)
		_, err = tls.LoadX509KeyPair(kubelet.Certificate, pki.KeyFile(l.pki(), n.identity().Name))
		require.NoError(t, err)
		require.FileExists(t, n.config("kubelet.kubeconfig"))
	}
}

func TestNodesAreNotTakenFromAClusterThatDoesNotRun(t *testing.T) {
	l := testLayout(t)
	require.ErrorContains(t, AddNode(t.Context(), l, "second", os.Stderr, os.Stdout), "run `up` first")
	require.NoDirExists(t, l.nodesFolder())
}
