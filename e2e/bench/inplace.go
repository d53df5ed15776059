package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// quietInPlace bounds how long rows inplace-* look at a job in which nothing happens.
const quietInPlace = time.Minute

// inPlaceJob is a GenericJob in which one failure has all replicas begin again in their pods.
var inPlaceJob = kind{
	make: func(name string, replicas int32) client.Object {
		job := wholeJob.make(name, replicas).(*v1beta1.GenericJob)
		job.Spec.RestartStrategy = v1beta1.RestartInPlace
		return job
	},
	list: genericJob.list, phase: genericJob.phase,
}

// inPlace is a row in which the code of one rank fails, and all are told to stop and to go on. The bench plays the wrappers, which stop
// and start at once: what is left is what the operator needs.
func (b *bench) inPlace(ctx context.Context, r row) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	k, err := p.namespace(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	w, err := startWrappers(ctx, p, "jobs")
	if err != nil {
		return nil, err
	}
	defer w.stop()
	k.address = w.address
	o, err := b.startOperator(ctx, p, "-wrapper-image=localhost/wrapper:none")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	if err := p.submit(ctx, r.kind, "jobs", 1, r.replicas, nil); err != nil {
		return nil, err
	}
	if _, err := k.wait(ctx, "all pods run", func(s seen) bool { return s.running >= r.replicas }); err != nil {
		return nil, err
	}
	out = sample{}
	if err := b.quietly(ctx, p, o, out, "quiet_writes_before"); err != nil {
		return nil, err
	}
	if err := b.failInPlace(ctx, p, o, w, r, out); err != nil {
		return nil, err
	}
	out["twice"] = float64(w.seen() - r.replicas)
	return out, b.quietly(ctx, p, o, out, "quiet_writes")
}

// failInPlace has the code of one pod fail, and measures until all pods were told to go on.
func (b *bench) failInPlace(ctx context.Context, p *plane, o *operator, w *wrappers, r row, out sample) error {
	before, err := p.costs(ctx, o)
	if err != nil {
		return err
	}
	profiles := b.profile(ctx, p, r.name)
	start := time.Now()
	if err := w.failOne(ctx); err != nil {
		return err
	}
	t, err := w.wait(ctx, r.replicas)
	if err := errors.Join(err, profiles()); err != nil {
		return err
	}
	after, err := p.costs(ctx, o)
	if err != nil {
		return err
	}
	by, writes := since(before.writes, after.writes)
	logf("  %s: writes %v", r.name, by)
	out["first_told_s"], out["told_s"] = t.firstTold.Sub(start).Seconds(), t.lastTold.Sub(start).Seconds()
	out["tell_s"], out["go_s"] = t.lastTold.Sub(t.firstTold).Seconds(), t.lastGo.Sub(start).Seconds()
	out["goes_s"] = t.lastGo.Sub(t.firstGo).Seconds()
	out["writes_per_pod"] = float64(writes) / float64(r.replicas)
	out["cpu_s"], out["peak_mb"] = (after.cpu - before.cpu).Seconds(), after.peak
	return nil
}

// quietly counts the writes of a job in which nothing happens.
func (b *bench) quietly(ctx context.Context, p *plane, o *operator, out sample, name string) error {
	if err := pause(ctx, 10*time.Second); err != nil { // the last writes of what has just happened
		return err
	}
	before, err := p.costs(ctx, o)
	if err != nil {
		return err
	}
	if err := pause(ctx, min(b.quietFor, quietInPlace)); err != nil {
		return err
	}
	after, err := p.costs(ctx, o)
	if err != nil {
		return err
	}
	by, writes := since(before.writes, after.writes)
	if writes > 0 {
		logf("  quiet, but for %s", fmt.Sprint(by))
	}
	out[name] = float64(writes)
	return nil
}
