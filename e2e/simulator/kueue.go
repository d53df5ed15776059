package simulator

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/kueue"
)

// kindWorkload is what Kueue knows a job by.
const kindWorkload = "Workload"

// flavor is the name of the one resource flavor in which Kueue admits, and the value of the node label pool that it asks for.
const flavor = "spot"

// kueue is what Kueue and its admins do in one step: they admit, evict, switch off and on, delete, and take the flavor away.
func (l *Life) kueue() {
	t := l.tape
	l.meddleWithFlavor()
	for _, o := range l.api.all(kindWorkload) {
		w := o.(*unstructured.Unstructured)
		switch s := kueue.Read(w); {
		case s.Terminating, s.Finished, isOnItsWayOut(s):
		case s.Inactive && t.Due(8):
			l.activate(w, true)
		case s.Inactive:
		case !s.Reserves && t.Due(4):
			l.admit(w)
		case s.Admitted && t.Chance(40):
			l.evictWorkload(w, pickOf(t, "Preempted", "PodsReadyTimeout", "NodeFailures"))
		case t.Chance(75):
			l.meddleWithKueue(w, s)
		}
	}
}

// meddleWithFlavor deletes the flavor, or makes it again.
func (l *Life) meddleWithFlavor() {
	if len(l.api.all(kindWorkload)) > 0 && l.tape.Chance(50) {
		l.say("somebody makes ResourceFlavor %s: %v", flavor, l.noFlavor)
		l.noFlavor = !l.noFlavor
	}
}

// isOnItsWayOut reports whether Kueue waits for a job to give its quota back.
func isOnItsWayOut(s kueue.State) bool { return s.Evicted && s.Reserves && !s.Inactive }

// meddleWithKueue is what admins do to a Workload.
func (l *Life) meddleWithKueue(w *unstructured.Unstructured, s kueue.State) {
	if l.tape.Chance(2) {
		l.say("somebody deletes %s", keyOf(w))
		l.truth.recordOf(metav1.GetControllerOf(w).UID).evicted = true
		_ = l.api.remove(keyOf(w), w.GetUID(), unsaid)
		return
	}
	l.activate(w, false)
	if s.Reserves {
		l.evictWorkload(w, "Deactivated")
	}
}

// kueueCalm admits what waits, in a flavor that is there.
func (l *Life) kueueCalm() {
	l.noFlavor = false
	for _, o := range l.api.all(kindWorkload) {
		w := o.(*unstructured.Unstructured)
		switch s := kueue.Read(w); {
		case s.Terminating || s.Finished:
		case s.Inactive:
			l.activate(w, true)
		case !s.Reserves:
			l.admit(w)
		}
	}
}

func (l *Life) activate(w *unstructured.Unstructured, on bool) {
	l.say("somebody switches %s: %v", keyOf(w), on)
	l.api.edit(keyOf(w), func(o client.Object) { o.(*unstructured.Unstructured).Object["spec"].(map[string]any)["active"] = on })
}

func (l *Life) admit(w *unstructured.Unstructured) {
	l.say("Kueue: admits %s", keyOf(w))
	l.editStatus(w, func(status map[string]any) {
		sets, _, _ := unstructured.NestedSlice(w.Object, "spec", "podSets")
		given := map[any]int64{}
		back, _, _ := unstructured.NestedSlice(w.Object, "status", "reclaimablePods")
		for _, one := range back {
			given[one.(map[string]any)["name"]] = one.(map[string]any)["count"].(int64)
		}
		var assignments []any
		for _, one := range sets {
			set := one.(map[string]any)
			assignments = append(assignments, map[string]any{"name": set["name"], "count": set["count"].(int64) - given[set["name"]],
				"flavors": map[string]any{"cpu": flavor}})
		}
		status["admission"] = map[string]any{"podSetAssignments": assignments}
		setIn(status, "QuotaReserved", "True", "QuotaReserved")
		setIn(status, "Admitted", "True", "Admitted")
		setIn(status, "Evicted", "False", "QuotaReserved")
	})
}

func (l *Life) evictWorkload(w *unstructured.Unstructured, reason string) {
	l.say("Kueue: evicts %s: %s", keyOf(w), reason)
	l.truth.recordOf(metav1.GetControllerOf(w).UID).evicted = true
	l.editStatus(w, func(status map[string]any) { setIn(status, "Evicted", "True", reason) })
}

func (l *Life) editStatus(w *unstructured.Unstructured, change func(map[string]any)) {
	l.api.edit(keyOf(w), func(o client.Object) {
		status, _, _ := unstructured.NestedMap(o.(*unstructured.Unstructured).Object, "status")
		if status == nil {
			status = map[string]any{}
		}
		change(status)
		o.(*unstructured.Unstructured).Object["status"] = status
	})
}

func setIn(status map[string]any, kind, value, reason string) {
	next := map[string]any{"type": kind, "status": value, "reason": reason}
	list, _ := status["conditions"].([]any)
	i := slices.IndexFunc(list, func(o any) bool { return o.(map[string]any)["type"] == kind })
	if i < 0 {
		list = append(list, next)
	} else {
		list[i] = next
	}
	status["conditions"] = list
}

// Patch is a merge patch of the status of a Workload.
func (w *statusWriter) Patch(ctx context.Context, o client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	raw, err := patch.Data(o)
	if err != nil {
		return err
	}
	var body struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Status map[string]any `json:"status"`
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		return err
	}
	k, l := keyOf(o), w.operator.life
	return w.operator.write(ctx, "status", "writes status of "+k.String()+": "+string(raw), o, func() error {
		have, err := l.api.current(k, "", body.Metadata.ResourceVersion)
		if err != nil {
			return err
		}
		l.editStatus(have.(*unstructured.Unstructured), func(status map[string]any) {
			for field, value := range body.Status {
				if status[field] = whole(value); value == nil {
					delete(status, field)
				}
			}
		})
		l.truth.reported(have.(*unstructured.Unstructured), l.api.get(k).(*unstructured.Unstructured))
		return nil
	})
}

// whole makes whole numbers of those that JSON knows.
func whole(value any) any {
	switch v := value.(type) {
	case float64:
		return int64(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = whole(v[key])
		}
	}
	return value
}

// placed checks that a job which is admitted has no more pods of a type than it has quota for.
func (t *truth) placed(p *corev1.Pod, job *v1beta1.GenericJob) {
	if job.Status.Queue != nil && !t.life.writer.admitted {
		t.violated("a pod without admission", "%s", p.Name)
	}
	if job.Status.Queue != nil && p.Spec.NodeSelector["pool"] != flavor {
		t.violated("a pod goes to nodes for which it was not admitted", "%s: %v", p.Name, p.Spec.NodeSelector)
	}
	if t.overtaken(job.ResourceVersion, t.recordOf(job.UID).writer) {
		t.raced[p.UID] = true // the call was under way when somebody else went ahead
		return
	}
	replicaType := p.Labels[v1beta1.LabelReplicaType]
	n := t.using(job, replicaType)
	for _, o := range t.life.api.all(kindWorkload) {
		w := o.(*unstructured.Unstructured)
		if free := kueue.Free(w, replicaType); metav1.IsControlledBy(w, job) && kueue.Read(w).Admitted && n > free {
			t.violated("more pods than quota", "%d of %d, with %s", n, free, p.Name)
		}
	}
}

// using is how many pods of a type use quota of the job's, but for those that came late, which nobody can keep from coming.
func (t *truth) using(job *v1beta1.GenericJob, replicaType string) int {
	n := 0
	for _, p := range t.life.api.pods() {
		late := t.late[p.UID] || t.raced[p.UID]
		if metav1.IsControlledBy(p, job) && p.Labels[v1beta1.LabelReplicaType] == replicaType && !over(p) && !late {
			n++
		}
	}
	return n
}

// reported checks that the job gives its quota back only when no pod uses it any more.
func (t *truth) reported(was, is *unstructured.Unstructured) {
	before, after := kueue.Read(was), kueue.Read(is)
	job := t.life.api.jobByUID(metav1.GetControllerOf(was).UID)
	switch {
	case before.Reserves == after.Reserves && before.Finished == after.Finished:
		return
	case t.life.tooLate, job != nil && t.overtaken(job.ResourceVersion, t.recordOf(job.UID).writer):
		t.recordOf(metav1.GetControllerOf(was).UID).evicted = true // the call was under way when somebody else went ahead
		return
	}
	for _, p := range t.life.api.pods() {
		if ref := metav1.GetControllerOf(p); ref.UID == metav1.GetControllerOf(is).UID && !over(p) && !t.late[p.UID] && !t.raced[p.UID] {
			t.violated("quota is given away in use", "%s is %s", p.Name, p.Status.Phase)
		}
	}
}

// workloadDeleted checks the same of a Workload that the operator deletes.
func (t *truth) workloadDeleted(o client.Object) {
	if w, ok := o.(*unstructured.Unstructured); ok && w.GetKind() == kindWorkload && kueue.Read(w).Reserves {
		gone := w.DeepCopy()
		delete(gone.Object, "status")
		t.reported(w, gone)
	}
}

// evictionsHeard checks that no evicted job has kept its quota, unless it is over and has left pods that run.
func (t *truth) evictionsHeard() {
	for _, o := range t.life.api.all(kindWorkload) {
		s := kueue.Read(o.(*unstructured.Unstructured))
		if s.Evicted && s.Reserves && !s.Terminating && !s.Finished && !t.leftRunning(o) {
			t.violated("an eviction is not heard", "%s: %s", o.GetName(), s.Reason)
		}
	}
}

// leftRunning reports whether the job of a Workload is over, and has left a pod that runs, as its cleanUpPolicy asks for.
func (t *truth) leftRunning(workload client.Object) bool {
	job := t.life.api.jobByUID(metav1.GetControllerOf(workload).UID)
	return job != nil && job.Status.CompletionTime != nil && slices.ContainsFunc(t.life.api.pods(), func(p *corev1.Pod) bool {
		return metav1.IsControlledBy(p, job) && !over(p)
	})
}

// checkQuota: a job that is over, and of which no pod runs, holds no quota.
func (t *truth) checkQuota(job *v1beta1.GenericJob) {
	for _, o := range t.life.api.all(kindWorkload) {
		live := func(p *corev1.Pod) bool { return !over(p) }
		if s := kueue.Read(o.(*unstructured.Unstructured)); job.Status.CompletionTime != nil && !s.Finished && !s.Terminating &&
			metav1.IsControlledBy(o, job) && !slices.ContainsFunc(t.life.api.pods(), live) {
			t.violated("quota is held after the end", "%s at %s", o.GetName(), t.life.now.Format(time.TimeOnly))
		}
	}
}
