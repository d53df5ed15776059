package tensorboard

import (
	_ "embed" // fetch.py
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// fetchScript copies logs into the pod. It needs only Python, which TensorBoard needs itself.
//
//go:embed fetch.py
var fetchScript string

const (
	// fetchName is the name of the container, and of the volume that it fills.
	fetchName = "fetch"
	// fetchSeconds is the time between two rounds.
	fetchSeconds = 60
	// probeScript fails, and says why, if the last round could not read something.
	probeScript = "import os, sys; f = sys.argv[1]; sys.exit(os.path.exists(f) and open(f).read() or 0)"
)

// fetcher returns the container that copies logs.
func fetcher(board *corev1.Container, l *logs) corev1.Container {
	args := []string{escape(fetchScript), fetchedPath, strconv.Itoa(fetchSeconds)}
	for _, s := range l.sources {
		args = append(args, s.prefix, escape(s.address))
	}
	c := corev1.Container{
		Name:            fetchName,
		Image:           board.Image,
		ImagePullPolicy: board.ImagePullPolicy,
		Command:         []string{"python3", "-I", "-u", "-c"},
		Args:            args,
		// Small and fixed: a namespace may demand limits, and those of the spec are for TensorBoard.
		Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"), corev1.ResourceMemory: resource.MustParse("64Mi")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("256Mi")},
		},
		Env:          board.Env,
		VolumeMounts: []corev1.VolumeMount{{Name: fetchName, MountPath: fetchedPath}},
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
				Command: []string{"python3", "-I", "-S", "-c", probeScript, fetchedPath + "/errors"},
			}},
			// Together longer than a round: one failed round is not reported if the next succeeds.
			PeriodSeconds: 20, FailureThreshold: 4, TimeoutSeconds: 10,
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          board.SecurityContext.DeepCopy(),
	}
	for i, secret := range l.secrets {
		c.EnvFrom = append(c.EnvFrom, corev1.EnvFromSource{
			Prefix:    variablePrefix(i),
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}},
		})
	}
	return c
}
