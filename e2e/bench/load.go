package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

var template = corev1.PodTemplateSpec{Spec: corev1.PodSpec{
	Containers: []corev1.Container{{Name: "main", Image: "i", Command: []string{"python", "/train.py"}}},
}}

// kind is a kind of job that rows are about.
type kind struct {
	make  func(name string, replicas int32) client.Object
	list  func() client.ObjectList
	phase func(client.Object) v1beta1.JobPhase
}

var genericJob = kind{
	make: func(name string, replicas int32) client.Object { return newJob(name, replicas) },
	list: func() client.ObjectList { return &v1beta1.GenericJobList{} },
	phase: func(o client.Object) v1beta1.JobPhase {
		return o.(*v1beta1.GenericJob).Status.Phase
	},
}

// wholeJob is a GenericJob in which one failure replaces all replicas.
var wholeJob = kind{
	make: func(name string, replicas int32) client.Object {
		job := newJob(name, replicas)
		job.Spec.RestartScope = v1beta1.RestartScopeJob
		job.Spec.BackoffLimit = ptr.To[int32](3)
		return job
	},
	list: genericJob.list, phase: genericJob.phase,
}

var tensorFlowJob = kind{
	make: func(name string, replicas int32) client.Object {
		worker := v1beta1.TensorFlowReplicaSpec{Type: v1beta1.TensorFlowWorker, Replicas: &replicas, Template: *template.DeepCopy()}
		worker.Template.Spec.Containers[0].Name = "tensorflow"
		job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: name}}
		job.Spec.ReplicaSpecs = []v1beta1.TensorFlowReplicaSpec{worker}
		return job
	},
	list: func() client.ObjectList { return &v1beta1.TensorFlowTrainingJobList{} },
	phase: func(o client.Object) v1beta1.JobPhase {
		return o.(*v1beta1.TensorFlowTrainingJob).Status.Phase
	},
}

func newJob(name string, replicas int32) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name}}
	job.Spec.Service = &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: "http", Port: 2222}}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &replicas, Template: *template.DeepCopy()}}
	return job
}

// inParallel calls f for 0..n-1 from as many writers as the raw limit has, and stops after an error.
func inParallel(ctx context.Context, n int, f func(i int) error) error {
	return inParallelBy(ctx, writers, n, f)
}

// inParallelBy is inParallel with another number of writers.
func inParallelBy(ctx context.Context, writers, n int, f func(i int) error) error {
	numbers := make(chan int, n)
	for i := range n {
		numbers <- i
	}
	close(numbers)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for i := range numbers {
				if ctx.Err() != nil {
					return
				}
				if err := f(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// labelOfRaw takes the place of the label by which the operator finds pods, so that it does not see those of the raw limit.
const labelOfRaw = "batch.tensorstack.raw/job-uid"

// rawPods are the pods that the operator would make for jobs of so many replicas, but for the label that it selects and
// the finalizer.
func rawPods(ns string, jobs, replicas int) []*corev1.Pod {
	var pods []*corev1.Pod
	for j := range jobs {
		job := newJob(fmt.Sprintf("bench-%d", j), int32(replicas))
		job.Namespace, job.UID = ns, types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", j))
		builder := kernel.NewPodBuilder(job, kernel.Settings{})
		for rank := range replicas {
			pod := builder.Pod(kernel.Action{Verb: kernel.CreatePod, Type: "worker", Rank: rank})
			delete(pod.Labels, v1beta1.LabelJobUID)
			pod.Labels[labelOfRaw] = string(job.UID)
			pod.Finalizers = nil
			pods = append(pods, pod)
		}
	}
	return pods
}

// createPods is the raw limit: plain creates from parallel writers.
func (p *plane) createPods(ctx context.Context, pods []*corev1.Pod) error {
	return inParallel(ctx, len(pods), func(i int) error { return p.createPod(ctx, pods[i]) })
}

func (p *plane) createPod(ctx context.Context, pod *corev1.Pod) error {
	_, err := p.pods.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

// deletePods is the raw limit of deletes.
func (p *plane) deletePods(ctx context.Context, pods []*corev1.Pod) error {
	return inParallel(ctx, len(pods), func(i int) error {
		return p.pods.CoreV1().Pods(pods[i].Namespace).Delete(ctx, pods[i].Name, metav1.DeleteOptions{})
	})
}

// ending tells when all jobs of a namespace have succeeded.
type ending struct {
	at  chan time.Time // of the last one
	err chan error
}

// watchEnds begins to watch; it must be called before the jobs are made.
func (p *plane) watchEnds(ctx context.Context, k kind, ns string, jobs int) (*ending, error) {
	events, err := p.jobs.Watch(ctx, k.list(), client.InNamespace(ns))
	if err != nil {
		return nil, err
	}
	e := &ending{make(chan time.Time, 1), make(chan error, 1)}
	go func() {
		done := map[string]bool{}
		for e.follow(events, k, done, jobs) {
			// The apiserver ends the watch of one who reads too slowly. The next begins with all jobs as they are.
			if events, err = p.jobs.Watch(ctx, k.list(), client.InNamespace(ns)); err != nil {
				e.err <- fmt.Errorf("watch the jobs again: %w", err)
				return
			}
		}
	}()
	return e, nil
}

// follow follows a watch, and reports whether that ended too early.
func (e *ending) follow(events watch.Interface, k kind, done map[string]bool, jobs int) bool {
	defer events.Stop()
	for event := range events.ResultChan() {
		o, ok := event.Object.(client.Object)
		if !ok {
			continue
		}
		switch k.phase(o) {
		case v1beta1.JobSucceeded:
			done[o.GetName()] = true
			if len(done) == jobs {
				e.at <- time.Now()
				return false
			}
		case v1beta1.JobFailed:
			e.err <- fmt.Errorf("job %s failed", o.GetName())
			return false
		default:
		}
	}
	return true
}

func (e *ending) wait(ctx context.Context) (time.Time, error) {
	select {
	case at := <-e.at:
		return at, nil
	case err := <-e.err:
		return time.Time{}, err
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("wait for the jobs to succeed: %w", ctx.Err())
	}
}

// submit creates jobs from one writer, as a person or a script would, and calls then, if it is not nil, after each.
func (p *plane) submit(ctx context.Context, k kind, ns string, jobs, replicas int, then func(job int)) error {
	for j := range jobs {
		job := k.make(fmt.Sprintf("bench-%d", j), int32(replicas))
		job.SetNamespace(ns)
		if err := p.jobs.Create(ctx, job); err != nil {
			return err
		}
		if then != nil {
			then(j)
		}
	}
	return nil
}
