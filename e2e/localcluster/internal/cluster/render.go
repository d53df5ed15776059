package cluster

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
)

//go:embed templates
var templates embed.FS

// settings are what the templates of the components may ask for.
type settings struct {
	node node
	Runc string
}

// Methods of settings are called from the templates only.

func (f settings) Data(name string) string          { return f.node.data(name) }
func (f settings) Config(name string) string        { return f.node.config(name) }
func (f settings) Cert(name string) string          { return pki.CertFile(f.node.layout.pki(), name) }
func (f settings) Key(name string) string           { return pki.KeyFile(f.node.layout.pki(), name) }
func (f settings) KubeletIdentity() string          { return f.node.identity().Name }
func (f settings) ProgramFolder(name string) string { return f.node.layout.programFolder(name) }
func (f settings) ContainerdSocket() string         { return f.node.containerdSocket() }
func (f settings) Run() string                      { return f.node.run() }
func (f settings) Bridge() string                   { return bridge }
func (f settings) DNS() string                      { return nodeIP }
func (f settings) Gateway() string                  { return nodeIP }
func (f settings) NodeIP() string                   { return f.node.ip() }
func (f settings) NodeName() string                 { return f.node.name }
func (f settings) Port() int                        { return f.node.port() }
func (f settings) HealthPort() int                  { return f.node.healthPort() }
func (f settings) PodRange() string                 { return podRange }
func (f settings) FirstPod() string                 { first, _ := f.node.pods(); return first }
func (f settings) LastPod() string                  { _, last := f.node.pods(); return last }
func (f settings) Cgroup() string                   { return f.node.cgroup() }
func (f settings) CNINetwork() string               { return cniNetwork }
func (f settings) PauseImage() string               { return pauseImage }

// WatchesDisks is false for the first node. All disks of a bare machine are its, and it shall run on those that a kubelet does not
// understand. An added node knows what it has.
func (f settings) WatchesDisks() bool { return !f.node.first() }

// AsksForNftables says that kube-proxy does not know nftables unless it is asked to: they are alpha in the oldest version.
func (f settings) AsksForNftables() bool { return f.node.layout.Version == artifact.Oldest }

// Taint keeps pods that do not ask for it off an added node; the first node has none.
func (f settings) Taint() string {
	if f.node.first() {
		return ""
	}
	return AddedNodeTaint
}

// Every node has the first of these files, and the cluster once the others. Each maps a template to what it becomes
// below config/.
var (
	nodeConfigurations = map[string]string{
		"containerd.toml": "containerd.toml",
		"cni.conflist":    "cni/10-genericjob.conflist",
		"kubelet.yaml":    "kubelet.yaml",
	}
	clusterConfigurations = map[string]string{
		"kube-proxy.yaml": "kube-proxy.yaml",
		"Corefile":        "Corefile",
	}
)

// identities are all the certificates of the cluster.
func identities() []pki.Identity {
	admins := []string{"system:masters"}
	return []pki.Identity{
		{
			Name: "kube-apiserver", User: "kube-apiserver", IPs: []string{nodeIP, serviceIP, "127.0.0.1"},
			DNS: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
		},
		Layout{}.firstNode().identity(),
		{Name: "kube-controller-manager", User: "system:kube-controller-manager"},
		{Name: "kube-scheduler", User: "system:kube-scheduler"},
		{Name: "kube-proxy", User: "system:kube-proxy"},
		{Name: "admin", User: "admin", Groups: admins},
		// No built-in role lets a DNS server read EndpointSlices. It runs as a
		// process of this machine's root, which could read the admin's key anyway.
		{Name: "coredns", User: "coredns", Groups: admins},
		{Name: "apiserver-kubelet-client", User: "kube-apiserver-kubelet-client", Groups: admins},
	}
}

// clients are the components that talk to the apiserver through a kubeconfig, beside the kubelets.
var clients = []string{"kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"}

func render(name string, data any) ([]byte, error) {
	parsed, err := template.ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, fmt.Errorf("parse the template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

func (l Layout) writeConfigurations(runc string) error {
	if err := pki.Ensure(l.pki(), identities()); err != nil {
		return err
	}
	if err := l.firstNode().writeFiles(clusterConfigurations, runc); err != nil {
		return err
	}
	for _, client := range clients {
		if err := l.writeKubeconfig(client, l.config(client+".kubeconfig")); err != nil {
			return err
		}
	}
	for _, n := range l.nodes() {
		if err := n.writeConfigurations(runc); err != nil {
			return err
		}
	}
	return l.writeKubeconfig("admin", l.Kubeconfig())
}

// writeConfigurations writes what the node's two programs read, after the cluster's certificates are there.
func (n node) writeConfigurations(runc string) error {
	if err := pki.Add(n.layout.pki(), n.identity()); err != nil {
		return err
	}
	if err := n.writeFiles(nodeConfigurations, runc); err != nil {
		return err
	}
	return n.layout.writeKubeconfig(n.identity().Name, n.config("kubelet.kubeconfig"))
}

func (n node) writeFiles(configurations map[string]string, runc string) error {
	for name, target := range configurations {
		content, err := render(name, settings{node: n, Runc: runc})
		if err != nil {
			return err
		}
		if err := writeFile(n.config(target), content); err != nil {
			return err
		}
	}
	return nil
}

func (l Layout) writeKubeconfig(user, path string) error {
	encoded := map[string]string{"Server": server, "User": user}
	for field, file := range map[string]string{
		"CA":          pki.CertFile(l.pki(), pki.Authority),
		"Certificate": pki.CertFile(l.pki(), user),
		"Key":         pki.KeyFile(l.pki(), user),
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("make the kubeconfig of %s: %w", user, err)
		}
		encoded[field] = base64.StdEncoding.EncodeToString(content)
	}
	content, err := render("kubeconfig", encoded)
	if err != nil {
		return err
	}
	return writeFile(path, content)
}

// writeFile leaves a file alone that has this content: kube-proxy ends whenever its configuration is written.
func writeFile(path string, content []byte) error {
	if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, content) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
