package pytorch

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/translators/framework"
)

// takeConf takes --rdzv_conf out of options of torchrun. Of several the last counts.
func takeConf(extra []string) (conf string, rest []string) {
	for i := 0; i < len(extra); i++ {
		if _, is := given(extra[i : i+1])["rdzv_conf"]; !is {
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

// confVariable is torchrun's environment variable for --rdzv_conf.
const confVariable = "PET_RDZV_CONF"

// mergedConf is the value of --rdzv_conf: what the user says, by the option or by torchrun's environment variable, and what fits a
// cluster where he does not. It is left out if he takes the variable from somewhere else.
func (p *compilation) mergedConf(own string, c *corev1.Container) (conf string, set bool) {
	if own == "" {
		if i := slices.IndexFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == confVariable }); i >= 0 {
			if c.Env[i].ValueFrom != nil {
				return "", false
			}
			own = c.Env[i].Value
		}
	}
	return framework.MergeRendezvousConf(own, p.conf()...), true
}

// conf is what fits a cluster, as <key>=<value>.
func (p *compilation) conf() []string {
	var conf []string
	if p.store {
		conf = append(conf, "is_host=0")
	}
	if p.static {
		return append(conf, framework.StaticRendezvousConf())
	}
	return append(conf, framework.RendezvousConf(p.job.Spec.Elastic.IsOn())...)
}
