package cluster

import (
	"path/filepath"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// Addresses and names of the cluster. All ports are below the kernel's range of
// random ports (32768 and up), so that test servers on random ports never meet them.
const (
	NodeName    = "local"
	bridge      = "genericjob0"
	nodeIP      = "10.88.0.1"
	podRange    = "10.88.0.0/16"
	serviceIP   = "10.96.0.1"
	serviceCIDR = "10.96.0.0/16"
	server      = "https://" + nodeIP + ":6443"
	etcdURL     = "http://127.0.0.1:12379"
	etcdPeerURL = "http://127.0.0.1:12380"
	// cgroup is the one cgroup below which all pods run.
	cgroup = "genericjob"
	// cniNetwork names the pods' network and the files that CNI keeps of it.
	cniNetwork = "genericjob"
	pauseImage = "localhost/pause:dev"
	// MachineRun is the Run of a machine's one cluster. It is fixed, because a
	// socket's path has at most 107 characters, and on tmpfs, because what is in it means nothing after a reboot.
	MachineRun = "/run/genericjob"
)

// Layout says where the cluster keeps its files, and what it is.
type Layout struct {
	// State is the folder of everything but sockets.
	State string
	// Run is the folder of sockets and pid files. It is MachineRun but in tests, which must not touch a cluster that runs.
	Run string
	// Programs are the paths of the built programs.
	Programs artifact.Programs
	// Gang switches on what Kubernetes' own gang scheduling needs; Up alone looks at it.
	Gang bool
	// Version is the one that the programs are of; Check and Up alone look at it.
	Version artifact.Version
}

// Kubeconfig is the administrator's kubeconfig.
func (l Layout) Kubeconfig() string { return filepath.Join(l.State, "kubeconfig") }

// Logs holds one file per component and survives Down.
func (l Layout) Logs() string { return filepath.Join(l.State, "logs") }

// LockFile serialises Up, Down and Load. It lies beside State, which Down empties.
func (l Layout) LockFile() string { return l.State + ".lock" }

func (l Layout) pki() string               { return filepath.Join(l.State, "pki") }
func (l Layout) config(name string) string { return filepath.Join(l.State, "config", name) }
func (l Layout) data(name string) string   { return filepath.Join(l.State, name) }
func (l Layout) tag() process.Tag          { return process.Tag("GENERICJOB_LOCALCLUSTER=" + l.State) }
func (l Layout) folders() process.Folders {
	return process.Folders{Pids: filepath.Join(l.Run, "pids"), Logs: l.Logs()}
}
func (l Layout) programFolder(p string) string { return filepath.Dir(l.Programs[p]) }
