package artifact

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Version is a minor version of Kubernetes of which programs can be built, e.g. 1.30.
type Version string

// Newest is the version that everything runs on for which no other is asked. Oldest is the oldest that is tested.
const (
	Newest Version = "1.37"
	Oldest Version = "1.30"
)

// patches are the versions that can be built, each in full. Other programs of a version may need modules whose
// checksums are not to be had everywhere. So of 1.32 and 1.34 there is the apiserver alone: see whole.
var patches = map[Version]string{
	Oldest: "v1.30.14",
	"1.32": "v1.32.13",
	"1.34": "v1.34.4",
	"1.36": "v1.36.3",
	Newest: "v1.37.2",
}

// whole are the versions of which all programs of a cluster can be built.
var whole = []Version{Oldest, "1.36", Newest}

// Versions are all that can be built, oldest first.
func Versions() []Version { return slices.Sorted(maps.Keys(patches)) }

// ParseVersion refuses a version that cannot be built.
func ParseVersion(text string) (Version, error) {
	if _, known := patches[Version(text)]; known {
		return Version(text), nil
	}
	return "", fmt.Errorf("there is no version %q: want one of %v", text, Versions())
}

func (v Version) module() string {
	if v == Newest {
		return "binaries/kubernetes"
	}
	return "binaries/kubernetes-" + string(v)
}

// linker stamps the version that clients ask the servers for; without it they say v0.0.0-master and version checks fail.
func (v Version) linker() string {
	_, minor, _ := strings.Cut(string(v), ".")
	return "-s -w" +
		" -X k8s.io/component-base/version.gitVersion=" + patches[v] +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=" + minor +
		" -X k8s.io/client-go/pkg/version.gitVersion=" + patches[v]
}

func (v Version) set(name string, expect time.Duration, programs ...string) Set {
	set := Set{Name: name, Module: v.module(), Inputs: pinned, Linker: v.linker(), Expect: expect, Program: programs}
	for _, program := range programs {
		set.Packages = append(set.Packages, "k8s.io/kubernetes/cmd/"+program)
	}
	return set
}

// Assets are the sets that envtest needs. Where several have the same program, the last one's counts. So an older version gives all that
// it has itself, and the newest gives the rest.
func (v Version) Assets() []Set {
	sets := []Set{etcd(), Newest.set("kube-apiserver", 5*time.Minute, "kube-apiserver", "kubectl")}
	if v == Newest {
		return sets
	}
	return append(sets, v.set("kube-apiserver-"+string(v), 5*time.Minute, "kube-apiserver"))
}

// Cluster are the sets of a whole cluster, those that others wait for first.
func (v Version) Cluster() ([]Set, error) {
	if !slices.Contains(whole, v) {
		return nil, fmt.Errorf("of version %s the apiserver alone is built: a cluster is of one of %v", v, whole)
	}
	name := "kubernetes"
	if v != Newest {
		name += "-" + string(v)
	}
	sets := append(v.Assets(), v.set(name, 3*time.Minute, "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet"))
	return append(sets, containers(), coredns(), pause()), nil
}

// All are the sets of a cluster of the newest version.
func All() []Set {
	sets, _ := Newest.Cluster() // there is always one
	return sets
}
