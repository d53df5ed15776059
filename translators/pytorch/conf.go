package pytorch

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/translators/framework"
)

// confVariable is torchrun's environment variable for --rdzv_conf.
const confVariable = "PET_RDZV_CONF"

// mergedConf returns the value of --rdzv_conf. That is what the user sets, by the option or by torchrun's environment variable. For the rest it has
// values that suit a cluster. It returns false if the variable has its value from somewhere else: then the option is left out.
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

// conf returns values that suit a cluster, as <key>=<value>.
func (p *compilation) conf() []string {
	var conf []string
	if p.store {
		conf = append(conf, "is_host=0")
	}
	if p.givesRanks {
		return append(conf, framework.StaticRendezvousConf())
	}
	return append(conf, framework.RendezvousConf(p.job.Spec.Elastic.IsOn())...)
}
