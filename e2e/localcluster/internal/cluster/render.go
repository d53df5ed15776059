package cluster

import (
	"bytes"
	"embed"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
)

//go:embed templates
var templates embed.FS

// settings are what the templates of the components may ask for.
type settings struct {
	layout Layout
	Runc   string
}

// Methods of settings are called from the templates only.

func (f settings) Data(name string) string          { return f.layout.data(name) }
func (f settings) Config(name string) string        { return f.layout.config(name) }
func (f settings) Cert(name string) string          { return pki.CertFile(f.layout.pki(), name) }
func (f settings) Key(name string) string           { return pki.KeyFile(f.layout.pki(), name) }
func (f settings) ProgramFolder(name string) string { return f.layout.programFolder(name) }
func (f settings) ContainerdSocket() string         { return f.layout.containerdSocket() }
func (f settings) Run() string                      { return run }
func (f settings) Bridge() string                   { return bridge }
func (f settings) NodeIP() string                   { return nodeIP }
func (f settings) NodeName() string                 { return NodeName }
func (f settings) PodRange() string                 { return podRange }
func (f settings) Cgroup() string                   { return cgroup }
func (f settings) CNINetwork() string               { return cniNetwork }
func (f settings) PauseImage() string               { return pauseImage }

// configurations maps a template to the file that it becomes below config/.
var configurations = map[string]string{
	"containerd.toml": "containerd.toml",
	"cni.conflist":    "cni/10-genericjob.conflist",
	"kubelet.yaml":    "kubelet.yaml",
	"kube-proxy.yaml": "kube-proxy.yaml",
	"Corefile":        "Corefile",
}

// identities are all the certificates of the cluster.
func identities() []pki.Identity {
	admins := []string{"system:masters"}
	return []pki.Identity{
		{
			Name: "kube-apiserver", User: "kube-apiserver", IPs: []string{nodeIP, serviceIP, "127.0.0.1"},
			DNS: []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"},
		},
		{Name: "kubelet", User: "system:node:" + NodeName, Groups: []string{"system:nodes"}, IPs: []string{nodeIP}, DNS: []string{NodeName}},
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

// clients are the components that talk to the apiserver through a kubeconfig.
var clients = []string{"kubelet", "kube-controller-manager", "kube-scheduler", "kube-proxy", "coredns"}

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
	for name, target := range configurations {
		content, err := render(name, settings{layout: l, Runc: runc})
		if err != nil {
			return err
		}
		if err := writeFile(l.config(target), content); err != nil {
			return err
		}
	}
	for _, client := range clients {
		if err := l.writeKubeconfig(client, l.config(client+".kubeconfig")); err != nil {
			return err
		}
	}
	return l.writeKubeconfig("admin", l.Kubeconfig())
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

func writeFile(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
