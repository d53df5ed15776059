package kerneltest

import (
	"math/rand"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// Protections are the four mechanisms that make the accounting exact. Tests take one away and see the simulator find it.
type Protections struct {
	Fence, Finalizer, StatusFirst, Lock bool
}

// AllProtections is how the operator works.
var AllProtections = Protections{Fence: true, Finalizer: true, StatusFirst: true, Lock: true}

// Shell is the operator around Plan: two caches that lag independently, and the order observe, plan, status, fence, act.
type Shell struct {
	Cluster     *Cluster
	Protections Protections
	Settings    kernel.Settings
	// Crash is asked after every call; if it says true the pass ends there. Nil never crashes.
	Crash func() bool
	// Seen is told of every decision. Nil is not.
	Seen func(kernel.Decision)

	job     int // versions of the job that the cache has seen
	changes int // changes of pods that the cache has seen
	pods    map[string]*corev1.Pod
}

// SyncJob lets the cache of jobs catch up by n versions, or wholly if n is negative.
func (s *Shell) SyncJob(n int) {
	s.job += clampTo(n, len(s.Cluster.jobs)-s.job)
}

// SyncPods lets the cache of pods catch up by n changes, or wholly if n is negative.
func (s *Shell) SyncPods(n int) {
	if s.pods == nil {
		s.pods = map[string]*corev1.Pod{}
	}
	for range clampTo(n, len(s.Cluster.podTrail)-s.changes) {
		change := s.Cluster.podTrail[s.changes]
		if change.pod == nil {
			delete(s.pods, change.name)
		} else {
			s.pods[change.name] = change.pod
		}
		s.changes++
	}
}

func clampTo(n, limit int) int {
	if n < 0 || n > limit {
		return limit
	}
	return n
}

// SyncRandomly lets each cache catch up by a random part.
func (s *Shell) SyncRandomly(r *rand.Rand) {
	if r.Intn(3) == 0 {
		s.SyncJob(r.Intn(4) - 1)
	}
	if r.Intn(3) == 0 {
		s.SyncPods(r.Intn(8) - 1)
	}
}

func (s *Shell) crashed() bool { return s.Crash != nil && s.Crash() }

// Pass makes one pass over the job and returns when it wants the next one.
func (s *Shell) Pass() time.Duration {
	if s.job == 0 {
		return 0
	}
	job := s.Cluster.jobs[s.job-1]
	if job == nil {
		s.sweep()
		return 0
	}
	job = job.DeepCopy()
	d := kernel.Plan(s.world(job))
	if s.Seen != nil {
		s.Seen(d)
	}
	if s.carryOut(job, d) {
		return d.RequeueAfter
	}
	return time.Second
}

// carryOut makes a decision true; false means that the pass ended early.
func (s *Shell) carryOut(job *v1beta1.GenericJob, d kernel.Decision) bool {
	changed := !reflect.DeepEqual(job.Status, d.Status)
	if s.Protections.StatusFirst && changed {
		written, err := s.Cluster.updateStatus(job, d.Status, s.Protections.Lock)
		if err != nil || s.crashed() {
			return false
		}
		job = written
	}
	if s.fenced(job, d, changed) {
		return false
	}
	job.Status = d.Status
	if !s.act(job, d.Actions) {
		return false
	}
	if !s.Protections.StatusFirst && changed {
		_, err := s.Cluster.updateStatus(job, d.Status, s.Protections.Lock)
		return err == nil
	}
	return true
}

func (s *Shell) world(job *v1beta1.GenericJob) kernel.World {
	w := kernel.World{Job: job, Now: s.Cluster.Now, Settings: s.Settings}
	for _, p := range s.pods {
		w.Pods = append(w.Pods, p)
	}
	for _, service := range s.Cluster.Services {
		w.Services = append(w.Services, service)
	}
	return w
}

// fenced says whether the live job is another than the one that was planned from, so that nothing may be created.
func (s *Shell) fenced(job *v1beta1.GenericJob, d kernel.Decision, changed bool) bool {
	if !s.Protections.Fence || changed && s.Protections.StatusFirst {
		return false
	}
	for _, a := range d.Actions {
		if a.Verb.Creates() {
			live := s.Cluster.Job
			return live == nil || live.ResourceVersion != job.ResourceVersion
		}
	}
	return false
}

// act carries out the actions; false means that the operator crashed.
func (s *Shell) act(job *v1beta1.GenericJob, actions []kernel.Action) bool {
	builder := kernel.NewBuilder(job, s.Settings)
	for _, a := range actions {
		s.do(builder, a)
		if s.crashed() {
			return false
		}
	}
	return true
}

func (s *Shell) do(builder *kernel.Builder, a kernel.Action) {
	c := s.Cluster
	switch a.Verb {
	case kernel.CreateService, kernel.UpdateService:
		c.Services[a.Service.Name] = a.Service.DeepCopy()
	case kernel.CreatePod:
		pod := builder.Pod(a)
		if !s.Protections.Finalizer {
			pod.Finalizers = nil
		}
		_ = c.createPod(pod) // it exists: its event leads to the next pass
	case kernel.ApplyObject:
	default:
		s.letGo(a)
	}
}

// letGo carries out the verbs that stop, release and delete. What fails because an object has changed is left to the
// next pass, which will see it.
func (s *Shell) letGo(a kernel.Action) {
	c := s.Cluster
	switch a.Verb {
	case kernel.StopPod:
		if c.markPod(a.Pod, v1beta1.AnnotationStopped) == nil && !s.crashed() {
			c.deletePod(a.Pod.Name, a.Pod.UID, grace)
		}
	case kernel.MarkPod:
		_ = c.markPod(a.Pod, v1beta1.AnnotationDisrupted)
	case kernel.ReleasePod:
		_ = c.releasePod(a.Pod)
	case kernel.DeletePod:
		c.deletePod(a.Pod.Name, a.Pod.UID, grace)
	case kernel.ForceDeletePod:
		c.deletePod(a.Pod.Name, a.Pod.UID, 0)
	case kernel.DeleteJob:
		c.DeleteJob()
	default:
	}
}

// sweep lets go of pods whose job is gone; the job is looked at live, as the operator does.
func (s *Shell) sweep() {
	if s.Cluster.Job != nil {
		return
	}
	for _, p := range s.world(nil).Pods {
		if len(p.Finalizers) > 0 {
			_ = s.Cluster.releasePod(p)
			if s.crashed() {
				return
			}
		}
	}
}
