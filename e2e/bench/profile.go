package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// adminUser is whom -serve gives a kubeconfig to.
var adminUser = envtest.User{Name: "bench", Groups: []string{"system:masters"}}

// profileAddress is where the manager serves its profiles while it is profiled.
const profileAddress = "127.0.0.1:8642"

// profile begins CPU profiles of the manager and of the apiserver, if that is asked for. The function that it returns ends
// them and takes a heap profile of the manager, too.
func (b *bench) profile(ctx context.Context, p *plane, name string) func() error {
	if !b.profiled {
		return func() error { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 2)
	start := time.Now()
	go func() { done <- b.fetch(ctx, name+".cpu", "profile?seconds=8") }()
	go func() {
		text, err := p.pods.RESTClient().Get().AbsPath("/debug/pprof/profile").Param("seconds", "8").DoRaw(ctx)
		done <- errors.Join(err, os.WriteFile(filepath.Join(b.folder, name+".apiserver"), text, 0o644))
	}()
	return func() error {
		defer cancel()
		heap := b.fetch(ctx, name+".heap", "heap")
		allocated := b.fetch(ctx, name+".allocs", "allocs")
		logf("  %s: profiled %s", name, time.Since(start))
		return errors.Join(heap, allocated, <-done, <-done)
	}
}

func (b *bench) fetch(ctx context.Context, file, what string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+profileAddress+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("profile of the manager: %s", response.Status)
	}
	out, err := os.Create(filepath.Join(b.folder, file))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, response.Body)
	return errors.Join(err, out.Close())
}
