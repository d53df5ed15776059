package kubeflow

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// counts returns how many replicas of each type run, have succeeded and have failed. It works for a job that cannot be compiled, too.
func (k *kind) counts(job string, specs map[string]*kubeflow.ReplicaSpec, s *v1beta1.GenericJobStatus) map[string]*kubeflow.ReplicaStatus {
	out := map[string]*kubeflow.ReplicaStatus{}
	running := s.Aggregate.Running
	for _, title := range k.types {
		for _, key := range slices.Sorted(maps.Keys(specs)) {
			if !strings.EqualFold(key, title) || specs[key] == nil || out[title] != nil {
				continue
			}
			name := strings.ToLower(title)
			c := countOf(s, name, ptr.Deref(specs[key].Replicas, 1), running)
			running -= c.Active
			if k.selectors {
				c.Selector = kubeflow.LabelJobName + "=" + job + "," + kubeflow.LabelOperatorName + "=" + k.operator + "," +
					kubeflow.LabelReplicaType + "=" + name
			}
			out[title] = c
		}
	}
	return out
}

// countOf counts the replicas of a type. The status of a large job does not list its replicas. Then the ledger says which have finished, and only the
// number of all that run is known. It is divided among the types in their order, which is exact once all run.
func countOf(s *v1beta1.GenericJobStatus, name string, n, running int32) *kubeflow.ReplicaStatus {
	c := &kubeflow.ReplicaStatus{}
	i := slices.IndexFunc(s.Tasks, func(t v1beta1.TaskStatus) bool { return t.Type == name })
	if i < 0 {
		return c
	}
	if rows := s.Tasks[i].Replicas; int32(len(rows)) >= n {
		for _, r := range rows {
			switch r.Phase {
			case v1beta1.ReplicaRunning:
				c.Active++
			case v1beta1.ReplicaSucceeded:
				c.Succeeded++
			case v1beta1.ReplicaFailed:
				c.Failed++
			default:
			}
		}
		return c
	}
	for _, l := range s.Ledger {
		if l.Type == name {
			c.Succeeded, c.Failed = ranksIn(l.Succeeded), ranksIn(l.Failed)
		}
	}
	c.Active = max(0, min(running, n-c.Succeeded-c.Failed))
	return c
}

// countsAtSuccess returns the counts of a job that has succeeded, and whose clean-up deletes pods that still run. Kubeflow's own operator counts replicas as
// succeeded that were active at the end, and clients wait for that count. So replicas count that were active in the status that is shown, or are in
// the new one. After that the counts stay, however those replicas end.
func countsAtSuccess(shown *kubeflow.JobStatus, now map[string]*kubeflow.ReplicaStatus, s *v1beta1.GenericJobStatus) map[string]*kubeflow.ReplicaStatus {
	if phaseOf(shown) == v1beta1.JobSucceeded {
		return shown.ReplicaStatuses
	}
	for title, c := range now {
		total := c.Active + c.Succeeded + c.Failed
		done := c.Active + c.Succeeded
		if before := shown.ReplicaStatuses[title]; before != nil {
			total = max(total, before.Active+before.Succeeded+before.Failed)
			done = max(done, before.Active+before.Succeeded)
		}
		failed := int32(0) // for good; others may have failed because they were told to stop
		for _, l := range s.Ledger {
			if l.Type == strings.ToLower(title) {
				failed = ranksIn(l.Failed)
			}
		}
		c.Succeeded = min(done, total-failed)
		c.Failed = min(c.Failed, total-c.Succeeded)
		c.Active = 0
	}
	return now
}

// ranksIn returns the number of ranks in intervals as the ledger writes them: "0-3,7".
func ranksIn(intervals string) int32 {
	total := 0
	for _, part := range strings.Split(intervals, ",") {
		first, last, isRange := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			continue
		}
		to := from
		if isRange {
			to, _ = strconv.Atoi(last)
		}
		total += max(0, to-from+1)
	}
	return int32(total)
}

// countsAsRunning reports whether Kubeflow would call the job running: its chief, master or launcher runs. In a job without these any worker has to
// run, and in a job without workers any replica.
func countsAsRunning(specs map[string]*kubeflow.ReplicaSpec, counts map[string]*kubeflow.ReplicaStatus) bool {
	for _, title := range []string{kubeflow.TFChief, kubeflow.TFMaster, v2beta1.MPILauncher, kubeflow.TFWorker} {
		for key, spec := range specs {
			if strings.EqualFold(key, title) && spec != nil && counts[title] != nil && ptr.Deref(spec.Replicas, 1) > 0 {
				return counts[title].Active > 0
			}
		}
	}
	for _, c := range counts {
		if c.Active > 0 {
			return true
		}
	}
	return false
}

// begun reports whether any replica has started.
func begun(counts map[string]*kubeflow.ReplicaStatus) bool {
	for _, c := range counts {
		if c.Active+c.Succeeded+c.Failed > 0 {
			return true
		}
	}
	return false
}
