package build

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/inplace"
)

// installerUser is the user of the installer in pods of root. The operator's image has the same one.
const installerUser int64 = 65532

// installer copies the wrapper into the pod. It satisfies the restricted Pod Security Standard.
func (b *Builder) installer(pod *corev1.PodSpec, main *corev1.Container) corev1.Container {
	no, yes := false, true
	return corev1.Container{
		Name: wrapperContainer, Image: b.run.WrapperImage, Command: []string{"/wrapper", "install", inplace.Dir},
		VolumeMounts:             []corev1.VolumeMount{{Name: inplace.Volume, MountPath: inplace.Dir}},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                shared(main.Resources),
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, RunAsNonRoot: &yes, RunAsUser: installerUserIn(pod), ReadOnlyRootFilesystem: &yes,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
}

// installerUserIn returns the installer's user where it would inherit root, which the kubelet refuses with runAsNonRoot. Elsewhere it is
// nil: OpenShift forbids users outside of a namespace's range.
func installerUserIn(pod *corev1.PodSpec) *int64 {
	if c := pod.SecurityContext; c == nil || c.RunAsUser == nil || *c.RunAsUser != 0 {
		return nil
	}
	user := installerUser
	return &user
}

// shared returns what the installer asks for: as much as the main container, of what any container can use. The installer runs before the main
// container, so the pod as a whole asks for no more. Without limits a Guaranteed pod would be Burstable, and a quota would refuse the pod. Devices
// and claims stay with the main container.
func shared(main corev1.ResourceRequirements) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: sharedOf(main.Limits), Requests: sharedOf(main.Requests)}
}

func sharedOf(list corev1.ResourceList) corev1.ResourceList {
	var out corev1.ResourceList
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, ok := list[name]; ok {
			if out == nil {
				out = corev1.ResourceList{}
			}
			out[name] = q.DeepCopy()
		}
	}
	return out
}
