package main

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// unoperated is what is left of a row if the operator takes no CPU and does nothing but what cannot be left out. It submits the jobs, and
// the writers of the raw limit make their pods. It writes each job's status once, when all pods have succeeded.
func unoperated(ctx context.Context, p *plane, r row) (sample, error) {
	k, err := p.namespace(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	n := r.jobs * r.replicas
	start := time.Now()
	if err := p.submitWithPods(ctx, r); err != nil {
		return nil, err
	}
	s, err := k.wait(ctx, "all pods run", func(s seen) bool { return s.running >= n })
	if err != nil {
		return nil, err
	}
	created := s.lastCreated.Sub(start)
	k.finish()
	if _, err := k.wait(ctx, "all pods have succeeded", func(s seen) bool { return s.succeeded >= n }); err != nil {
		return nil, err
	}
	if err := p.writeEnds(ctx); err != nil {
		return nil, err
	}
	return sample{"created_s": created.Seconds(), "done_s": time.Since(start).Seconds()}, nil
}

// submitWithPods submits the jobs of a row one after the other, and creates the pods of each once it is there.
func (p *plane) submitWithPods(ctx context.Context, r row) error {
	pods := rawPods("jobs", r.jobs, r.replicas)
	queue := make(chan *corev1.Pod, len(pods))
	var refused error
	go func() {
		defer close(queue)
		refused = p.submit(ctx, r.kind, "jobs", r.jobs, r.replicas, func(job int) {
			for _, pod := range pods[job*r.replicas : (job+1)*r.replicas] {
				queue <- pod
			}
		})
	}()
	err := inParallel(ctx, len(pods), func(int) error {
		pod, more := <-queue
		if !more {
			return nil
		}
		return p.createPod(ctx, pod)
	})
	for range queue { // after an error: until the submitter is done
	}
	return errors.Join(err, refused)
}

// writeEnds writes into the status of each job that it has succeeded.
func (p *plane) writeEnds(ctx context.Context) error {
	jobs := &v1beta1.GenericJobList{}
	if err := p.jobs.List(ctx, jobs); err != nil {
		return err
	}
	return inParallel(ctx, len(jobs.Items), func(i int) error {
		jobs.Items[i].Status.Phase = v1beta1.JobSucceeded
		return p.jobs.Status().Update(ctx, &jobs.Items[i])
	})
}
