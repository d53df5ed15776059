package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoIsNotRootIsToldHowToBecomeIt(t *testing.T) {
	require.NoError(t, checkMachine("linux", 0))
	require.ErrorContains(t, checkMachine("linux", 1000), `sudo env "PATH=$PATH" make demo`)
	require.ErrorContains(t, checkMachine("darwin", 0), "Linux alone")
}

func TestWhatTheKernelLacksIsNamed(t *testing.T) {
	root := t.TempDir()
	write := func(file, content string) {
		path := filepath.Join(root, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	err := checkKernel(root)
	for _, lack := range []string{"modprobe br_netfilter", "modprobe overlay", "cgroup controller cpu ", "cgroup controller memory "} {
		require.ErrorContains(t, err, lack)
	}
	write("proc/sys/net/ipv4/ip_forward", "0")
	write("proc/sys/net/bridge/bridge-nf-call-iptables", "1")
	write("proc/sys/net/bridge/bridge-nf-call-ip6tables", "1")
	write("proc/filesystems", "nodev\tproc\nnodev\toverlay\n\text4\n")
	write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io\n")
	err = checkKernel(root)
	require.ErrorContains(t, err, "cgroup controller memory ")
	require.NotContains(t, err.Error(), "\n", "nothing else is missing")

	write("sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory hugetlb pids\n")
	require.NoError(t, checkKernel(root))

	require.NoError(t, os.Remove(filepath.Join(root, "sys/fs/cgroup/cgroup.controllers")))
	write("sys/fs/cgroup/cpu/cgroup.procs", "")
	write("sys/fs/cgroup/memory/cgroup.procs", "")
	require.NoError(t, checkKernel(root), "version 1")
}

func TestAClusterOfAnotherVersionIsNamed(t *testing.T) {
	l := testLayout(t)
	l.Version = "1.36"
	require.NoError(t, l.checkVersion())
	require.NoError(t, writeFile(l.data("version"), []byte("1.30\n")))
	require.NoError(t, l.checkVersion(), "without an etcd nothing is stored")
	require.NoError(t, os.MkdirAll(l.data("etcd"), 0o755))
	require.ErrorContains(t, l.checkVersion(), "is of version 1.30, not 1.36")
}
