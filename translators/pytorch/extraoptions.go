package pytorch

import (
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What the user gives torchrun by torchrunConfig.extraOptions.

// torchrunOptions are options of torchrun by their full names. optionsIn needs them to resolve abbreviations.
var torchrunOptions = []string{
	"nnodes", "nproc_per_node", "rdzv_backend", "rdzv_endpoint", "rdzv_id", "rdzv_conf", "max_restarts", "role",
	"monitor_interval", "master_addr", "master_port", "module", "redirects", "run_path", "log_dir", "local_addr",
	"local_ranks_filter", "logs_specs", "no_python", "node_rank", "start_method", "standalone", "tee", "event_log_handler",
	"numa_binding", "signals_to_handle", "virtual_local_rank", "duplicate_stdout_filters", "duplicate_stderr_filters",
}

// optionsIn returns the options that the user gives, as they are written, by their full name with underscores. torchrun takes a hyphen for an underscore,
// and any prefix of a name that no other option has.
func optionsIn(extra []string) map[string]string {
	found := map[string]string{}
	for _, text := range extra {
		name, isLong := strings.CutPrefix(text, "--")
		if !isLong {
			continue
		}
		name, _, _ = strings.Cut(name, "=")
		name = strings.ReplaceAll(name, "-", "_")
		var full []string
		for _, k := range torchrunOptions {
			if strings.HasPrefix(k, name) {
				full = append(full, k)
			}
		}
		if len(full) == 1 && name != "" && !slices.Contains(torchrunOptions, name) {
			name = full[0]
		}
		found[name] = text
	}
	return found
}

// setsOption reports whether the user gives torchrun any of these options.
func setsOption(t *v1beta1.TorchrunConfig, names ...string) bool {
	own := optionsIn(t.ExtraOptions)
	return slices.ContainsFunc(names, func(name string) bool { _, ok := own[name]; return ok })
}

// takeOutConf returns the value of --rdzv_conf, and the other options. If it is given more than once, the last counts.
func takeOutConf(extra []string) (conf string, rest []string) {
	for i := 0; i < len(extra); i++ {
		if _, ok := optionsIn(extra[i : i+1])["rdzv_conf"]; !ok {
			rest = append(rest, extra[i])
			continue
		}
		_, value, joined := strings.Cut(extra[i], "=")
		if !joined && i+1 < len(extra) {
			i++
			value = extra[i]
		}
		conf = value
	}
	return conf, rest
}
