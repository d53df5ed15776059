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
	// inlineHosts is the largest number of hosts that are written into the templates themselves. The apiserver would store n² hosts for n pods. In
	// larger jobs all pods refer to one ConfigMap.
	inlineHosts = 64
	// maxString is Linux's MAX_ARG_STRLEN, the length of the longest environment string, with name and final zero byte.
	maxString = 131072
	// taskPart is the end of TF_CONFIG: TensorFlow's estimators look for the environment.
	taskPart = `,"task":{"type":"$(type)","index":$(rank)}`
)

// tfCluster is the TensorFlow cluster of a TFJob. It is not that of package tensorflow, because Kubeflow's TF_CONFIG differs. It has another
// order of types, has evaluators and "environment", and differs in jobs whose number of workers changes. In contrast to TensorFlow's own examples it
// names evaluators, too: programs for TFJobs expect that.
type tfCluster struct {
	job     string
	ports   map[string]int32
	members []member // in alphabetical order
}

// address returns host and port of a replica as JSON; the function returns the host.
func (c *tfCluster) address(name, rank string, host func(name, rank string) string) string {
	return `"` + host(name, rank) + ":" + strconv.Itoa(int(c.ports[name])) + `"`
}

// realHost returns the short name of a host.
func (c *tfCluster) realHost(name, rank string) string { return c.job + "-" + name + "-" + rank }

// list returns the addresses of all replicas of a type as JSON.
func (c *tfCluster) list(m *member, host func(name, rank string) string) string {
	var addresses []string
	if m != nil {
		for rank := range m.replicas {
			addresses = append(addresses, c.address(m.name, strconv.Itoa(int(rank)), host))
		}
	}
	return "[" + strings.Join(addresses, ",") + "]"
}

// text returns the cluster as JSON.
func (c *tfCluster) text(host func(name, rank string) string) string {
	var types []string
	for i := range c.members {
		types = append(types, `"`+c.members[i].name+`":`+c.list(&c.members[i], host))
	}
	return "{" + strings.Join(types, ",") + "}"
}

// sparse returns TF_CONFIG for a job whose number of workers may change. A worker knows itself and the parameter servers. A parameter server knows
// only itself.
func (c *tfCluster) sparse(name string) string {
	workers, servers := "", "[]"
	switch name {
	case worker:
		// There is no variable for a worker that does not exist yet, so its host is spelled out.
		workers = `"$(rank)":` + c.address(worker, "$(rank)", c.realHost)
		servers = c.list(find(c.members, parameterServer), framework.HostVariable)
	case parameterServer:
		servers = "[" + c.address(parameterServer, "$(rank)", c.realHost) + "]"
	}
	return `{"cluster":{"worker":{` + workers + `},"ps":` + servers + `}` + taskPart + "}"
}

func tfConfig(cluster string) string {
	return `{"cluster":` + cluster + taskPart + `,"environment":"cloud"}`
}

// length returns the length of the longest TF_CONFIG, as an environment string.
func (c *tfCluster) length() int {
	const longest = len(`evaluator`) + len(`9999`)
	return len(configVariable) + len("=") + len(tfConfig(c.text(c.realHost))) + longest + 1
}

// data returns the content of the ConfigMap; nil if the templates hold the cluster themselves.
func (c *tfCluster) data() map[string]string {
	hosts := int32(0)
	for _, m := range c.members {
		hosts += m.replicas
	}
	if hosts <= inlineHosts {
		return nil
	}
	return map[string]string{clusterKey: c.text(c.realHost)}
}

// environment returns the variables of the containers that train.
func (c *tfCluster) environment(data map[string]string) []corev1.EnvVar {
	if data == nil {
		return []corev1.EnvVar{{Name: configVariable, Value: tfConfig(c.text(framework.HostVariable))}}
	}
	return []corev1.EnvVar{
		framework.DataVariable(clusterVariable, framework.ConfigMapName(c.job, data), clusterKey),
		{Name: configVariable, Value: tfConfig("$(" + clusterVariable + ")")},
	}
}
