package cluster

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
)

func testLayout(t *testing.T) Layout {
	programs := artifact.Programs{}
	for _, set := range artifact.All() {
		for _, program := range set.Program {
			programs[program] = "/cache/bin/" + set.Name + "/" + program
		}
	}
	folder := t.TempDir()
	return Layout{State: filepath.Join(folder, "cluster"), Run: filepath.Join(folder, "run"), Programs: programs}
}

func TestConfigurationsStayBelowTheClustersFolders(t *testing.T) {
	l := testLayout(t)
	require.NoError(t, l.writeConfigurations("/usr/sbin/runc"))
	files := slices.Collect(maps.Values(clusterConfigurations))
	files = slices.AppendSeq(files, maps.Values(nodeConfigurations))
	for _, target := range files {
		content, err := os.ReadFile(l.config(target))
		require.NoError(t, err)
		require.NotContains(t, string(content), "<no value>", target)
		require.NotContains(t, string(content), "/var/lib", target)
	}
	for _, path := range []string{l.Kubeconfig(), l.config("kubelet.kubeconfig")} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "it holds a key")
	}
}

func TestCNIConfigurationIsJSON(t *testing.T) {
	l := testLayout(t)
	content, err := render("cni.conflist", settings{node: l.firstNode()})
	require.NoError(t, err)
	var network struct {
		Name    string
		Plugins []struct{ Type, Bridge string }
	}
	require.NoError(t, json.Unmarshal(content, &network))
	require.Equal(t, cniNetwork, network.Name)
	require.Equal(t, bridge, network.Plugins[0].Bridge)
}

func TestPortsDoNotMeetThoseThatTheKernelGivesAway(t *testing.T) {
	seen := map[string]string{}
	for _, c := range testLayout(t).components() {
		require.NotEmpty(t, c.Path, c.Name)
		for _, port := range c.ports {
			require.Empty(t, seen[port], "%s and %s share port %s", seen[port], c.Name, port)
			seen[port] = c.Name
			number, err := strconv.Atoi(port)
			require.NoError(t, err)
			require.Less(t, number, 30000, "node ports begin at 30000, random ones at 32768")
		}
	}
}

func TestSocketsFitIntoTheKernelsLimit(t *testing.T) {
	longest := node{layout: Layout{Run: MachineRun}, name: strings.Repeat("n", 20), number: maxNodes}
	require.Regexp(t, nodeName, longest.name)
	require.Less(t, len(longest.containerdSocket()+".ttrpc"), 107)
}

func TestEveryClientHasACertificate(t *testing.T) {
	names := map[string]bool{}
	for _, identity := range identities() {
		names[identity.Name] = true
	}
	for _, client := range append(clients, "kubelet", "admin", "kube-apiserver", "apiserver-kubelet-client") {
		require.True(t, names[client], client)
	}
}

func TestMountsBelow(t *testing.T) {
	mountinfo := strings.Join([]string{
		`1 0 8:1 / / rw - ext4 /dev/x rw`,
		`2 1 0:5 / /run/genericjob/containerd/netns/a rw - nsfs nsfs rw`,
		`3 1 0:6 / /run/genericjobs rw - tmpfs tmpfs rw`,
		`4 1 0:7 / /home/a\040b/cluster/kubelet/pods/x rw - tmpfs tmpfs rw`,
		``,
	}, "\n")
	require.Equal(t, []string{"/run/genericjob/containerd/netns/a", "/home/a b/cluster/kubelet/pods/x"},
		mountsBelow(mountinfo, "/run/genericjob", "/home/a b/cluster"))
}

func TestAResolverOnLoopbackIsNoConflict(t *testing.T) {
	for line, want := range map[string]bool{
		`LISTEN 0 4096 127.0.0.53%lo:53 0.0.0.0:* users:(("systemd-resolve",pid=1,fd=2))`: false,
		`LISTEN 0 4096 10.88.0.1:53 0.0.0.0:* users:(("dnsmasq",pid=1,fd=2))`:             true,
		`LISTEN 0 4096 *:53 *:* users:(("named",pid=1,fd=2))`:                             true,
	} {
		require.Equal(t, want, conflictsWithDNS(line), line)
	}
}

func TestGangSchedulingIsOffUnlessAskedFor(t *testing.T) {
	for version, want := range map[artifact.Version]struct{ gates, api string }{
		"1.36": {"--feature-gates=GenericWorkload=true,GangScheduling=true", "--runtime-config=scheduling.k8s.io/v1alpha2=true"},
		"1.37": {"--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1beta1=true"},
	} {
		t.Run(string(version), func(t *testing.T) {
			l := testLayout(t)
			l.Version = version
			with := func() (names []string) {
				for _, c := range l.components() {
					if slices.Contains(c.Arguments, want.gates) {
						names = append(names, c.Name)
					}
				}
				return names
			}
			require.Empty(t, with())
			l.Gang = true
			require.Equal(t, []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}, with())
			require.Contains(t, l.gangAPI(), want.api)
		})
	}
}

func TestAConfigurationThatDoesNotChangeIsNotWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	write := func(content string) time.Time {
		require.NoError(t, writeFile(path, []byte(content)))
		info, err := os.Stat(path)
		require.NoError(t, err)
		return info.ModTime()
	}
	write("a")
	long := time.Now().Add(-time.Hour).Truncate(time.Second)
	require.NoError(t, os.Chtimes(path, long, long))
	require.True(t, write("a").Equal(long))
	require.False(t, write("b").Equal(long))
}
