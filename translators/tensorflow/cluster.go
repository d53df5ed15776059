package tensorflow

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// configVariable is the environment variable that tells TensorFlow about its cluster:
	// https://www.tensorflow.org/guide/distributed_training#TF_CONFIG
	configVariable = "TF_CONFIG"
	// clusterVariable holds the cluster's part of TF_CONFIG in large jobs, and clusterKey is its place in the ConfigMap.
	clusterVariable = "TF_CONFIG_CLUSTER"
	clusterKey      = "cluster"

	// inlineHosts is the largest number of hosts that are written into the templates themselves. The apiserver would store n² hosts for n pods: 30 MB
	// for 1,000 workers. In larger jobs all pods refer to one ConfigMap.
	inlineHosts = 64
	// maxString is Linux's MAX_ARG_STRLEN, the length of the longest environment string, with name and final zero byte. About 4,000 replicas with host
	// names of 25 characters reach it.
	maxString = 131072
)

// cluster is the TensorFlow cluster of a job. TFJobs need another one: see package kubeflow.
type cluster struct {
	job   string
	tasks []tasks // of each type, in the order of TF_CONFIG; without evaluators
	total int     // the number of replicas, with evaluators
}

// tasks are the replicas of one type.
type tasks struct {
	replicaType string
	replicas    int
	port        int32
}

// add adds the replicas of a type. Evaluators are no part of the cluster, as TensorFlow demands: the others neither wait for them nor talk to them.
func (c *cluster) add(spec v1beta1.ReplicaSpec, port int32) {
	n := int(*spec.Replicas)
	c.total += n
	if spec.Type != string(v1beta1.TensorFlowEvaluator) {
		c.tasks = append(c.tasks, tasks{replicaType: spec.Type, replicas: n, port: port})
	}
}

func (c *cluster) isLarge() bool {
	hosts := 0
	for _, t := range c.tasks {
		hosts += t.replicas
	}
	return hosts > inlineHosts
}

// json returns the cluster as JSON. The function host returns each host.
func (c *cluster) json(host func(job, replicaType string, rank int) string) string {
	var b strings.Builder
	for i, t := range c.tasks {
		b.WriteString(separator(i, "{") + `"` + t.replicaType + `":`)
		for rank := range t.replicas {
			b.WriteString(separator(rank, "[") + `"` + host(c.job, t.replicaType, rank) + ":" + strconv.Itoa(int(t.port)) + `"`)
		}
		b.WriteByte(']')
	}
	return b.String() + "}"
}

func separator(i int, opening string) string {
	if i == 0 {
		return opening
	}
	return ","
}

// variableHost returns the variable of the GenericJob that stands for a host.
func variableHost(_, replicaType string, rank int) string {
	return framework.HostVariable(replicaType, strconv.Itoa(rank))
}

// tfConfig returns TF_CONFIG for a cluster, with the task as variables.
func tfConfig(cluster string) string {
	return `{"cluster":` + cluster + `,"task":{"type":"$(type)","index":$(rank)}}`
}

// data returns the content of the ConfigMap; nil if the templates hold the cluster themselves.
func (c *cluster) data() map[string]string {
	if !c.isLarge() {
		return nil
	}
	return map[string]string{clusterKey: c.json(v1beta1.HostName)}
}

// environment returns the variables of the training containers. Data is the content of the ConfigMap.
func (c *cluster) environment(data map[string]string) []corev1.EnvVar {
	if data == nil {
		return []corev1.EnvVar{{Name: configVariable, Value: tfConfig(c.json(variableHost))}}
	}
	return []corev1.EnvVar{
		framework.DataVariable(clusterVariable, framework.ConfigMapName(c.job, data), clusterKey),
		{Name: configVariable, Value: tfConfig("$(" + clusterVariable + ")")},
	}
}

// tooLong says that the cluster is too large for one environment variable; "" if it is not.
func (c *cluster) tooLong() string {
	const task = `{"cluster":,"task":{"type":"evaluator","index":9999}}`
	length := len(configVariable) + len("=") + len(c.json(v1beta1.HostName)) + len(task) + 1
	if length <= maxString {
		return ""
	}
	return fmt.Sprintf("%s for these %d replicas is %d bytes long, but Linux allows %d for one environment variable: use fewer replicas or a shorter metadata.name",
		configVariable, c.total, length, maxString)
}
