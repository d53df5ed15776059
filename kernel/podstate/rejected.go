package podstate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// WasRejected reports whether a pod has failed before code of the template could start. A node rejected it, or a container that admission has added
// failed. A pod that was deleted or evicted before that is not rejected.
func (p Pod) WasRejected() bool {
	return p.Status.Phase == corev1.PodFailed && !p.HasStarted() && !p.IsRemoved()
}

// ownReasons are the reasons by which a kubelet rejects a pod that another node might take; for example, it cannot provide a device. Its other reasons
// tell of room that was taken meanwhile, or of a pod that was not meant for the node.
var ownReasons = []string{"UnexpectedAdmissionError", "TopologyAffinityError", "SysctlForbidden"}

// otherReasons are those other reasons, without the ones that name a resource: OutOfcpu, OutOfnvidia.com/gpu and the like.
var otherReasons = []string{"NodeAffinity", "AppArmor", "VolumeAttachmentLimitExceeded"}

// IsRejection reports whether a kubelet gives this status reason to a pod that it rejects. Evicted and NodeShutdown are not among them: pods
// that ran have them, too.
func IsRejection(reason string) bool {
	return slices.Contains(ownReasons, reason) || slices.Contains(otherReasons, reason) || strings.HasPrefix(reason, "OutOf")
}

// WasRejectedByNode reports whether a kubelet has rejected a pod for a reason that lies in its node.
func (p Pod) WasRejectedByNode() bool {
	return p.WasRejected() && slices.Contains(ownReasons, p.Status.Reason)
}
