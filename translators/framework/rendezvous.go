package framework

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// RendezvousConf returns what torchrun's --rdzv_conf should hold in a cluster, as <key>=<value>. Times are in seconds. torchrun's own values suit
// machines that all run already. In a cluster a replica may come minutes after the others, when its node has started or its image is pulled. And
// agents should not wait long for a replica that is lost. Elastic says that the number of replicas may change.
func RendezvousConf(elastic bool) []string {
	conf := []string{"join_timeout=3600", "read_timeout=600"}
	if elastic {
		// The first is how long a round waits for more replicas, once there are enough. PyTorch 2.6 ignores the other two, and notices a lost replica
		// after 15 s. PyTorch 2.15 uses them, and notices it after 9 s.
		conf = append(conf, "last_call_timeout=2", "keep_alive_interval=3", "keep_alive_max_attempt=3")
	}
	return conf
}

// StaticRendezvousConf returns the value of --rdzv_conf for the static backend. That has one time-out, in seconds: until all replicas have come.
func StaticRendezvousConf() string { return "timeout=3600" }

// MergeRendezvousConf adds further <key>=<value> to a value of --rdzv_conf, unless it has the key.
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

// The environment variables of which RendezvousID is made.
const (
	uidVariable            = "GENERICJOB_UID"
	modeGenerationVariable = "GENERICJOB_MODE_GENERATION"
	attemptVariable        = "GENERICJOB_ATTEMPT"
)

// RendezvousID returns a value for torchrun's --rdzv_id, made of the variables of RendezvousIDVariables. A rendezvous that was closed stays closed, in
// an etcd for ever. So the ID must differ from that of any other job of the same name, and after each pause. If a restart replaces all replicas
// (replacesAll), it must differ after each restart, too.
func RendezvousID(replacesAll bool) string {
	id := "$(" + uidVariable + ").$(" + modeGenerationVariable + ")"
	if replacesAll {
		id += ".$(" + attemptVariable + ")"
	}
	return id
}

// RendezvousIDVariables returns the environment variables that RendezvousID refers to.
func RendezvousIDVariables(replacesAll bool) []corev1.EnvVar {
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
