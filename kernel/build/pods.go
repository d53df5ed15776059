// Package build makes the objects that a job puts into the cluster: pods, the Service of these, and objects of a gang scheduler. It knows the spec,
// and the few facts of the run that a pod depends on (see Run). It does not know which pods exist, how they end, or what the status says.
//
// The user's template changes only as kernel/README.md and kernel/DESIGN.md say. Equal input makes equal objects.
//
// Begin with Builder.Pod. There is one file for each object, gang scheduler or feature of pods.
package build

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Run is what a pod depends on in addition to the spec.
type Run struct {
	// ClusterDomain is the cluster's DNS domain. Default "cluster.local".
	ClusterDomain string
	// ModeGeneration is that of the run mode; see status.modeGeneration.
	ModeGeneration int32
	// Gang is the number of the group in which pods are placed together; see status.gang.
	Gang int32
	// JobAttempt is the job attempt; BarrierIsClosed says that its replicas wait for each other in it.
	JobAttempt      int32
	BarrierIsClosed bool
	// WrapperImage holds the wrapper of pods that restart in place; "" if there is none.
	WrapperImage string
	// NodeLostAfter is how long pods tolerate a node that is not Ready, unless the job says it. 0 leaves that to Kubernetes.
	NodeLostAfter time.Duration
	// Begun says that the job has begun; Resumed that its pods start by its resumeSpecs.
	Begun, Resumed bool
}

// Builder makes the pods of one job. What all pods share, it does once.
type Builder struct {
	job    *v1beta1.GenericJob
	run    Run
	domain string // of the names of the job's pods
	// short expands variables where host names need not resolve, full where they must.
	short, full *spec.Expander
	gang        gangScheduler
	names       spec.Names
}

// NewBuilder returns a Builder for the job.
func NewBuilder(job *v1beta1.GenericJob, run Run) *Builder {
	if run.ClusterDomain == "" {
		run.ClusterDomain = "cluster.local"
	}
	domain, short := domainOf(job, run.ClusterDomain), spec.NewExpander(job, run.Begun)
	return &Builder{job, run, domain, short, short.FullNames(domain), gangSchedulerOf(job), spec.NamesOf(job)}
}

// Pod makes the pod of a replica for an attempt, from the user's template. It returns nil if the job has no such replica type.
func (b *Builder) Pod(replicaType string, rank, attempt int) *corev1.Pod {
	i := slices.IndexFunc(b.job.Spec.ReplicaSpecs, func(r v1beta1.ReplicaSpec) bool { return r.Type == replicaType })
	if i < 0 {
		return nil
	}
	a := spec.Replica{Type: replicaType, Rank: rank, Attempt: attempt, JobAttempt: int(b.run.JobAttempt)}
	template := b.job.Spec.ReplicaSpecs[i].Template.DeepCopy()
	pod := &corev1.Pod{Spec: template.Spec}
	pod.Name = b.names.Pod(a.Type, a.Rank)
	pod.Namespace = b.job.Namespace
	pod.Labels = b.labels(template.Labels, a)
	pod.Annotations = withoutReserved(template.Annotations)
	pod.Finalizers = []string{v1beta1.FinalizerTracking}
	pod.OwnerReferences = []metav1.OwnerReference{*controllerRef(b.job)}
	pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	keepLastWords(&pod.Spec)
	pod.Spec.Tolerations = spec.WithNodeLost(pod.Spec.Tolerations, b.job, b.run.NodeLostAfter)
	b.network(pod, a)
	r := &b.job.Spec.ReplicaSpecs[i]
	b.runMode(pod, a, r.Auxiliary)
	switch {
	case b.restartsInPlace(r):
		a.Tokens = true
		b.wrap(pod, r, b.firstOrder(attempt))
	case b.isWatched(r):
		b.wrapOnce(pod, r, attempt)
	}
	b.full.ExpandAll(&pod.Spec, a)
	if b.gang != nil {
		b.gang.addToGroup(b.job.Spec.Scheduler, groupName(b.job, b.run.Gang), a.Type, pod)
	}
	return pod
}

// keepLastWords has the kubelet report the end of the log of a container that fails, unless the template says what to report.
func keepLastWords(pod *corev1.PodSpec) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			if list[i].TerminationMessagePolicy == "" {
				list[i].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
			}
		}
	}
}

// controllerRef returns the owner reference that makes the job the controller of an object.
func controllerRef(job *v1beta1.GenericJob) *metav1.OwnerReference {
	return metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
}

// reserved is the prefix of keys that only the operator may set. If a template could set them, its pods could join another job's Service, or pass for
// other replicas.
const reserved = "batch.tensorstack.dev/"

func withoutReserved(in map[string]string) map[string]string {
	if in == nil {
		return nil
	}
	out := maps.Clone(in)
	maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, reserved) })
	return out
}

// labels returns the labels of a pod. In rising order of precedence these are the labels of TensorStack's platform, those of the template, and our
// own.
func (b *Builder) labels(template map[string]string, a spec.Replica) map[string]string {
	out := map[string]string{
		v1beta1.LabelT9kType:          a.Type,
		v1beta1.LabelT9kIndex:         strconv.Itoa(a.Rank),
		v1beta1.LabelT9kJob:           b.job.Name,
		v1beta1.LabelT9kReplica:       v1beta1.HostName(b.job.Name, a.Type, a.Rank),
		v1beta1.LabelT9kComponent:     strings.ToLower(v1beta1.KindGenericJob),
		v1beta1.LabelT9kComponentType: "user",
		v1beta1.LabelT9kOwnerKind:     v1beta1.KindGenericJob,
		v1beta1.LabelT9kOwnerName:     b.job.Name,
	}
	if b.decides(a) {
		out[v1beta1.LabelT9kRole] = "master"
	}
	maps.Copy(out, b.expandLabels(withoutReserved(template), a))
	out[v1beta1.LabelJobUID] = string(b.job.UID)
	out[v1beta1.LabelJobName] = b.job.Name
	out[v1beta1.LabelReplicaType] = a.Type
	out[v1beta1.LabelReplicaRank] = strconv.Itoa(a.Rank)
	out[v1beta1.LabelAttempt] = strconv.Itoa(a.Attempt)
	out[v1beta1.LabelModeGeneration] = strconv.Itoa(int(b.run.ModeGeneration))
	if b.run.Gang > 0 {
		out[v1beta1.LabelGang] = strconv.Itoa(int(b.run.Gang))
	}
	if b.job.Spec.RunMode.Debugs() {
		out[v1beta1.LabelDebug] = "true"
	}
	return out
}

// decides reports whether the success of this one replica is the success of the job. TensorStack's platform calls such a replica the master.
func (b *Builder) decides(a spec.Replica) bool {
	rules := b.job.Spec.SuccessRules
	if len(rules) != 1 || len(rules[0]) != 1 {
		return false
	}
	ranks, named := rules[0][a.Type]
	if !named || len(ranks) != 1 {
		return false
	}
	rank, err := spec.Rank(ranks[0])
	return err == nil && rank == a.Rank
}

// runMode overrides what the containers run, for debug mode and after a pause.
func (b *Builder) runMode(pod *corev1.Pod, a spec.Replica, auxiliary bool) {
	switch {
	case auxiliary: // it also serves replicas that run in debug mode
	case b.job.Spec.RunMode.Debugs():
		b.debugMode(&pod.Spec, a.Type)
	case b.run.Resumed && b.job.Spec.RunMode != nil && b.job.Spec.RunMode.Pause != nil:
		for _, r := range b.job.Spec.RunMode.Pause.ResumeSpecs {
			if r.Type == a.Type {
				resumeMode(pod, r)
			}
		}
	}
}

// debugMode replaces the command of every container. It removes probes and hooks, because they would kill a container whose server does not run.
func (b *Builder) debugMode(pod *corev1.PodSpec, replicaType string) {
	command := []string{"sleep", "inf"}
	for _, r := range b.job.Spec.RunMode.Debug.ReplicaSpecs {
		if r.Type != replicaType {
			continue
		}
		if len(r.Command) > 0 {
			command = r.Command
		}
		if r.SkipInitContainer {
			pod.InitContainers = onlySidecars(pod.InitContainers)
		}
	}
	for i := range pod.Containers {
		c := &pod.Containers[i]
		c.Command, c.Args = append([]string(nil), command...), nil
		c.LivenessProbe, c.ReadinessProbe, c.StartupProbe, c.Lifecycle = nil, nil, nil, nil
	}
}

// onlySidecars returns the init containers that are sidecars. They cannot be skipped, because they serve the containers of the pod.
func onlySidecars(list []corev1.Container) []corev1.Container {
	var kept []corev1.Container
	for _, c := range list {
		if spec.IsSidecar(&c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// resumeMode overrides command and args of the container that trains: the one that the annotation names, or else the first.
func resumeMode(pod *corev1.Pod, r v1beta1.ResumeSpec) {
	if r.SkipInitContainer {
		pod.Spec.InitContainers = onlySidecars(pod.Spec.InitContainers)
	}
	if len(pod.Spec.Containers) == 0 {
		return
	}
	name := pod.Annotations[v1beta1.AnnotationDefaultContainer]
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == name })
	c := &pod.Spec.Containers[max(i, 0)]
	if len(r.Command) > 0 {
		c.Command = append([]string(nil), r.Command...)
	}
	if len(r.Args) > 0 {
		c.Args = append([]string(nil), r.Args...)
	}
}

// expandLabels expands variables in the values of labels. A label whose value becomes empty is left out, so $(onRank[0].<text>) labels one replica
// only. A value that becomes much too long for a label stays as it is, and the apiserver refuses it.
func (b *Builder) expandLabels(labels map[string]string, a spec.Replica) map[string]string {
	const tooLong = 1000
	maps.DeleteFunc(labels, func(key, text string) bool {
		value, _ := b.short.Expand(text, a)
		if len(value) > tooLong {
			value = text
		}
		labels[key] = value
		return text != "" && value == ""
	})
	return labels
}
