// Package kerneltest tells the stories of jobs for tests of the kernel. It has builders of jobs and pods, and a small cluster in which only
// that goes wrong what the story says. Package e2e/simulator is where everything goes wrong. Tests alone import it.
package kerneltest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// Answers of the simulated API, as the real one gives them.
var (
	errConflict = errors.New("conflict")
	errExists   = errors.New("already exists")
	errNotFound = errors.New("not found")
)

// grace is the grace period of running pods.
const grace = 30 * time.Second

// Cluster is the truth: what etcd would hold. It has one job.
type Cluster struct {
	Now      time.Time
	Job      *v1beta1.GenericJob // nil once it is deleted
	Pods     map[string]*corev1.Pod
	Services map[string]*corev1.Service
	// Groups are the PodGroups of gang schedulers.
	Groups map[string]*unstructured.Unstructured
	// Workload is the job's in Kueue; nil if there is none.
	Workload *unstructured.Unstructured
	// NoFlavor says that somebody has deleted the resource flavor in which the job was admitted.
	NoFlavor bool
	// FlavorForbidden is what the apiserver says if the operator may not read it; "" if it may.
	FlavorForbidden string
	// Also is the name of another resource flavor; "" if there is none.
	Also string

	// Nodes are those that a live look shows as lost.
	Nodes map[string]podstate.Node

	// NodeNames are the nodes of the scheduler, by which it places pods in the order of their ranks; "node" if there are none.
	NodeNames []string

	// Mute are the names of pods whose wrappers do not answer.
	Mute map[string]bool

	rv  int
	uid int
}

// NewCluster returns a cluster in which job has just been created.
func NewCluster(job *v1beta1.GenericJob, now time.Time) *Cluster {
	c := &Cluster{Now: now, Pods: map[string]*corev1.Pod{}, Services: map[string]*corev1.Service{}, Groups: map[string]*unstructured.Unstructured{}}
	job = job.DeepCopy()
	job.UID, job.Generation = "job-uid", 1
	job.CreationTimestamp = metav1.NewTime(now)
	c.storeJob(job)
	return c
}

func (c *Cluster) nextRV() string {
	c.rv++
	return strconv.Itoa(c.rv)
}

// storeJob makes a new version of the job.
func (c *Cluster) storeJob(job *v1beta1.GenericJob) {
	job.ResourceVersion = c.nextRV()
	c.Job = job
}

// storePod makes a new version of a pod, or removes it if it is deleted and nothing holds it back.
func (c *Cluster) storePod(p *corev1.Pod) {
	p.ResourceVersion = c.nextRV()
	if p.DeletionTimestamp != nil && *p.DeletionGracePeriodSeconds == 0 && len(p.Finalizers) == 0 {
		delete(c.Pods, p.Name)
		return
	}
	c.Pods[p.Name] = p
}

// EditJob is a user's edit of the spec.
func (c *Cluster) EditJob(edit func(*v1beta1.GenericJobSpec)) {
	job := c.Job.DeepCopy()
	edit(&job.Spec)
	job.Generation++
	c.storeJob(job)
}

// DeleteJob is a user's deletion of the job, and the garbage collector's of what it owned.
func (c *Cluster) DeleteJob() {
	if c.Job == nil {
		return
	}
	c.Job = nil
	c.Services = map[string]*corev1.Service{}
	c.Groups = map[string]*unstructured.Unstructured{}
	for _, p := range c.sortedPods() {
		c.deletePod(p.Name, p.UID, grace)
	}
}

func (c *Cluster) sortedPods() []*corev1.Pod {
	names := make([]string, 0, len(c.Pods))
	for name := range c.Pods {
		names = append(names, name)
	}
	slices.Sort(names)
	pods := make([]*corev1.Pod, 0, len(names))
	for _, name := range names {
		pods = append(pods, c.Pods[name])
	}
	return pods
}

// updateStatus writes a status.
func (c *Cluster) updateStatus(status v1beta1.GenericJobStatus) {
	next := c.Job.DeepCopy()
	next.Status = *status.DeepCopy()
	roundTimes(&next.Status)
	c.storeJob(next)
}

// roundTimes does to times what storing them does: whole seconds.
func roundTimes(s *v1beta1.GenericJobStatus) {
	for _, t := range []*metav1.Time{s.StartTime, s.CompletionTime, s.PauseTime} {
		if t != nil {
			*t = t.Rfc3339Copy()
		}
	}
}

func (c *Cluster) createPod(p *corev1.Pod) error {
	if c.Pods[p.Name] != nil {
		return errExists
	}
	c.uid++
	p = p.DeepCopy()
	p.UID = types.UID(fmt.Sprintf("pod-%d", c.uid))
	p.CreationTimestamp = metav1.NewTime(c.Now)
	p.Status = corev1.PodStatus{Phase: corev1.PodPending}
	c.storePod(p)
	return nil
}

func (c *Cluster) markPod(seen *corev1.Pod, annotation string) error {
	return c.annotatePod(seen, annotation, "true")
}

// annotatePod annotates a pod under its resourceVersion.
func (c *Cluster) annotatePod(seen *corev1.Pod, annotation, value string) error {
	p, err := c.podByUID(seen)
	if err != nil {
		return err
	}
	if p.ResourceVersion != seen.ResourceVersion {
		return errConflict
	}
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, annotation, value)
	c.storePod(p)
	return nil
}

// endPod sets a deadline that is over.
func (c *Cluster) endPod(seen *corev1.Pod) {
	if p, err := c.podByUID(seen); err == nil {
		p.Spec.ActiveDeadlineSeconds = new(int64(1))
		c.storePod(p)
	}
}

func (c *Cluster) releasePod(seen *corev1.Pod) error {
	p, err := c.podByUID(seen)
	if err != nil {
		return err
	}
	p.Finalizers = nil
	c.storePod(p)
	return nil
}

func (c *Cluster) podByUID(seen *corev1.Pod) (*corev1.Pod, error) {
	p := c.Pods[seen.Name]
	if p == nil {
		return nil, errNotFound
	}
	if p.UID != seen.UID {
		return nil, errConflict
	}
	return p.DeepCopy(), nil
}

// deletePod asks for the deletion of a pod. Like the apiserver it shortens the grace period to nothing for a pod that no
// kubelet runs any more, or yet.
func (c *Cluster) deletePod(name string, uid types.UID, period time.Duration) {
	p := c.Pods[name]
	if p == nil || p.UID != uid {
		return
	}
	p = p.DeepCopy()
	if p.Status.Phase != corev1.PodRunning {
		period = 0
	}
	seconds := int64(period / time.Second)
	if p.DeletionTimestamp != nil {
		if seconds >= *p.DeletionGracePeriodSeconds {
			return
		}
		// With finalizers left the apiserver forgets when the deletion was first asked for.
		at := metav1.NewTime(c.Now.Add(period))
		p.DeletionTimestamp = &at
	} else {
		at := metav1.NewTime(c.Now.Add(period))
		p.DeletionTimestamp = &at
	}
	p.DeletionGracePeriodSeconds = &seconds
	c.storePod(p)
}
