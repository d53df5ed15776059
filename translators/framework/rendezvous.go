package framework

import (
	"slices"
	"strings"
)

// RendezvousConf is what torchrun's --rdzv_conf should hold in a cluster, as <key>=<value>. torchrun's own values are for machines that
// are all there: a replica may come minutes after the others, when its image has been pulled or its node started, and one that
// is lost should not be waited for long. Elastic says that the number of replicas may change. Times are in seconds.
func RendezvousConf(elastic bool) []string {
	conf := []string{"join_timeout=3600", "read_timeout=600"}
	if elastic {
		// The first is how long a round waits for more, once there are enough. Before PyTorch 2.7 a lost replica is always noticed
		// after 15 s; the other two make that 9.
		conf = append(conf, "last_call_timeout=2", "keep_alive_interval=3", "keep_alive_max_attempt=3")
	}
	return conf
}

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
