package cluster

import (
	"path/filepath"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// component is a program of the cluster, the ports that it listens on, and the node that it belongs to.
type component struct {
	process.Program
	ports []string
	node  *node // nil for those of the control plane
}

// components are in the order in which they start.
func (l Layout) components() []component {
	first, gates := l.firstNode(), l.gates()
	list := []component{
		l.component("etcd", []string{"12379", "12380"},
			"--data-dir="+l.data("etcd"), "--unsafe-no-fsync", "--log-level=warn",
			"--listen-client-urls="+etcdURL, "--advertise-client-urls="+etcdURL,
			"--listen-peer-urls="+etcdPeerURL, "--initial-advertise-peer-urls="+etcdPeerURL, "--initial-cluster=default="+etcdPeerURL),
		l.component("kube-apiserver", []string{"6443"}, append(l.apiserver(), l.gangAPI()...)...),
		first.containerd(),
		l.component("kube-controller-manager", []string{"10257"}, append(l.controllerManager(), gates...)...),
		l.component("kube-scheduler", []string{"10259"}, append([]string{
			"--kubeconfig=" + l.config("kube-scheduler.kubeconfig"), "--leader-elect=false", "--bind-address=127.0.0.1",
		}, gates...)...),
		first.kubelet(),
		l.component("kube-proxy", []string{"10256", "10249"}, "--config="+l.config("kube-proxy.yaml")),
		l.component("coredns", []string{"53", "8181"}, "-conf="+l.config("Corefile")),
	}
	for _, n := range l.addedNodes() {
		list = append(list, n.containerd(), n.kubelet())
	}
	return list
}

func (l Layout) component(name string, ports []string, arguments ...string) component {
	return component{ports: ports, Program: process.Program{
		Name: name, Path: l.Programs[name], Arguments: arguments,
		// Nothing else of the caller's environment: a proxy setting would send
		// the components' requests to each other out of the machine.
		Environment: []string{searchPath(l.programFolder(name))},
	}}
}

// gates are those of Kubernetes' own gang scheduling, off by default in all versions. 1.37 merged GangScheduling into the other,
// and components of it end where they are given the old name.
func (l Layout) gates() []string {
	switch {
	case !l.Gang:
		return nil
	case l.Version == "1.36":
		return []string{"--feature-gates=GenericWorkload=true,GangScheduling=true"}
	}
	return []string{"--feature-gates=GenericWorkload=true"}
}

// gangAPI has the apiserver serve PodGroups, which 1.37 has in another version.
func (l Layout) gangAPI() []string {
	switch {
	case !l.Gang:
		return nil
	case l.Version == "1.36":
		return append(l.gates(), "--runtime-config=scheduling.k8s.io/v1alpha2=true")
	}
	return append(l.gates(), "--runtime-config=scheduling.k8s.io/v1beta1=true")
}

func (l Layout) apiserver() []string {
	certificate := func(name string) string { return pki.CertFile(l.pki(), name) }
	key := func(name string) string { return pki.KeyFile(l.pki(), name) }
	return []string{
		"--etcd-servers=" + etcdURL,
		"--secure-port=6443", "--bind-address=0.0.0.0", "--advertise-address=" + nodeIP,
		"--service-cluster-ip-range=" + serviceCIDR,
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + certificate(pki.Authority),
		"--tls-cert-file=" + certificate("kube-apiserver"), "--tls-private-key-file=" + key("kube-apiserver"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-signing-key-file=" + key(pki.ServiceAccounts),
		"--service-account-key-file=" + filepath.Join(l.pki(), pki.ServiceAccounts+".pub"),
		"--kubelet-certificate-authority=" + certificate(pki.Authority),
		"--kubelet-client-certificate=" + certificate("apiserver-kubelet-client"),
		"--kubelet-client-key=" + key("apiserver-kubelet-client"),
		// The node's name is in no DNS; without this `kubectl logs` would look it up.
		"--kubelet-preferred-address-types=InternalIP",
	}
}

func (l Layout) controllerManager() []string {
	return []string{
		"--kubeconfig=" + l.config("kube-controller-manager.kubeconfig"),
		"--bind-address=127.0.0.1", "--leader-elect=false", "--use-service-account-credentials",
		"--service-account-private-key-file=" + pki.KeyFile(l.pki(), pki.ServiceAccounts),
		"--root-ca-file=" + pki.CertFile(l.pki(), pki.Authority),
		"--cluster-signing-cert-file=" + pki.CertFile(l.pki(), pki.Authority),
		"--cluster-signing-key-file=" + pki.KeyFile(l.pki(), pki.Authority),
		// The default is a folder of the system, which it would make.
		"--flex-volume-plugin-dir=" + l.data("volume-plugins"),
		"--allocate-node-cidrs", "--cluster-cidr=" + podRange, "--service-cluster-ip-range=" + serviceCIDR,
	}
}
