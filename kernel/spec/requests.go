package spec

import corev1 "k8s.io/api/core/v1"

// Asked is what a container asks its node for: what it has a limit for and no request, it asks for up to the limit.
func Asked(c *corev1.Container) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range c.Resources.Limits {
		out[name] = q
	}
	for name, q := range c.Resources.Requests {
		out[name] = q
	}
	return out
}
