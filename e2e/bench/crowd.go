package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// crowd is what runs in a cluster before somebody attacks it: a few large jobs of others. They are made once. Each row has a
// control plane of its own, whose etcd begins with a copy of their data.
type crowd struct {
	data string
	idle sample // of an operator that nobody attacks
	err  error  // why there is no crowd: each row would only find that out again
}

// podsOfJob is how many pods each job of the crowd has.
const podsOfJob = 500

// crowdPatience bounds how long it may take until the crowd runs.
const crowdPatience = 8 * time.Minute

// crowded makes the crowd, unless it is there, and measures an operator that has nothing else to do.
func (b *bench) crowded(ctx context.Context) (*crowd, error) {
	if b.crowd == nil {
		b.crowd = &crowd{data: filepath.Join(b.folder, "crowd")}
		b.crowd.err = b.gather(ctx, b.crowd)
	}
	return b.crowd, b.crowd.err
}

func (b *bench) gather(ctx context.Context, c *crowd) (err error) {
	start := time.Now()
	if err := errors.Join(os.RemoveAll(c.data), b.fill(ctx, c)); err != nil {
		return fmt.Errorf("run %d pods of others: %w", b.pods, err)
	}
	logf("  %d pods of others run after %s", b.pods, time.Since(start))
	if c.idle, err = b.attacked(ctx, c, nil); err != nil {
		return fmt.Errorf("measure an operator that nobody attacks: %w", err)
	}
	logf("  idle: %s", c.idle)
	return nil
}

// disperse removes the crowd.
func (b *bench) disperse() {
	if b.crowd != nil {
		_ = os.RemoveAll(b.crowd.data)
	}
}

// fill has an operator run the crowd's jobs.
func (b *bench) fill(ctx context.Context, c *crowd) (err error) {
	ctx, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	p, err := startPlaneWith(ctx, dataIn(c.data), "kubeflow")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	k, err := p.namespace(ctx, "others")
	if err != nil {
		return err
	}
	defer k.cancel()
	for i, n := range jobSizes(b.pods) {
		job := newJob(fmt.Sprint("large-", i), int32(n))
		job.Namespace = "others"
		if err := p.jobs.Create(ctx, job); err != nil {
			return err
		}
	}
	if _, err := k.wait(ctx, "the crowd runs", func(s seen) bool { return s.running >= b.pods }); err != nil {
		return err
	}
	return pause(ctx, 3*time.Second) // the statuses of jobs say so, too
}

// jobSizes are the numbers of pods of jobs that together have n.
func jobSizes(n int) (sizes []int) {
	for ; n > 0; n -= podsOfJob {
		sizes = append(sizes, min(n, podsOfJob))
	}
	return sizes
}

// start starts a control plane with a copy of the crowd's data. stop ends it, and removes the copy.
func (c *crowd) start(ctx context.Context) (p *plane, stop func() error, err error) {
	data := c.data + "-copy"
	remove := func() error { return os.RemoveAll(data) }
	if err := errors.Join(remove(), os.CopyFS(data, os.DirFS(c.data))); err != nil {
		return nil, nil, err
	}
	if p, err = startPlaneWith(ctx, dataIn(data), "kubeflow"); err != nil {
		return nil, nil, errors.Join(err, remove())
	}
	return p, func() error { return errors.Join(p.stop(), remove()) }, nil
}

// dataIn configures a control plane whose etcd has its data in a folder, and which has Kubernetes' own PodGroups.
func dataIn(folder string) func(*envtest.Environment) {
	return func(env *envtest.Environment) {
		env.ControlPlane.Etcd = &envtest.Etcd{DataDir: folder}
		env.ControlPlane.GetAPIServer().Configure().Set("feature-gates", "GenericWorkload=true").
			Set("runtime-config", "scheduling.k8s.io/v1beta1=true")
	}
}

// makeNamespaces makes those that the attacker has: one in which a quota forbids pods, and one in which he may have them.
func (p *plane) makeNamespaces(ctx context.Context) error {
	for _, name := range []string{hostileNamespace, podsNamespace} {
		if err := p.jobs.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
	}
	return p.forbidPods(ctx)
}
