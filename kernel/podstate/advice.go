package podstate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// obstacle is why a pod is not created, or does not start, in the words of Kubernetes, and what to do about it.
type obstacle struct {
	// reasons are the reasons that a pod's condition, a container, an event or a refusal may have.
	reasons []string
	// before is a text in the message. If after is set, a name stands between before and after.
	before, after string
	// do is what to do. A %q in it stands for the name.
	do string
}

var (
	unschedulable = []string{"Unschedulable"}
	// configs are what a container is configured with: by its environment, or by a volume, which only an event reports.
	configs = []string{"CreateContainerConfigError", "FailedMount"}
	starts  = []string{startError, "ContainerCannotRun", "RunContainerError"}
	creates = []string{v1beta1.ReasonCreateFailed}
)

// startError is the kubelet's reason for a container whose program cannot be executed.
const startError = "StartError"

// obstacles are tried in this order, and the first that fits a message is taken. An obstacle that fits any message of its reasons comes last of them.
var obstacles = []obstacle{
	{unschedulable, `persistentvolumeclaim "`, `" not found`, "create the PersistentVolumeClaim %q in the job's namespace, or correct its name in the template's volumes"},
	{unschedulable, `persistentvolumeclaim "`, `" is being deleted`, "wait until the PersistentVolumeClaim %q is deleted and create it again, or name another in the template's volumes"},
	{unschedulable, "unbound immediate PersistentVolumeClaims", "", "a PersistentVolumeClaim of the template has no volume: `kubectl describe pvc` says why"},
	{unschedulable, "find available persistent volumes to bind", "", "a PersistentVolumeClaim of the template has no volume: `kubectl describe pvc` says why"},
	{unschedulable, `resourceclaim.resource.k8s.io "`, `" not found`, "create the ResourceClaim %q in the job's namespace, or correct its name in the template"},
	{unschedulable, `could not find ResourceClaim "`, `"`, "create the ResourceClaim %q, or correct its name in the template"},
	{unschedulable, "ResourceClaim not created yet", "", "check that the ResourceClaimTemplate that the template names exists in the job's namespace"},
	{unschedulable, "cannot allocate all claims", "", "no node has the devices of its ResourceClaims free: free some, or ask for less"},
	{unschedulable, "free ports", "", "with hostNetwork a node takes one pod of those that declare the same containerPort: add nodes, or declare other ports"},
	{unschedulable, "Insufficient ", "", "free nodes or add some, or ask for less"},
	{unschedulable, "Too many pods", "", "free nodes or add some"},
	{unschedulable, "volume node affinity conflict", "", "the nodes that have room cannot reach the volume of its PersistentVolumeClaim: free or add nodes where the volume is"},
	{unschedulable, "untolerated taint", "", "add a toleration for the taint to the template, or nodes without it"},
	{unschedulable, "node affinity/selector", "", "correct nodeSelector or affinity in the template, or label nodes so that they match"},

	{v1beta1.PullReasons, "no such host", "", "the node's DNS does not know the registry: check the registry's name in the image, and the DNS of the node"},
	{v1beta1.PullReasons, "server misbehaving", "", "the node's DNS does not answer: ask who runs the cluster; the image's name may be right"},
	{v1beta1.PullReasons, "", "", "correct the image's name in the manifest and apply it again, or add the pull secret"},

	{configs, `configmap "`, `" not found`, "create the ConfigMap %q in the job's namespace, or correct its name in the template"},
	{configs, `secret "`, `" not found`, "create the Secret %q in the job's namespace, or correct its name in the template"},
	{configs, "couldn't find key ", " in ", "add the key %q, or correct it in the template"},
	{configs, "references non-existent", "", "the ConfigMap or Secret lacks a key that the template's volume names: add the key, or correct the volume"},
	{configs, "non-root policy", "", aboutUser},
	{configs, "runAsNonRoot", "", aboutUser},

	{starts, `exec: "`, `": executable file not found`, "the image has no program %q: correct the command in the template"},
	{starts, `exec: "`, `": stat `, "the image has no file %q: correct the command in the template"},
	{starts, `exec: "`, `": permission denied`, "%q may not be executed: correct the command in the template, or the mode of the file in the image"},

	{creates, "must specify ", "", "the quota takes only pods that say what they need: set these requests and limits in each container of the template, and apply it again"},
}

const aboutUser = "in the securityContext of the container or the pod, set runAsUser to a number other than 0, or runAsNonRoot to false"

// Advice says what to do about an obstacle that Kubernetes reports with a reason and a message; "" where the message has to say it.
func Advice(reason, message string) string {
	for i := range obstacles {
		o := &obstacles[i]
		if !slices.Contains(o.reasons, reason) {
			continue
		}
		if name, fits := o.find(message); fits {
			return strings.Replace(o.do, "%q", fmt.Sprintf("%q", name), 1)
		}
	}
	return ""
}

// find reports whether a message is about the obstacle, and returns the name in it.
func (o *obstacle) find(message string) (name string, fits bool) {
	_, rest, fits := strings.Cut(message, o.before)
	if !fits || o.after == "" {
		return "", fits
	}
	name, _, fits = strings.Cut(rest, o.after)
	return name, fits
}

// Unstartable says what to do about a replica whose program could not be executed, which no restart helps; "" for all other failures.
func Unstartable(f v1beta1.ReplicaFailure) string {
	reason := f.Reason
	if f.ExitCode != nil && *f.ExitCode == cannotExecute {
		reason = startError // the wrapper has tried
	}
	return Advice(reason, f.Message)
}

// cannotExecute is the exit code of shells, and of the wrapper, for a program that is not there.
const cannotExecute = 127

// advised returns what to do about an obstacle, in brackets, to follow the message that reports it.
func advised(reason, message string) string { return inBrackets(Advice(reason, message)) }

// inBrackets returns an advice in brackets, or nothing.
func inBrackets(do string) string {
	if do == "" {
		return ""
	}
	return " (" + do + ")"
}
