package jobs

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/metrics"
	"github.com/genericjob/genericjob/kernel"
)

// beginning identifies a beginning of all pods of a job. All pods begin anew after a change of the run mode, after an edit before code has started,
// and in a new job attempt. The zero value is the first beginning.
type beginning struct{ modeGeneration, jobAttempt int32 }

// seesAll reports whether the plan knows all pods of the job that may run. It asks the apiserver before the first pod of a beginning is created,
// except for the first beginning.
//
// The fence proves that the job is current, but not that the pods are. An operator that has just begun to lead could start new code while a pod runs
// that its cache does not show yet. A cache never goes back, so one look for each beginning is enough.
func (r *Reconciler) seesAll(ctx context.Context, w kernel.World, actions []kernel.Action) (bool, error) {
	job := w.Job
	current, m := beginning{job.Status.ModeGeneration, job.Status.JobAttempt}, r.memory.Of(job)
	creates := slices.ContainsFunc(actions, func(a kernel.Action) bool { return a.Verb == kernel.CreatePod })
	if !creates || current == (beginning{}) || current == m.sawAll {
		return true, nil
	}
	unseen, err := r.unseenPod(ctx, w)
	if err != nil {
		return false, err
	}
	if unseen != "" {
		r.Counts.CountStopped(calls.GVKGenericJob, metrics.ByFence)
		log.FromContext(ctx).Info("no pod is created yet: the cache does not show one that may run", "pod", unseen)
		return false, nil
	}
	m.sawAll = current
	return true, nil
}

// unseenPod names a pod of the job that the apiserver has, that may run, and that was not planned with; "" if there is none.
func (r *Reconciler) unseenPod(ctx context.Context, w kernel.World) (name string, err error) {
	seen := make(map[types.UID]bool, len(w.Pods))
	for _, pod := range w.Pods {
		seen[pod.UID] = true
	}
	err = calls.PodsNotOver(ctx, r.Live, w.Job, func(p *metav1.PartialObjectMetadata) (enough bool) {
		if !seen[p.UID] {
			name = p.Name
		}
		return name != ""
	})
	if err != nil {
		return "", fmt.Errorf("look for pods of GenericJob %s/%s that run: %w", w.Job.Namespace, w.Job.Name, err)
	}
	return name, nil
}
