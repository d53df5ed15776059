package operator

import (
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The environment variables with the operator's own pod, which deploy/manager fills in.
const (
	podName      = "POD_NAME"
	podNamespace = "POD_NAMESPACE"
)

// ownImage returns the image that the operator runs from, by its own pod: it holds the wrapper of pods that restart in place, too. It returns
// "" where the operator does not run in a pod.
func ownImage(ctx context.Context, r client.Reader) (string, error) {
	key := client.ObjectKey{Namespace: os.Getenv(podNamespace), Name: os.Getenv(podName)}
	if key.Name == "" || key.Namespace == "" {
		return "", nil
	}
	pod := &corev1.Pod{}
	if err := r.Get(ctx, key, pod); err != nil {
		return "", fmt.Errorf("read the operator's own pod %s, for its image: give --wrapper-image instead, or let the operator get pods in its namespace: %w", key, err)
	}
	main := pod.Annotations[v1beta1.AnnotationDefaultContainer]
	for _, c := range pod.Spec.Containers {
		if c.Name == main || main == "" {
			return c.Image, nil
		}
	}
	return "", nil
}
