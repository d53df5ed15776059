package artifact

import (
	"slices"
	"time"
)

// Set is a group of programs from one module.
type Set struct {
	Name string
	// Module is the folder of the go.mod, relative to the source folder.
	Module   string
	Packages []string
	// Inputs are the files, relative to Module, that decide the content.
	Inputs []string
	// Tags, Linker and GOOS are the build's -tags, -ldflags and target.
	Tags   string
	Linker string
	GOOS   string
	// Amendment is a file that a module of theirs lacks; nil if none does.
	Amendment *amendment
	// Expect is what a cold build took on two cores, for the progress lines.
	Expect time.Duration
	// Program are the names of the results.
	Program []string
}

// with is both sets as one, for one go command.
func (s Set) with(other Set) Set {
	s.Packages = slices.Concat(s.Packages, other.Packages)
	s.Program = slices.Concat(s.Program, other.Program)
	s.Expect += other.Expect
	return s
}

// compilations are the sets that one go command can build: those of the same module, with the same flags.
func compilations(sets []Set) [][]Set {
	var all [][]Set
	for _, set := range sets {
		alike := func(have []Set) bool {
			first := have[0]
			return first.Module == set.Module && first.Tags == set.Tags && first.Linker == set.Linker && first.GOOS == set.GOOS
		}
		if i := slices.IndexFunc(all, alike); i >= 0 {
			all[i] = append(all[i], set)
			continue
		}
		all = append(all, []Set{set})
	}
	return all
}

var pinned = []string{"go.mod", "go.sum"}

// etcd has its own module, as its requirements clash with those of the others.
func etcd() Set {
	return Set{
		Name: "etcd", Module: "binaries/etcd", Inputs: pinned, Linker: "-s -w",
		// The program's package is the root of a module with a major version: name it by its output.
		Packages: []string{"go.etcd.io/etcd/server/v3"}, Program: []string{"etcd"},
		Expect: 90 * time.Second,
	}
}

func containers() Set {
	return Set{
		Name: "containerd", Module: "binaries/containerd", Inputs: pinned, Linker: "-s -w",
		// These snapshotters need C libraries or kernel modules that a bare machine lacks.
		Tags: "no_btrfs,no_zfs",
		Packages: []string{
			"github.com/containerd/containerd/v2/cmd/containerd",
			"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
			"github.com/containerd/containerd/v2/cmd/ctr",
			"github.com/containernetworking/plugins/plugins/ipam/host-local",
			"github.com/containernetworking/plugins/plugins/main/bridge",
			"github.com/containernetworking/plugins/plugins/main/loopback",
		},
		Program: []string{"containerd", "containerd-shim-runc-v2", "ctr", "host-local", "bridge", "loopback"},
		Expect:  75 * time.Second,
	}
}

func coredns() Set {
	return Set{
		Name: "coredns", Module: "binaries/coredns", Inputs: append([]string{"main.go"}, pinned...), Linker: "-s -w",
		Packages: []string{"."}, Program: []string{"coredns"},
		Expect: 60 * time.Second,
	}
}

func pause() Set {
	return Set{
		Name: "pause", Module: ".", Inputs: []string{"pause/main.go"}, Linker: "-s -w", GOOS: "linux",
		Packages: []string{"./pause"}, Program: []string{"pause"},
		Expect: 10 * time.Second,
	}
}

// volcano is the scheduler alone: a PodGroup that its job makes needs no controller.
func volcano() Set {
	return Set{
		Name: "volcano", Module: "binaries/volcano", Inputs: pinned, Linker: "-s -w",
		Packages: []string{"volcano.sh/volcano/cmd/scheduler"}, Program: []string{"volcano-scheduler"},
		Expect: 4 * time.Minute,
	}
}

func schedulerPlugins() Set {
	return Set{
		Name: "schedulerplugins", Module: "binaries/schedulerplugins", Inputs: append([]string{"main.go"}, pinned...), Linker: "-s -w",
		Packages: []string{"."}, Program: []string{"coscheduling-scheduler"},
		Expect: 4 * time.Minute,
	}
}

// kueue queues jobs.
func kueue() Set {
	return Set{
		Name: "kueue", Module: "binaries/kueue", Inputs: pinned, Linker: "-s -w",
		Packages: []string{"sigs.k8s.io/kueue/cmd/kueue"}, Program: []string{"kueue"},
		Expect: 5 * time.Minute,
	}
}

// jobSet is JobSet's controller, and its agent that restarts pods in place: what ours is compared with.
func jobSet() Set {
	return Set{
		Name: "jobset", Module: "binaries/jobset", Inputs: pinned, Linker: "-s -w",
		Packages: []string{"sigs.k8s.io/jobset", "sigs.k8s.io/jobset/cmd/in-place-restart-agent"},
		Program:  []string{"jobset", "in-place-restart-agent"},
		Expect:   2 * time.Minute,
	}
}

// argo is the controller of Argo Workflows, and what it runs in pods.
func argo() Set {
	return Set{
		Name: "argo", Module: "binaries/argo", Inputs: append([]string{"signal_linux.go.txt"}, pinned...), Linker: "-s -w",
		// The module comes without this file of its package, of which it has those for other systems.
		Amendment: &amendment{"github.com/argoproj/argo-workflows/v4", "workflow/executor/osspecific/signal_linux.go", "signal_linux.go.txt"},
		Packages:  []string{"github.com/argoproj/argo-workflows/v4/cmd/workflow-controller", "github.com/argoproj/argo-workflows/v4/cmd/argoexec"},
		Program:   []string{"workflow-controller", "argoexec"},
		Expect:    6 * time.Minute,
	}
}

// helm installs the operator from its chart.
func helm() Set {
	return Set{
		Name: "helm", Module: "binaries/helm", Inputs: pinned, Linker: "-s -w",
		Packages: []string{"helm.sh/helm/v4/cmd/helm"}, Program: []string{"helm"},
		Expect: 3 * time.Minute,
	}
}

// prometheus finds its targets in Kubernetes alone: the ways to find them in clouds are most of its code. It comes without its pages, which come from
// npm.
func prometheus() Set {
	return Set{
		Name: "prometheus", Module: "binaries/prometheus", Inputs: pinned, Linker: "-s -w", Tags: "remove_all_sd,enable_kubernetes_sd",
		Packages: []string{"github.com/prometheus/prometheus/cmd/prometheus", "github.com/prometheus/prometheus/cmd/promtool"},
		Program:  []string{"prometheus", "promtool"},
		Expect:   4 * time.Minute,
	}
}

// stateMetrics makes metrics of objects.
func stateMetrics() Set {
	return Set{
		Name: "kubestatemetrics", Module: "binaries/kubestatemetrics", Inputs: pinned, Linker: "-s -w",
		// As etcd, the root of a module with a major version.
		Packages: []string{"k8s.io/kube-state-metrics/v2"}, Program: []string{"kube-state-metrics"},
		Expect: 3 * time.Minute,
	}
}

// etcdV2 serves the old API, by which torchrun's agents meet at an etcd. The cluster's own, from 3.6 on, does not.
func etcdV2() Set {
	return Set{
		Name: "etcd-3.5", Module: "binaries/etcd-3.5", Inputs: pinned, Linker: "-s -w",
		Packages: []string{"go.etcd.io/etcd/server/v3"}, Program: []string{"etcd-v2"},
		Expect: 90 * time.Second,
	}
}

// Extras are programs that no cluster needs, such as gang schedulers, Kueue and Argo Workflows: they are built when somebody asks for them.
func Extras() []Set {
	return []Set{volcano(), schedulerPlugins(), kueue(), jobSet(), argo(), helm(), prometheus(), stateMetrics(), etcdV2()}
}
