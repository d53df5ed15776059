package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// jaxJob is the kind that e2e/extension serves in Go and deploy/frameworks/jax by a definition. Both make the same GenericJobs.
var jaxJob = kind{
	make: func(name string, replicas int32) client.Object {
		job := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"replicas": int64(replicas),
			"template": map[string]any{"spec": map[string]any{"containers": []any{
				map[string]any{"name": "jax", "image": "i", "command": []any{"python", "/train.py"}},
			}}},
		}}}
		job.SetAPIVersion("frameworks.example.com/v1alpha1")
		job.SetKind("JAXJob")
		job.SetName(name)
		return job
	},
	list: func() client.ObjectList {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("frameworks.example.com/v1alpha1")
		list.SetKind("JAXJobList")
		return list
	},
	phase: func(o client.Object) v1beta1.JobPhase {
		phase, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "status", "phase")
		return v1beta1.JobPhase(phase)
	},
}

// defined is one repetition of a row: jobs of a kind that a definition serves. It is compared with the same jobs of the same
// kind under a translator in Go, which another operator has.
func (b *bench) defined(ctx context.Context, r row) (sample, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	folder, err := filepath.Abs(b.folder)
	if err != nil {
		return nil, err
	}
	inGo := *b
	inGo.manager = filepath.Join(folder, "jax-operator")
	build := exec.CommandContext(ctx, "go", "build", "-o", inGo.manager, ".") // #nosec G204 -- a file of ours
	build.Dir = filepath.Join(root, "e2e", "extension")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the operator of e2e/extension: %w\n%s", err, text)
	}
	plain, err := inGo.jax(ctx, root, r)
	if err != nil {
		return nil, err
	}
	b.starts = inGo.starts
	out, err := b.jax(ctx, root, r, "framework.yaml")
	if err != nil {
		return nil, err
	}
	out["go_cpu_s"], out["go_peak_mb"] = plain["cpu_s"], plain["peak_mb"]
	out["cpu_ratio"] = out["cpu_s"] / plain["cpu_s"]
	return out, nil
}

// jax is the life of the jobs of a row in a control plane that has their kind, and these files of the catalog.
func (b *bench) jax(ctx context.Context, root string, r row, files ...string) (out sample, err error) {
	p, err := startPlane(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	const folder = "frameworks/jax"
	for _, file := range append([]string{"crd.yaml"}, files...) {
		if err := p.apply(ctx, filepath.Join(root, "deploy", folder, file)); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(p.grant(ctx, folder+"/roles.yaml"), p.serves(ctx, r.kind)); err != nil {
		return nil, err
	}
	k, err := p.namespace(ctx, "jobs")
	if err != nil {
		return nil, err
	}
	defer k.cancel()
	o, err := b.startOperator(ctx, p)
	if err != nil {
		return nil, err
	}
	if err := o.waitForWorkers(ctx, controllersOfManager+1); err != nil {
		return nil, errors.Join(err, o.stop())
	}
	ends, err := p.watchEnds(ctx, r.kind, "jobs", r.jobs)
	if err != nil {
		return nil, errors.Join(err, o.stop())
	}
	out, err = b.liveThrough(ctx, p, o, k, ends, r)
	return out, errors.Join(err, o.stop())
}

// serves waits until the apiserver serves a kind whose CRD was made a moment ago.
func (p *plane) serves(ctx context.Context, k kind) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for p.jobs.List(ctx, k.list()) != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the kind: %w", ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// apply creates the object of a file.
func (p *plane) apply(ctx context.Context, file string) error {
	text, err := os.ReadFile(file) // #nosec G304 -- a file of ours
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &o.Object); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return p.jobs.Create(ctx, o)
}
