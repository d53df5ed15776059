package kubeflow

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// longestName is how many characters the name of a job may have so that <job>-launcher-0 is a valid host name, which has at most 63.
const longestName = 52

// launcherType returns the replica type of the launcher in the GenericJob. The MPI operator's launcher has no index in its host name, so it takes
// longer names of jobs. The type mpirun, which is shorter, makes room for them.
func launcherType(job string) string {
	if len(job) > longestName {
		return "mpirun"
	}
	return launcher
}

// withLauncher returns a status in which the type of the launcher is launcher, even if the GenericJob has another.
func withLauncher(job string, s v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	if launcherType(job) == launcher {
		return s
	}
	s.Tasks, s.Ledger = slices.Clone(s.Tasks), slices.Clone(s.Ledger)
	for i := range s.Tasks {
		if s.Tasks[i].Type == launcherType(job) {
			s.Tasks[i].Type = launcher
		}
	}
	for i := range s.Ledger {
		if s.Ledger[i].Type == launcherType(job) {
			s.Ledger[i].Type = launcher
		}
	}
	return s
}

// theirNames replaces the names of the Secret and the ConfigMap that the MPI operator creates for a job, <job>-ssh and <job>-config, by the operator's
// own. Templates of users may refer to them. With the MPI operator each job has these two, so such a name can mean nothing else.
type theirNames struct{ job, keys, configMap string }

// replace replaces the names in all volumes and environment variables.
func (n theirNames) replace(spec *corev1.PodSpec) {
	for i := range spec.Volumes {
		n.inVolume(&spec.Volumes[i].VolumeSource)
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			n.inContainer(&list[i])
		}
	}
}

func (n theirNames) inVolume(v *corev1.VolumeSource) {
	if v.Secret != nil {
		n.secret(&v.Secret.SecretName)
	}
	if v.ConfigMap != nil {
		n.data(&v.ConfigMap.Name)
	}
	if v.Projected == nil {
		return
	}
	for i := range v.Projected.Sources {
		if s := v.Projected.Sources[i].Secret; s != nil {
			n.secret(&s.Name)
		}
		if c := v.Projected.Sources[i].ConfigMap; c != nil {
			n.data(&c.Name)
		}
	}
}

func (n theirNames) inContainer(c *corev1.Container) {
	for i := range c.EnvFrom {
		if s := c.EnvFrom[i].SecretRef; s != nil {
			n.secret(&s.Name)
		}
		if m := c.EnvFrom[i].ConfigMapRef; m != nil {
			n.data(&m.Name)
		}
	}
	for i := range c.Env {
		from := c.Env[i].ValueFrom
		if from == nil {
			continue
		}
		if from.SecretKeyRef != nil {
			n.secret(&from.SecretKeyRef.Name)
		}
		if from.ConfigMapKeyRef != nil {
			n.data(&from.ConfigMapKeyRef.Name)
		}
	}
}

func (n theirNames) secret(name *string) {
	if *name == n.job+"-ssh" {
		*name = n.keys
	}
}

func (n theirNames) data(name *string) {
	if *name == n.job+"-config" {
		*name = n.configMap
	}
}
