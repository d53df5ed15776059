package tensorboard

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/translators/framework"
)

// Where the logs are in the pod.
const (
	claimsPath  = "/logs/pvc"
	fetchedPath = "/logs/fetched"
)

// maxArgument is the length in bytes that Linux allows one argument of a program.
const maxArgument = 131071

// podSpec returns the spec of the pod. It takes from the training pod what it needs to read the same files with the same image: user, pull secrets,
// and the node's architecture. It takes nothing else that places a pod: a TensorBoard stays when the training is over, and must not occupy a node
// with GPUs.
func podSpec(want *framework.TensorBoard, l *logs) (corev1.PodSpec, error) {
	board, err := boardContainer(want, l)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	of := want.Trains.Spec.DeepCopy()
	pod := corev1.PodSpec{
		AutomountServiceAccountToken:  ptr.To(false),
		EnableServiceLinks:            ptr.To(false),
		TerminationGracePeriodSeconds: ptr.To[int64](10), // nothing is lost
		SecurityContext:               of.SecurityContext,
		ImagePullSecrets:              of.ImagePullSecrets,
		Containers:                    []corev1.Container{board},
	}
	if want.Spec.Image == "" {
		pod.NodeSelector = platform(of.NodeSelector)
	}
	if pod.SecurityContext != nil {
		pod.SecurityContext.Sysctls = nil // they are for the training, and not all nodes allow them
	}
	for i, claim := range l.claims {
		mount(&pod, fmt.Sprintf("pvc-%d", i), path.Join(claimsPath, claim), corev1.VolumeSource{
			// The mount is read-only, not the volume: that may be attached to this node for the training.
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		})
	}
	if len(l.sources) > 0 {
		mount(&pod, fetchName, fetchedPath, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
		pod.Containers = append(pod.Containers, fetcher(&pod.Containers[0], l))
	}
	return pod, nil
}

func boardContainer(want *framework.TensorBoard, l *logs) (corev1.Container, error) {
	trains := framework.FindContainer(want.Trains, want.Container)
	if trains == nil {
		trains = &corev1.Container{}
	}
	image, pull := want.Spec.Image, corev1.PullPolicy("")
	if image == "" {
		image, pull = trains.Image, trains.ImagePullPolicy
	}
	if image == "" {
		return corev1.Container{}, fmt.Errorf("spec.tensorboardSpec.image is empty, and container %s has none either: name an image that has the command tensorboard", want.Container)
	}
	args, err := logArgs(l)
	return corev1.Container{
		Name:            component,
		Image:           image,
		ImagePullPolicy: pull,
		Command:         []string{"tensorboard"},
		// Not --bind_all: that takes "::" even if the kernel has no IPv6, and then TensorBoard exits. See ListenFor.
		Args: append([]string{hostOption, anyIPv4, "--port", strconv.Itoa(port)}, args...),
		// Images for GPUs ask for all GPUs by this variable, and some container runtimes provide them.
		Env:       []corev1.EnvVar{{Name: "NVIDIA_VISIBLE_DEVICES", Value: "void"}},
		Ports:     []corev1.ContainerPort{{Name: portName, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		Resources: *want.Spec.Resources.DeepCopy(),
		ReadinessProbe: &corev1.Probe{
			// All versions have this small answer. The page itself is large in some.
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/data/environment", Port: intstr.FromString(portName)}},
			PeriodSeconds: 5, TimeoutSeconds: 5,
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          restricted(trains.SecurityContext),
	}, err
}

func mount(pod *corev1.PodSpec, name, at string, source corev1.VolumeSource) {
	pod.Volumes = append(pod.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	c := &pod.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: at, ReadOnly: true})
}

// platform returns the part of a node selector on which an image depends.
func platform(selector map[string]string) map[string]string {
	var out map[string]string
	for _, key := range []string{corev1.LabelArchStable, corev1.LabelOSStable} {
		if value, ok := selector[key]; ok {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = value
		}
	}
	return out
}

// restricted returns a security context without rights, with the same user as the container that trains.
func restricted(trains *corev1.SecurityContext) *corev1.SecurityContext {
	c := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if trains != nil {
		from := trains.DeepCopy()
		c.RunAsUser, c.RunAsGroup, c.RunAsNonRoot, c.SELinuxOptions = from.RunAsUser, from.RunAsGroup, from.RunAsNonRoot, from.SELinuxOptions
	}
	return c
}

// logArgs returns the arguments that tell TensorBoard where the logs are. One place is given by --logdir: the option for several places lacks
// features, and reads more slowly.
func logArgs(l *logs) ([]string, error) {
	places := places(l)
	if len(places) == 1 {
		return []string{"--logdir", escape(places[0].path)}, nil
	}
	specs, runs := make([]string, len(places)), runNames(places)
	for i, p := range places {
		if strings.Contains(p.path, ",") {
			return nil, fmt.Errorf("spec.tensorboardSpec names the folder %q, but where there are several places of logs TensorBoard takes a comma for the end of one: rename the folder, or name no other place", p.name)
		}
		specs[i] = runs[i] + ":" + p.path
	}
	// Several files in one folder may grow at the same time: of several workers, or copies.
	args := []string{"--reload_multifile", "true", "--logdir_spec", escape(strings.Join(specs, ","))}
	if n := len(strings.Join(specs, ",")); n > maxArgument {
		return nil, fmt.Errorf("spec.tensorboardSpec names %d places of logs, which make an argument of %d bytes, but Linux allows %d: name fewer folders; TensorBoard looks into those below, too", len(places), n, maxArgument)
	}
	return args, nil
}

// runNames returns the name of the run of each place: that of the place, without the colon that ends a name. TensorBoard makes one run of those with one
// name, so each has its own.
func runNames(places []place) (names []string) {
	for _, p := range places {
		plain := strings.ReplaceAll(p.name, ":", "_")
		name := plain
		for n := 2; slices.Contains(names, name); n++ {
			name = fmt.Sprintf("%s-%d", plain, n)
		}
		names = append(names, name)
	}
	return names
}

type place struct{ name, path string }

func places(l *logs) []place {
	var out []place
	for _, f := range l.folders {
		name := path.Join(f.claim, f.path)
		out = append(out, place{name, path.Join(claimsPath, name)})
	}
	var web, store bool
	for _, s := range l.sources {
		web, store = web || s.web(), store || !s.web()
	}
	if store {
		out = append(out, place{"s3", fetchedPath + "/s3"})
	}
	if web {
		out = append(out, place{"http", fetchedPath + "/http"})
	}
	return out
}

// escape keeps Kubernetes from expanding $(NAME) in an argument.
func escape(text string) string { return strings.ReplaceAll(text, "$", "$$") }
