package main

import (
	"context"
	"errors"
	"time"
)

// sample is what one repetition of a row has measured, by name. Names that end in _s are seconds.
type sample map[string]float64

// raw makes so many pods by plain calls, and moves them to Running and to Succeeded.
func (p *plane) raw(ctx context.Context, ns string, r row) (created, done time.Duration, err error) {
	k, err := p.namespace(ctx, ns)
	if err != nil {
		return 0, 0, err
	}
	defer k.cancel()
	pods := rawPods(ns, r.jobs, r.replicas)
	n := len(pods)
	start := time.Now()
	if err := p.createPods(ctx, pods); err != nil {
		return 0, 0, err
	}
	s, err := k.wait(ctx, "all raw pods run", func(s seen) bool { return s.running >= n })
	if err != nil {
		return 0, 0, err
	}
	k.finish()
	end, err := k.wait(ctx, "all raw pods have succeeded", func(s seen) bool { return s.succeeded >= n })
	return s.lastCreated.Sub(start), end.lastSucceeded.Sub(start), err
}

// life is one repetition of a row: the pods as jobs, from create to the release of the last pod, compared with the raw limit.
func (b *bench) life(ctx context.Context, r row) (sample, error) { return compare(ctx, r, b.operated) }

// floor is the same without an operator.
func (b *bench) floor(ctx context.Context, r row) (sample, error) { return compare(ctx, r, unoperated) }

// compare measures the raw limit, then a turn, and then the raw limit again, since the machine may have become slower or
// faster.
func compare(ctx context.Context, r row, turn func(context.Context, *plane, row) (sample, error)) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	if _, _, err := p.raw(ctx, "warm-up", row{jobs: 1, replicas: 200}); err != nil {
		return nil, err
	}
	created, done, err := p.raw(ctx, "raw-before", r)
	if err != nil {
		return nil, err
	}
	out, err = turn(ctx, p, r)
	if err != nil {
		return nil, err
	}
	createdAgain, doneAgain, err := p.raw(ctx, "raw-after", r)
	out["raw_created_s"] = (created + createdAgain).Seconds() / 2
	out["raw_done_s"] = (done + doneAgain).Seconds() / 2
	out["created_ratio"] = out["raw_created_s"] / out["created_s"]
	out["done_ratio"] = out["raw_done_s"] / out["done_s"]
	return out, err
}

// operated is the part of a repetition that the operator has.
func (b *bench) operated(ctx context.Context, p *plane, r row) (sample, error) {
	k, err := p.namespace(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	ends, err := p.watchEnds(ctx, r.kind, "jobs", r.jobs)
	if err != nil {
		return nil, err
	}
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return nil, err
	}
	out, err := b.liveThrough(ctx, p, o, k, ends, r)
	return out, errors.Join(err, o.stop())
}

// costs are what the operator has used and written so far.
type costs struct {
	usage
	writes map[string]int64
}

func (p *plane) costs(ctx context.Context, o *operator) (costs, error) {
	u, err := o.usage()
	if err != nil {
		return costs{}, err
	}
	w, err := p.writes(ctx)
	return costs{u, w}, err
}

func (b *bench) liveThrough(ctx context.Context, p *plane, o *operator, k *kubelet, ends *ending, r row) (sample, error) {
	before, err := p.costs(ctx, o)
	if err != nil {
		return nil, err
	}
	profiles := b.profile(ctx, p, r.name)
	n := r.jobs * r.replicas
	start := time.Now()
	if err := p.submit(ctx, r.kind, "jobs", r.jobs, r.replicas, nil); err != nil {
		return nil, err
	}
	submitted := time.Since(start)
	if _, err := k.wait(ctx, "all pods run", func(s seen) bool { return s.running >= n }); err != nil {
		return nil, err
	}
	running, err := o.usage()
	if err != nil {
		return nil, err
	}
	k.finish()
	done, err := ends.wait(ctx)
	if err != nil {
		return nil, err
	}
	s, err := k.wait(ctx, "all pods are released", func(s seen) bool { return s.succeeded >= n && s.unreleased == 0 })
	if err != nil {
		return nil, err
	}
	after, err := p.costs(ctx, o)
	if err := errors.Join(err, profiles()); err != nil {
		return nil, err
	}
	by, writes := since(before.writes, after.writes)
	logf("  %s: writes %v", r.name, by)
	pods := float64(n)
	return sample{
		"submit_s": submitted.Seconds(), "created_s": s.lastCreated.Sub(start).Seconds(), "done_s": done.Sub(start).Seconds(),
		"settle_s": done.Sub(s.lastSucceeded).Seconds(), "twice": float64(s.created - n),
		"cpu_s": (after.cpu - before.cpu).Seconds(), "start_ms_per_pod": ms(running.cpu-before.cpu) / pods,
		"finish_ms_per_pod": ms(after.cpu-running.cpu) / pods, "peak_mb": after.peak, "idle_mb": before.now,
		"writes": float64(writes), "writes_per_pod": float64(writes) / pods,
	}, nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
