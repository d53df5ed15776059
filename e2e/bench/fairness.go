package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// smallJob is a job that restarts what fails.
var smallJob = kind{
	make: func(name string, replicas int32) client.Object {
		job := newJob(name, replicas)
		job.Spec.BackoffLimit = ptr.To[int32](3)
		return job
	},
	list: genericJob.list, phase: genericJob.phase,
}

// smallJobs is how many small jobs are measured alone, and as many beside the crowd.
const smallJobs = 7

// fairness is a row about jobs of two replicas, alone and beside a crowd of large jobs whose pods are being created. It times how long
// one takes until its pods run, and until one that fails is replaced. It also times how long one takes until it has succeeded, if all its
// pods end as soon as they run. The crowd is not waited for.
func (b *bench) fairness(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	if _, err := p.small(ctx, "warm-up", 1); err != nil {
		return nil, err
	}
	alone, err := p.small(ctx, "alone", smallJobs)
	if err != nil {
		return nil, err
	}
	crowd, err := p.namespace(ctx, "crowd")
	if err != nil {
		return nil, err
	}
	defer crowd.cancel()
	crowd.idle = true // what kubelets ask for besides is no matter of the operator's
	if err := p.submit(ctx, r.kind, "crowd", r.jobs, r.replicas, nil); err != nil {
		return nil, err
	}
	if _, err := crowd.wait(ctx, "the crowd is at it", func(s seen) bool { return s.created >= r.jobs*20 }); err != nil {
		return nil, err
	}
	start := time.Now()
	beside, err := p.small(ctx, "beside", smallJobs)
	if err != nil {
		return nil, err
	}
	took := time.Since(start)
	s, err := crowd.wait(ctx, "it is counted", func(seen) bool { return true })
	if err == nil && s.created >= r.jobs*r.replicas {
		err = fmt.Errorf("the crowd was through before the last small job, after %s: nothing was measured beside it", took)
	}
	out = sample{"crowd_per_s": float64(s.created-r.jobs*20) / took.Seconds()}
	for name, seconds := range alone {
		out[name+"_alone_s"], out[name+"_beside_s"] = seconds, beside[name]
		out[name+"_beside_ratio"] = beside[name] / seconds
	}
	return out, err
}

// small makes so many jobs of two replicas, one after the other, each in a namespace with kubelets of its own. It returns the
// median seconds of what is measured.
func (p *plane) small(ctx context.Context, ns string, jobs int) (map[string]float64, error) {
	all, out := map[string][]float64{}, map[string]float64{}
	for i := range jobs {
		one, err := p.oneSmall(ctx, fmt.Sprintf("%s-%d", ns, i))
		if err != nil {
			return nil, err
		}
		logf("  %s: %s", ns, one)
		for name, seconds := range one {
			all[name] = append(all[name], seconds)
		}
	}
	for name, list := range all {
		out[name] = median(list)
	}
	return out, nil
}

// oneSmall has one small job run, has a pod of it fail and be replaced, and another succeed.
func (p *plane) oneSmall(ctx context.Context, ns string) (sample, error) {
	k, err := p.namespace(ctx, ns)
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	out := sample{}
	start := time.Now()
	if err := p.submit(ctx, smallJob, ns, 1, 2, nil); err != nil {
		return nil, err
	}
	s, err := k.wait(ctx, "the small job runs", func(s seen) bool { return s.running >= 2 })
	if err != nil {
		return nil, err
	}
	out["run"] = s.lastRunning.Sub(start).Seconds()
	start = time.Now()
	k.failOne()
	if s, err = k.wait(ctx, "its pod is replaced", func(s seen) bool { return s.created >= 3 }); err != nil {
		return nil, err
	}
	out["restart"] = s.lastCreated.Sub(start).Seconds()
	took, err := p.wholeSmall(ctx, ns+"-whole")
	out["whole"] = took.Seconds()
	return out, err
}

// wholeSmall is how long a small job takes from its create until it has succeeded.
func (p *plane) wholeSmall(ctx context.Context, ns string) (time.Duration, error) {
	k, err := p.namespace(ctx, ns)
	if err != nil {
		return 0, err
	}
	defer k.cancel()
	ends, err := p.watchEnds(ctx, smallJob, ns, 1)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := p.submit(ctx, smallJob, ns, 1, 2, nil); err != nil {
		return 0, err
	}
	if _, err := k.wait(ctx, "the small job runs", func(s seen) bool { return s.running >= 2 }); err != nil {
		return 0, err
	}
	k.finish()
	at, err := ends.wait(ctx)
	return at.Sub(start), err
}
