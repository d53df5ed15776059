package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
)

// maxNodes is how many nodes there may be beside the first: each has a block of the pods' addresses.
const maxNodes = 8

// node is a kubelet with a containerd of its own. All nodes share this machine, its kernel and the pods' bridge.
type node struct {
	layout Layout
	name   string
	number int // 0 is the node that the cluster starts with; the others are added
}

func (l Layout) firstNode() node { return node{layout: l, name: NodeName} }

func (l Layout) nodesFolder() string { return filepath.Join(l.State, "nodes") }

// addedNodes are those beside the first, by number. Each is a folder whose only lasting file is its number.
func (l Layout) addedNodes() []node {
	files, err := filepath.Glob(filepath.Join(l.nodesFolder(), "*", "number"))
	if err != nil {
		return nil
	}
	var nodes []node
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if number, err := strconv.Atoi(strings.TrimSpace(string(content))); err == nil {
			nodes = append(nodes, node{layout: l, name: filepath.Base(filepath.Dir(file)), number: number})
		}
	}
	slices.SortFunc(nodes, func(a, b node) int { return a.number - b.number })
	return nodes
}

func (l Layout) nodes() []node { return append([]node{l.firstNode()}, l.addedNodes()...) }

// findNode returns a node that exists.
func (l Layout) findNode(name string) (node, error) {
	var names []string
	for _, n := range l.nodes() {
		if n.name == name {
			return n, nil
		}
		names = append(names, n.name)
	}
	return node{}, fmt.Errorf("there is no node %q, only %s: `node add %s` makes one", name, strings.Join(names, ", "), name)
}

// nodeName keeps sockets short, and files where they belong.
var nodeName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,19}$`)

// newNode returns the node of that name, or a free place for it.
func (l Layout) newNode(name string) (node, error) {
	if !nodeName.MatchString(name) {
		return node{}, fmt.Errorf("node name %q: want at most 20 lower-case letters, digits and hyphens, the first a letter", name)
	}
	if n, err := l.findNode(name); err == nil {
		return n, nil
	}
	taken := map[int]bool{}
	for _, n := range l.addedNodes() {
		taken[n.number] = true
	}
	for number := 1; number <= maxNodes; number++ {
		if !taken[number] {
			return node{layout: l, name: name, number: number}, nil
		}
	}
	return node{}, fmt.Errorf("node %q is one too many: there may be %d beside %s; `node remove` one", name, maxNodes, NodeName)
}

func (n node) first() bool { return n.number == 0 }

// folder holds all of an added node; the first node's files lie in the cluster's own folders.
func (n node) folder() string {
	if n.first() {
		return n.layout.State
	}
	return filepath.Join(n.layout.nodesFolder(), n.name)
}

// run is the folder of the node's sockets.
func (n node) run() string {
	if n.first() {
		return n.layout.Run
	}
	return filepath.Join(n.layout.Run, "nodes", n.name)
}

// cgroup is the one cgroup below which all pods of the node run.
func (n node) cgroup() string {
	if n.first() {
		return cgroup
	}
	return cgroup + "/node-" + n.name
}

func (n node) data(name string) string   { return filepath.Join(n.folder(), name) }
func (n node) config(name string) string { return filepath.Join(n.folder(), "config", name) }
func (n node) containerdSocket() string  { return n.run() + "/containerd.sock" }

// ip is the node's address on the bridge.
func (n node) ip() string {
	ip := net.ParseIP(nodeIP).To4()
	ip[3] += byte(n.number)
	return ip.String()
}

// pods are the first and the last address of the node's pods. The first node has the lower half of the range, but for
// the addresses of the nodes themselves.
func (n node) pods() (first, last string) {
	if n.first() {
		return "10.88.0.16", "10.88.127.254"
	}
	block := strconv.Itoa(127 + n.number)
	return "10.88." + block + ".1", "10.88." + block + ".254"
}

// port is the kubelet's. The first node has the usual one.
func (n node) port() int { return 10250 + 100*n.number }

// healthPort is where the kubelet of the first node tells loopback that it is well; the others do not.
func (n node) healthPort() int {
	if n.first() {
		return 10248
	}
	return 0
}

// program is the name of a node's program among all programs of the cluster.
func (n node) program(name string) string {
	if n.first() {
		return name
	}
	return name + "-" + n.name
}

// identity is the kubelet's. The first node's is made with the cluster's others.
func (n node) identity() pki.Identity {
	return pki.Identity{
		Name: n.program("kubelet"), User: "system:node:" + n.name, Groups: []string{"system:nodes"},
		IPs: []string{n.ip()}, DNS: []string{n.name},
	}
}

// tag is on the processes of an added node alone, beside the tag of the cluster.
func (n node) tag() process.Tag {
	return process.Tag("GENERICJOB_LOCALCLUSTER_NODE=" + n.folder())
}

// containerd finds its shim beside itself, through PATH.
func (n node) containerd() component {
	return n.component("containerd", nil, "--config="+n.config("containerd.toml"))
}

func (n node) kubelet() component {
	ports := []string{strconv.Itoa(n.port())}
	if n.healthPort() != 0 {
		ports = append(ports, strconv.Itoa(n.healthPort()))
	}
	return n.component("kubelet", ports,
		"--config="+n.config("kubelet.yaml"), "--kubeconfig="+n.config("kubelet.kubeconfig"),
		"--root-dir="+n.data("kubelet"), "--cert-dir="+n.data("kubelet")+"/pki",
		"--hostname-override="+n.name, "--node-ip="+n.ip())
}

func (n node) component(name string, ports []string, arguments ...string) component {
	c := n.layout.component(name, ports, arguments...)
	c.Name, c.node = n.program(name), &n
	c.Environment = append(c.Environment, string(n.tag()))
	return c
}
