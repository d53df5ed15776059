package kueue

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Update is what the job tells Kueue in the status of its Workload.
type Update struct {
	// Left is how many replicas of each type have not finished: the quota of the others goes back.
	Left map[string]int
	// Ready says that all replicas that have not finished run.
	Ready bool
	// GiveBack says that the job was evicted and no pod of it is left. Its quota goes back, and Kueue queues it again.
	GiveBack bool
	// Over says that the job has finished, and that no pod of it runs. Failed says how it finished, and Message why.
	Over, Failed bool
	Message      string
}

// requeuedAfter are the reasons of evictions after which Kueue is to queue the job again at once. After other evictions Kueue decides when.
var requeuedAfter = []string{"Preempted", "NodeFailures"}

// Status returns the status of a Workload with an update in it; nil if the update is no news.
func Status(w *unstructured.Unstructured, r Update, now time.Time) map[string]any {
	next := w.DeepCopy()
	status, _, _ := unstructured.NestedMap(next.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	list := &changed{conditions: conditionsOf(next), now: now.UTC().Format(time.RFC3339), generation: w.GetGeneration()}
	s := Read(w)
	switch {
	case r.Over:
		if !s.Finished {
			reason := "Succeeded"
			if r.Failed {
				reason = "Failed"
			}
			list.set(finished, true, reason, r.Message)
		}
	case r.GiveBack:
		list.set(quotaReserved, false, "Pending", "The job was evicted, and no pod of it is left.")
		list.set(admitted, false, "NoReservation", "The workload has no reservation")
		again := slices.Contains(requeuedAfter, s.Reason)
		list.set(requeued, again, s.Reason, s.Message)
		status["admission"] = nil
		list.isNews = true
	case s.Admitted:
		list.ready(r.Ready)
		if given := reclaimable(w, r.Left); given != nil {
			status["reclaimablePods"] = given
			list.isNews = true
		}
	}
	if !list.isNews {
		return nil
	}
	status["conditions"] = list.all()
	return status
}

// Free returns for how many replicas of a type an admitted Workload still has quota: what was given back is gone.
func Free(w *unstructured.Unstructured, replicaType string) int {
	set := setOf(w, replicaType)
	return min(Read(w).Counts[replicaType], int(set.count-givenBack(w)[replicaType]))
}

// givenBack returns for how many replicas of each type quota was given back before.
func givenBack(w *unstructured.Unstructured) map[string]int64 {
	before := map[string]int64{}
	list, _, _ := unstructured.NestedSlice(w.Object, "status", "reclaimablePods")
	for _, reclaimed := range list {
		m, _ := reclaimed.(map[string]any)
		name, _ := m["name"].(string)
		before[name], _ = m["count"].(int64)
	}
	return before
}

// Reclaims reports whether an update gives quota back.
func Reclaims(w *unstructured.Unstructured, left map[string]int) bool {
	return reclaimable(w, left) != nil
}

// reclaimable returns the quota that finished replicas leave, in all; nil if that is no more than was given back before. It never shrinks.
func reclaimable(w *unstructured.Unstructured, left map[string]int) []any {
	before := givenBack(w)
	var out []any
	more := false
	for _, set := range setsOf(w) {
		n := max(before[set.name], set.count-int64(left[set.name]))
		if n > before[set.name] {
			more = true
		}
		if n > 0 {
			out = append(out, map[string]any{"name": set.name, "count": n})
		}
	}
	if !more {
		return nil
	}
	return out
}

// changed is a list of conditions that is being written.
type changed struct {
	conditions conditions
	now        string
	generation int64
	isNews     bool // a condition, or the rest of the status, has changed
}

// ready tells Kueue whether the job's pods are ready, if that is news. Kueue may evict a job whose pods are not ready in time.
func (c *changed) ready(areReady bool) {
	before := c.conditions.of(podsReady)
	switch {
	case areReady && c.conditions.isTrue(podsReady), !areReady && before != nil && before["status"] == "False":
	case areReady && c.conditions.reason(podsReady) == "WaitForRecovery":
		c.set(podsReady, true, "Recovered", "All pods are ready again.")
	case areReady:
		c.set(podsReady, true, "Started", "All pods are ready, or have succeeded.")
	case before != nil:
		c.set(podsReady, false, "WaitForRecovery", "At least one pod has failed or is gone.")
	default:
		c.set(podsReady, false, "WaitForStart", "Not all pods are ready.")
	}
}

func (c *changed) set(kind string, value bool, reason, message string) {
	status := "False"
	if value {
		status = "True"
	}
	next := map[string]any{
		"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": c.now, "observedGeneration": c.generation,
	}
	have := c.conditions.of(kind)
	if have == nil {
		c.conditions, c.isNews = append(c.conditions, next), true
		return
	}
	if have["status"] == status {
		next["lastTransitionTime"] = have["lastTransitionTime"]
	}
	if have["status"] != status || have["reason"] != reason {
		c.isNews = true
		for key, value := range next {
			have[key] = value
		}
	}
}

func (c *changed) all() []any {
	var out []any
	for _, condition := range c.conditions {
		out = append(out, condition)
	}
	return out
}
