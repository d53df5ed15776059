package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

const (
	// silentJobs are jobs of one pod each, whose wrapper has been stopped.
	silentJobs = 200
	// silentAddress is where all of these pods are: connections are taken, and nothing is said.
	silentAddress = "127.100.200.1"
	// longGrace, in seconds, has the operator wait for such pods for longer than the row takes.
	longGrace = 600
)

// fallSilent runs jobs that restart in place. The code of each fails once, and then the operator asks pods that do not answer.
func fallSilent(ctx context.Context, a *target) error {
	door, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("%s:%d", silentAddress, inplace.Port))
	if err != nil {
		return fmt.Errorf("play wrappers that have been stopped: %w", err)
	}
	context.AfterFunc(ctx, func() { _ = door.Close() })
	k, err := a.plane.namespace(ctx, "hostile-silent")
	if err != nil {
		return err
	}
	k.setAddress(silentAddress)
	err = inParallel(ctx, silentJobs, func(i int) error {
		job := inPlaceJob.make(fmt.Sprint("silent-", i), 1).(*v1beta1.GenericJob)
		job.Namespace = k.ns
		job.Spec.ReplicaSpecs[0].Template.Spec.TerminationGracePeriodSeconds = ptr.To[int64](longGrace)
		return a.plane.jobs.Create(ctx, job)
	})
	if err != nil {
		return err
	}
	if _, err := k.wait(ctx, "all pods run that will not answer", func(s seen) bool { return s.running >= silentJobs }); err != nil {
		return err
	}
	return k.startAllAgain(ctx)
}

func (k *kubelet) setAddress(address string) { k.address = func(string) string { return address } }

// startAllAgain has the container of each pod fail, and run again.
func (k *kubelet) startAllAgain(ctx context.Context) error {
	k.mu.Lock()
	pods := slices.Collect(maps.Values(k.pods))
	k.mu.Unlock()
	return inParallel(ctx, len(pods), func(i int) error { return startAgain(ctx, k.api, pods[i].ObjectMeta) })
}
