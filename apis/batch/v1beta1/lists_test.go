package v1beta1_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A pod has few of these, and each entry is much larger in memory than as JSON.
func TestListsOfTemplates(t *testing.T) {
	bound := func(field string, most int, edit func(p *corev1.PodSpec, n int)) ruleCase {
		of := func(n int) func(*v1beta1.GenericJob) {
			return worker(func(s *v1beta1.ReplicaSpec) { edit(&s.Template.Spec, n) })
		}
		return ruleCase{of(most), of(most + 1), tooMany("spec.replicaSpecs[1].template.spec."+field, most)}
	}
	resources := func(n int) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := range n {
			list[corev1.ResourceName(fmt.Sprint("example.com/", i))] = resource.MustParse("1")
		}
		return list
	}
	many := bound("overhead", 16, func(p *corev1.PodSpec, n int) { p.Overhead = resources(n) })
	many.want = []string{"spec.replicaSpecs[1].template.spec.overhead: Too many", "must have at most 16 items"}
	limits := bound("containers[0].resources.limits", 16, func(p *corev1.PodSpec, n int) { p.Containers[0].Resources.Limits = resources(n) })
	tryRules(t, job, map[string]ruleCase{
		"overhead names at most 16 resources":  many,
		"limits name at most 16 resources":     limits,
		"there are at most 64 containers":      bound("containers", 64, func(p *corev1.PodSpec, n int) { p.Containers = containers(n) }),
		"there are at most 64 init containers": bound("initContainers", 64, func(p *corev1.PodSpec, n int) { p.InitContainers = containers(n) }),
		"there are at most 64 ephemeral containers": bound("ephemeralContainers", 64, func(p *corev1.PodSpec, n int) {
			for _, c := range containers(n) {
				p.EphemeralContainers = append(p.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: c.Name}})
			}
		}),
		"there are at most 256 volumes": bound("volumes", 256, func(p *corev1.PodSpec, n int) {
			for i := range n {
				p.Volumes = append(p.Volumes, corev1.Volume{Name: fmt.Sprint("v", i)})
			}
		}),
		"a volume has at most 32 sources": bound("volumes[0].projected.sources", 32, func(p *corev1.PodSpec, n int) {
			p.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: make([]corev1.VolumeProjection, n)}}}}
		}),
		"there are at most 256 tolerations": bound("tolerations", 256, func(p *corev1.PodSpec, n int) { p.Tolerations = make([]corev1.Toleration, n) }),
		"a container has at most 64 sources of its environment": bound("containers[0].envFrom", 64, func(p *corev1.PodSpec, n int) {
			p.Containers[0].EnvFrom = make([]corev1.EnvFromSource, n)
		}),
		"there are at most 64 options of DNS": bound("dnsConfig.options", 64, func(p *corev1.PodSpec, n int) {
			p.DNSConfig = &corev1.PodDNSConfig{Options: make([]corev1.PodDNSConfigOption, n)}
		}),
		"there are at most 64 terms of nodes": bound("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms", 64, func(p *corev1.PodSpec, n int) {
			p.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: make([]corev1.NodeSelectorTerm, n)}}}
		}),
	})
}

func containers(n int) []corev1.Container {
	var list []corev1.Container
	for i := range n {
		list = append(list, corev1.Container{Name: fmt.Sprint("c", i)})
	}
	return list
}
