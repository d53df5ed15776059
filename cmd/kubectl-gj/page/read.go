package page

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/kernel/spec"
)

// eventsRead is how many events of an object are read at once.
const eventsRead = 500

// Read reads what there is to know of a job beyond its family. Events and logs only add to a page: who may not read them gets it without. Pods is
// nil where no log is to be read.
func Read(ctx context.Context, c client.Reader, pods typedcorev1.PodInterface, f *jobs.Family, now time.Time) (*Input, error) {
	in := &Input{Family: f, Now: now}
	if f.GenericJob != nil {
		in.History = f.GenericJob.Status.History
	}
	for _, uid := range f.EventUIDs() {
		events, err := eventsAbout(ctx, c, f.Job.GetNamespace(), uid)
		if err != nil {
			return nil, fmt.Errorf("list the events of %s: %w", f.Title(), err)
		}
		in.Events = append(in.Events, events...)
	}
	in.Events = once(in.Events)
	if pods != nil && f.GenericJob != nil {
		in.Steps = readSteps(ctx, pods, f)
	}
	return in, nil
}

// eventsAbout returns the events about an object, as far as they may be read. The apiserver lists the oldest first, and a page shows the last ones:
// so all are read.
func eventsAbout(ctx context.Context, c client.Reader, namespace string, uid types.UID) (all []corev1.Event, err error) {
	for list := (&corev1.EventList{}); ; {
		err := c.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{"involvedObject.uid": string(uid)},
			client.Limit(eventsRead), client.Continue(list.Continue))
		switch {
		case apierrors.IsForbidden(err), apierrors.IsResourceExpired(err): // they take too long to read
			return all, nil
		case err != nil:
			return nil, err
		}
		if all = append(all, list.Items...); list.Continue == "" {
			return all, nil
		}
	}
}

// once leaves out what is said of a training job in the same words as of its GenericJob. Operators before v0.2.0 said most events of both.
func once(list []corev1.Event) (out []corev1.Event) {
	type said struct {
		reason, message string
		at              int64
	}
	seen := map[said]bool{}
	for _, e := range list {
		key := said{e.Reason, e.Message, jobs.HappenedAt(&e).Unix()}
		if !seen[key] {
			seen[key] = true
			out = append(out, e)
		}
	}
	return out
}

// readSteps reads the steps in the log of the replica that tells them, the run before the present one first. It returns nil if the code tells
// none, or if there is no such log.
func readSteps(ctx context.Context, pods typedcorev1.PodInterface, f *jobs.Family) *Steps {
	line := spec.Progress(&f.GenericJob.Spec)
	if line == nil {
		return nil
	}
	pod := telling(f, line.Last)
	if pod == nil {
		return nil
	}
	steps := &Steps{Replica: jobs.Replica(pod)}
	status := containerOf(pod)
	if status.RestartCount > 0 {
		steps.readLog(ctx, pods, pod, line, true)
	}
	steps.readLog(ctx, pods, pod, line, false)
	return steps
}

// readLog adds what one log tells. A log that cannot be read tells nothing.
func (s *Steps) readLog(ctx context.Context, pods typedcorev1.PodInterface, pod *corev1.Pod, line *spec.ProgressLine, previous bool) {
	limit := int64(mostRead)
	stream, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{Container: logs.Main(pod), Timestamps: true, Previous: previous, LimitBytes: &limit}).Stream(ctx)
	if err != nil {
		return
	}
	defer stream.Close()
	log := &io.LimitedReader{R: stream, N: mostRead}
	if s.Add(log, line) != nil {
		return
	}
	s.Cut = s.Cut || log.N <= 0
}

// telling returns the pod of the lowest replica whose code has started, or of the highest, where the last rank prints; nil without one.
func telling(f *jobs.Family, last bool) *corev1.Pod {
	auxiliary := map[string]bool{}
	for i := range f.GenericJob.Spec.ReplicaSpecs {
		r := &f.GenericJob.Spec.ReplicaSpecs[i]
		auxiliary[r.Type] = r.Auxiliary
	}
	list := slices.Clone(f.Pods)
	if last {
		slices.Reverse(list)
	}
	for _, pod := range list {
		replicaType, _ := jobs.Rank(pod)
		if c := containerOf(pod); c != nil && !auxiliary[replicaType] && (c.State.Running != nil || c.State.Terminated != nil) {
			return pod
		}
	}
	return nil
}
