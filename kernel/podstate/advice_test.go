package podstate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// messages are one for each obstacle, in the order of the obstacles, as Kubernetes words it, and what the advice says.
var messages = []struct{ reason, message, says string }{
	{"Unschedulable", `0/1 nodes are available: persistentvolumeclaim "data" not found. not found`, `create the PersistentVolumeClaim "data"`},
	{"Unschedulable", `0/1 nodes are available: persistentvolumeclaim "data" is being deleted.`, `"data" is deleted and create it again`},
	{"Unschedulable", "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found", "kubectl describe pvc"},
	{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind.", "kubectl describe pvc"},
	{"Unschedulable", `0/1 nodes are available: resourceclaim.resource.k8s.io "gpus" not found.`, `create the ResourceClaim "gpus"`},
	{"Unschedulable", `could not find ResourceClaim "ns/gpus"`, `create the ResourceClaim "ns/gpus"`},
	{"Unschedulable", `pod "ns/a": ResourceClaim not created yet`, "ResourceClaimTemplate that the template names"},
	{"Unschedulable", "0/4 nodes are available: 4 cannot allocate all claims.", "devices of its ResourceClaims"},
	{"Unschedulable", "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.", "with hostNetwork"},
	{"Unschedulable", "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient nvidia.com/gpu.", "free nodes or add some, or ask for less"},
	{"Unschedulable", "0/3 nodes are available: 3 Too many pods.", "free nodes or add some"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) had volume node affinity conflict.", "where the volume is"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) had untolerated taint {nvidia.com/gpu: present}.", "add a toleration"},
	{"Unschedulable", "0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.", "correct nodeSelector"},

	{"ErrImagePull", `failed to pull and unpack image "registry.exmple/a:1": failed to do request: Head "https://registry.exmple/v2/a/manifests/1": dial tcp: lookup registry.exmple on 10.0.0.10:53: no such host`, "does not know the registry"},
	{"ErrImagePull", `dial tcp: lookup registry.example on 10.0.0.10:53: server misbehaving`, "the image's name may be right"},
	{"ImagePullBackOff", `Back-off pulling image "a:1"`, "correct the image's name in the manifest and apply it again"},

	{"CreateContainerConfigError", `configmap "settings" not found`, `create the ConfigMap "settings"`},
	{"FailedMount", `MountVolume.SetUp failed for volume "keys" : secret "token" not found`, `create the Secret "token"`},
	{"CreateContainerConfigError", "couldn't find key rate in ConfigMap ns/settings", `add the key "rate"`},
	{"FailedMount", `MountVolume.SetUp failed for volume "s" : references non-existent config key: rate`, "add the key, or correct the volume"},
	{"CreateContainerConfigError", "container's runAsUser breaks non-root policy", "set runAsUser"},
	{"CreateContainerConfigError", "container has runAsNonRoot and image will run as root", "set runAsUser"},

	{"StartError", `failed to create containerd task: unable to start container process: exec: "pyhton": executable file not found in $PATH: unknown`, `the image has no program "pyhton": correct the command`},
	{"StartError", `unable to start container process: exec: "/app/run": stat /app/run: no such file or directory: unknown`, `the image has no file "/app/run"`},
	{"StartError", `unable to start container process: exec: "/app/run.sh": permission denied: unknown`, `"/app/run.sh" may not be executed`},

	{"CreateFailed", `pods "a" is forbidden: failed quota: team: must specify limits.cpu for: main; requests.memory for: main`, "set these requests and limits"},
}

func TestAdviceIsByReason(t *testing.T) {
	require.Len(t, messages, len(obstacles), "each obstacle has a message")
	for i, m := range messages {
		name, ok := obstacles[i].find(m.message)
		require.True(t, ok, "obstacle %d is in %q", i, m.message)
		require.Contains(t, obstacles[i].reasons, m.reason)
		advice := Advice(m.reason, m.message)
		require.Contains(t, advice, m.says)
		require.Equal(t, strings.Replace(obstacles[i].do, "%q", `"`+name+`"`, 1), advice, "an obstacle before it takes %q", m.message)
	}
}

func TestNoAdviceWhereTheCauseIsAnother(t *testing.T) {
	require.Empty(t, Advice("Unschedulable", "0/3 nodes"), "who knows")
	require.Empty(t, Advice("CreateFailed", "exceeded quota: team"), "which is a lack of room")
	require.Empty(t, Advice("Error", `exec: "pyhton": executable file not found in $PATH`), "what a program prints of its own")
	require.Empty(t, Unstartable(v1beta1.ReplicaFailure{Reason: "Error", ExitCode: ptr.To[int32](1), Message: "loss is nan"}))
	require.NotEmpty(t, Unstartable(v1beta1.ReplicaFailure{Reason: "Error", ExitCode: ptr.To[int32](127), Message: `exec: "pyhton": executable file not found in $PATH`}))
}

// The reason why an image cannot be pulled stands at the end of a long message.
func TestATrimmedPodSaysWhyAnImageCannotBePulled(t *testing.T) {
	long := "failed to pull and unpack image: " + strings.Repeat("x", 300) + ": lookup registry.exmple on 10.0.0.10:53: no such host"
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: someContainers}, Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: long}}}}}}
	_, message := Judge{}.Waiting(Trim(pod))
	require.Contains(t, message, "failed to pull and unpack image")
	require.Contains(t, message, "(the node's DNS does not know the registry")
	require.NotContains(t, message, strings.Repeat("x", 300))
}

// A scheduler looks at a pod when its ResourceClaims are there, and says nothing before.
func TestAPodThatWaitsForAResourceClaimSaysSo(t *testing.T) {
	tests := map[string]struct {
		claims []corev1.PodResourceClaim
		made   []corev1.PodResourceClaimStatus
		says   string
	}{
		"named":           {[]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: ptr.To("shared")}}, nil, `the ResourceClaim "shared" is there; check that the namespace of the job has it`},
		"of a template":   {[]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("big")}}, nil, `a ResourceClaim of the ResourceClaimTemplate "big" is there; check that the namespace of the job has this template`},
		"one of two made": {[]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("big")}, {Name: "nic", ResourceClaimName: ptr.To("net")}}, []corev1.PodResourceClaimStatus{{Name: "gpu"}}, `the ResourceClaim "net" is there; check that the namespace of the job has it`},
		"all made":        {[]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("big")}}, []corev1.PodResourceClaimStatus{{Name: "gpu"}}, `its ResourceClaim "gpu" is there`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			whole := &corev1.Pod{Spec: corev1.PodSpec{Containers: someContainers, ResourceClaims: tc.claims}, Status: corev1.PodStatus{Phase: corev1.PodPending, ResourceClaimStatuses: tc.made}}
			pod := Trim(whole.DeepCopy())
			_, message := Judge{}.Waiting(pod)
			require.Equal(t, "the scheduler has not looked at its pod, which it does once "+tc.says, message)
			require.Nil(t, Unheard([]*corev1.Pod{pod}), "that is no sign of a scheduler that does not run")
			whole.Spec.NodeName = "node"
			require.Empty(t, Trim(whole).Spec.ResourceClaims, "of a pod with a node nobody asks")
		})
	}
}

// A program that is not there starts at no attempt: the failure says what to mend.
func TestAFailureToStartSaysWhatToMend(t *testing.T) {
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	pod := Pod{Template: template, Pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "main", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 128, Reason: "StartError",
			Message: `unable to start container process: exec: "pyhton": executable file not found in $PATH: unknown`}}}}}}}
	pod.Name = "a"
	require.Equal(t, `Pod[a] exited with error code 128: "unable to start container process: exec: \"pyhton\": executable file not found in $PATH: unknown"`+
		` (the image has no program "pyhton": correct the command in the template)`, pod.FailureSentence())
}
