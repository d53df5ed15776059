package framework

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// RendezvousConf is what torchrun's --rdzv_conf should hold in a cluster, as <key>=<value>. torchrun's own values are for machines that are all
// there. In a cluster a replica may come minutes after the others, when its image has been pulled or its node started. One that is lost should not be
// waited for long. Elastic says that the number of replicas may change. Times are in seconds.
func RendezvousConf(elastic bool) []string {
	conf := []string{"join_timeout=3600", "read_timeout=600"}
	if elastic {
		// The first is how long a round waits for more, once there are enough. PyTorch 2.6 always notices a lost replica after
		// 15 s, and ignores the other two; 2.15 heeds them, which makes it 9.
		conf = append(conf, "last_call_timeout=2", "keep_alive_interval=3", "keep_alive_max_attempt=3")
	}
	return conf
}

// StaticRendezvousConf is the value of --rdzv_conf for the static backend. The static backend has one time-out: for all replicas to come, in seconds.
func StaticRendezvousConf() string { return "timeout=3600" }

// MergeRendezvousConf adds to a value of --rdzv_conf those of further <key>=<value> whose keys it does not have.
func MergeRendezvousConf(own string, more ...string) string {
	var list, keys []string
	for _, entry := range strings.Split(own, ",") {
		if entry = strings.TrimSpace(entry); entry != "" {
			key, _, _ := strings.Cut(entry, "=")
			list, keys = append(list, entry), append(keys, strings.TrimSpace(key))
		}
	}
	for _, entry := range more {
		if key, _, _ := strings.Cut(entry, "="); !slices.Contains(keys, key) {
			list = append(list, entry)
		}
	}
	return strings.Join(list, ",")
}

// The environment variables that name a run of the job.
const (
	uidVariable            = "GENERICJOB_UID"
	modeGenerationVariable = "GENERICJOB_MODE_GENERATION"
	attemptVariable        = "GENERICJOB_ATTEMPT"
)

// RunID is a value for torchrun's --rdzv_id, made of the variables of RunVariables. A rendezvous that has been closed stays so, on an etcd for ever.
// Therefore a job has another ID than those of its name in other namespaces or before it, and another after a pause. ReplacesAll says that a restart
// replaces all replicas. Then a job has another after each restart, too.
func RunID(replacesAll bool) string {
	id := "$(" + uidVariable + ").$(" + modeGenerationVariable + ")"
	if replacesAll {
		id += ".$(" + attemptVariable + ")"
	}
	return id
}

// RunVariables are what RunID needs.
func RunVariables(replacesAll bool) []corev1.EnvVar {
	list := []corev1.EnvVar{labelVariable(uidVariable, v1beta1.LabelJobUID), labelVariable(modeGenerationVariable, v1beta1.LabelModeGeneration)}
	if replacesAll {
		list = append(list, labelVariable(attemptVariable, v1beta1.LabelAttempt))
	}
	return list
}

func labelVariable(name, label string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
		APIVersion: "v1", FieldPath: "metadata.labels['" + label + "']",
	}}}
}
