package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// restart is one repetition of a row in which one failure replaces a whole job. The raw limit is to delete and create as
// many pods by plain calls.
func (b *bench) restart(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	raw, err := p.rawRestart(ctx, "raw-before", r)
	if err != nil {
		return nil, err
	}
	took, err := b.operatedRestart(ctx, p, r)
	if err != nil {
		return nil, err
	}
	rawAgain, err := p.rawRestart(ctx, "raw-after", r)
	limit := (raw + rawAgain).Seconds() / 2
	return sample{"restart_s": took.Seconds(), "raw_restart_s": limit, "restart_ratio": limit / took.Seconds()}, err
}

func (p *plane) rawRestart(ctx context.Context, ns string, r row) (time.Duration, error) {
	k, err := p.namespace(ctx, ns)
	if err != nil {
		return 0, err
	}
	defer k.cancel()
	pods := rawPods(ns, r.jobs, r.replicas)
	n := len(pods)
	if err := p.createPods(ctx, pods); err != nil {
		return 0, err
	}
	if _, err := k.wait(ctx, "all raw pods run", func(s seen) bool { return s.running >= n }); err != nil {
		return 0, err
	}
	start := time.Now()
	if err := errors.Join(p.deletePods(ctx, pods), p.createPods(ctx, pods)); err != nil {
		return 0, err
	}
	s, err := k.wait(ctx, "all raw pods are there again", func(s seen) bool { return s.created >= 2*n })
	return s.lastCreated.Sub(start), err
}

func (b *bench) operatedRestart(ctx context.Context, p *plane, r row) (took time.Duration, err error) {
	k, err := p.namespace(ctx, "jobs")
	if err != nil {
		return 0, err
	}
	defer k.cancel()
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	n := r.jobs * r.replicas
	if err := p.submit(ctx, r.kind, "jobs", r.jobs, r.replicas, nil); err != nil {
		return 0, err
	}
	if _, err := k.wait(ctx, "all pods run", func(s seen) bool { return s.running >= n }); err != nil {
		return 0, err
	}
	if err := pause(ctx, 3*time.Second); err != nil { // the status has been brought up to date
		return 0, err
	}
	profiles := b.profile(ctx, p, r.name)
	start := time.Now()
	k.failOne()
	s, err := k.wait(ctx, "all pods are replaced", func(s seen) bool { return s.created >= 2*n })
	return s.lastCreated.Sub(start), errors.Join(err, profiles())
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// quiet is a row in which nothing happens: half of the jobs have finished, the others run.
func (b *bench) quiet(ctx context.Context, r row) (out sample, err error) {
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
	before, err := b.restingCosts(ctx, p, o, r)
	if err != nil {
		return nil, err
	}
	for left := b.quietFor; left > 0; left -= 30 * time.Second {
		logf("  %s: quiet for another %s", r.name, left)
		if err := pause(ctx, min(left, 30*time.Second)); err != nil {
			return nil, err
		}
	}
	after, err := p.costs(ctx, o)
	if err != nil {
		return nil, err
	}
	by, writes := since(before.writes, after.writes)
	logf("  %s: writes %v", r.name, by)
	return sample{"quiet_s": b.quietFor.Seconds(), "quiet_writes": float64(writes),
		"quiet_cpu_percent": 100 * float64(after.cpu-before.cpu) / float64(b.quietFor), "resident_mb": after.now}, nil
}

// restingCosts brings the jobs of a row to rest, half of which finish, and says what that has cost so far.
func (b *bench) restingCosts(ctx context.Context, p *plane, o *operator, r row) (costs, error) {
	for _, ns := range []string{"finished", "running"} {
		if err := b.bringToRest(ctx, p, ns, r, ns == "finished"); err != nil {
			return costs{}, err
		}
	}
	if err := pause(ctx, 10*time.Second); err != nil { // the last writes of what has just happened
		return costs{}, err
	}
	return p.costs(ctx, o)
}

// bringToRest makes half of a row's jobs and waits until they run, or have finished.
func (b *bench) bringToRest(ctx context.Context, p *plane, ns string, r row, finish bool) error {
	k, err := p.namespace(ctx, ns)
	if err != nil {
		return err
	}
	defer k.cancel()
	n := r.jobs / 2 * r.replicas
	if err := p.submit(ctx, r.kind, ns, r.jobs/2, r.replicas, nil); err != nil {
		return err
	}
	if _, err := k.wait(ctx, "all pods run", func(s seen) bool { return s.running >= n }); err != nil || !finish {
		return err
	}
	k.finish()
	_, err = k.wait(ctx, "all pods are released", func(s seen) bool { return s.succeeded >= n && s.unreleased == 0 })
	return err
}

// takeOver is a row in which an operator starts in a cluster with many pods, and serves a new job.
func (b *bench) takeOver(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(b.bringToRest(ctx, p, "running", row{kind: r.kind, jobs: 2 * r.jobs, replicas: r.replicas}, false), o.stop()); err != nil {
		return nil, err
	}
	k, err := p.namespace(ctx, "new")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	start := time.Now()
	if o, err = b.startOperator(ctx, p); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	synced := time.Now()
	if err := p.submit(ctx, r.kind, "new", 1, 1, nil); err != nil {
		return nil, err
	}
	s, err := k.wait(ctx, "the first new job has its pod", func(s seen) bool { return s.created >= 1 })
	if err != nil {
		return nil, err
	}
	if err := pause(ctx, 5*time.Second); err != nil {
		return nil, err
	}
	u, err := o.usage()
	if err != nil {
		return nil, err
	}
	logf("  %s: caches synced after %s", r.name, fmt.Sprintf("%.1f s", synced.Sub(start).Seconds()))
	return sample{"sync_s": synced.Sub(start).Seconds(), "first_served_s": s.lastCreated.Sub(synced).Seconds(), "cpu_s": u.cpu.Seconds(),
		"peak_mb": u.peak, "resident_mb": u.now}, nil
}
