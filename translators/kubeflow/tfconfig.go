package kubeflow

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// configVariable is the environment variable that tells TensorFlow about its cluster:
	// https://www.tensorflow.org/guide/distributed_training#TF_CONFIG
	configVariable = "TF_CONFIG"
	// clusterVariable holds the cluster's part of TF_CONFIG in large jobs, and clusterKey is its place in the ConfigMap.
	clusterVariable = "TF_CONFIG_CLUSTER"
	clusterKey      = "cluster"
	// inlineHosts is the largest number of hosts that are written into the templates themselves: n pods with n hosts
	// each are n² in the apiserver. Above it all pods refer to one ConfigMap.
	inlineHosts = 64
	// maxString is Linux's MAX_ARG_STRLEN: a longer environment string, name and final zero byte included, is refused.
	maxString = 131072
	// task is the end of TF_CONFIG: TensorFlow's estimators look for the environment.
	task = `,"task":{"type":"$(type)","index":$(rank)}`
)

// cluster is the TensorFlow cluster of a TFJob. Unlike TensorFlow's own examples it names evaluators, too: TFJobs always
// did, and programs that were written for them expect it.
type cluster struct {
	job     string
	ports   map[string]int32
	members []member // in alphabetical order
}

// address writes host and port of a replica, the host by a function.
func (c *cluster) address(name, rank string, host func(name, rank string) string) string {
	return `"` + host(name, rank) + ":" + strconv.Itoa(int(c.ports[name])) + `"`
}

// variableHost writes a host as a variable of the GenericJob.
func variableHost(name, rank string) string { return "$(service." + name + "[" + rank + "].host)" }

// realHost writes a host as it is.
func (c *cluster) realHost(name, rank string) string { return c.job + "-" + name + "-" + rank }

// list writes the addresses of all replicas of a type.
func (c *cluster) list(m *member, host func(name, rank string) string) string {
	var addresses []string
	if m != nil {
		for rank := range m.n {
			addresses = append(addresses, c.address(m.name, strconv.Itoa(int(rank)), host))
		}
	}
	return "[" + strings.Join(addresses, ",") + "]"
}

// text is the cluster as JSON.
func (c *cluster) text(host func(name, rank string) string) string {
	var types []string
	for i := range c.members {
		types = append(types, `"`+c.members[i].name+`":`+c.list(&c.members[i], host))
	}
	return "{" + strings.Join(types, ",") + "}"
}

// sparse is TF_CONFIG for a job whose number of workers may change: a worker knows itself and the parameter servers, and
// a parameter server only itself.
func (c *cluster) sparse(name string) string {
	workers, servers := "", "[]"
	switch name {
	case worker:
		// A worker that has yet to come has no variable: its host is spelled out.
		workers = `"$(rank)":` + c.address(worker, "$(rank)", c.realHost)
		servers = c.list(find(c.members, parameterServer), variableHost)
	case parameterServer:
		servers = "[" + c.address(parameterServer, "$(rank)", c.realHost) + "]"
	}
	return `{"cluster":{"worker":{` + workers + `},"ps":` + servers + `}` + task + "}"
}

func configOf(cluster string) string {
	return `{"cluster":` + cluster + task + `,"environment":"cloud"}`
}

// length is that of the longest TF_CONFIG, as an environment string.
func (c *cluster) length() int {
	const longest = len(`evaluator`) + len(`9999`)
	return len(configVariable) + len("=") + len(configOf(c.text(c.realHost))) + longest + 1
}

// data is the content of the ConfigMap, nil if the templates hold the cluster themselves.
func (c *cluster) data() map[string]string {
	hosts := int32(0)
	for _, m := range c.members {
		hosts += m.n
	}
	if hosts <= inlineHosts {
		return nil
	}
	return map[string]string{clusterKey: c.text(c.realHost)}
}

// environment is what the containers get that train.
func (c *cluster) environment(data map[string]string) []corev1.EnvVar {
	if data == nil {
		return []corev1.EnvVar{{Name: configVariable, Value: configOf(c.text(variableHost))}}
	}
	return []corev1.EnvVar{
		framework.DataVariable(clusterVariable, framework.ConfigMapName(c.job, data), clusterKey),
		{Name: configVariable, Value: configOf("$(" + clusterVariable + ")")},
	}
}
