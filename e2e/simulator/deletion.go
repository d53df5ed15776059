package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grace is the grace period of running pods that name none, in seconds.
const grace = int64(30)

// unsaid stands for a deletion that names no grace period: the pod's own counts.
const unsaid = int64(-1)

// remove asks for the deletion of an object; uid, where given, must be right. Period is the grace period in seconds for pods.
func (a *api) remove(k key, uid types.UID, period int64) error {
	return a.removeAs(k, uid, "", period, "")
}

// foreground has the garbage collector delete what an object owns before the object itself.
func (a *api) foreground(k key) {
	_ = a.removeAs(k, "", "", unsaid, metav1.DeletePropagationForeground)
}

// removeAs is remove for one version, where given, and with a propagation policy.
func (a *api) removeAs(k key, uid types.UID, version string, period int64, policy metav1.DeletionPropagation) error {
	have, err := a.current(k, uid, version)
	if err != nil {
		return err
	}
	next := have.DeepCopyObject().(client.Object)
	pod, ok := next.(*corev1.Pod)
	if ok {
		a.life.truth.asked(pod)
		if pod.DeletionTimestamp != nil && *pod.DeletionGracePeriodSeconds > 0 {
			a.hasten(pod, period, policy)
			return nil
		}
		period = periodOf(pod, period)
	} else {
		period = 0
	}
	propagate(next, policy)
	left, had := len(next.GetFinalizers()), len(have.GetFinalizers())
	switch {
	case next.GetDeletionTimestamp() == nil:
		a.terminating(next, period)
	case left == had:
		return nil
	case left == 0 && version != "":
		return conflict(k, "the apiserver has mislaid the resourceVersion of what waited for what it owns")
	}
	a.store(next)
	return nil
}

// propagate sets the finalizers that a propagation policy asks for.
func propagate(o client.Object, policy metav1.DeletionPropagation) {
	if policy == "" {
		return
	}
	o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
	if policy == metav1.DeletePropagationForeground {
		o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
}

// periodOf is the grace period of a pod. The apiserver leaves no time to a pod that no kubelet runs any more, or yet.
func periodOf(p *corev1.Pod, period int64) int64 {
	switch own := p.Spec.TerminationGracePeriodSeconds; {
	case p.Spec.NodeName == "" || over(p):
		return 0
	case period == unsaid && own != nil:
		return *own
	case period == unsaid:
		return grace
	}
	return period
}

// terminating has an object be one that is being deleted. To the apiserver that is an edit.
func (a *api) terminating(o client.Object, period int64) {
	at := metav1.NewTime(a.life.stamp().Add(time.Duration(period) * time.Second))
	o.SetDeletionTimestamp(&at)
	o.SetDeletionGracePeriodSeconds(&period)
	if o.GetGeneration() > 0 {
		o.SetGeneration(o.GetGeneration() + 1)
	}
}

// hasten is a deletion of a pod whose deletion leaves it time: that can only become shorter.
func (a *api) hasten(p *corev1.Pod, period int64, policy metav1.DeletionPropagation) {
	was := *p.DeletionGracePeriodSeconds
	if period == unsaid || period >= was {
		return
	}
	at := metav1.NewTime(p.DeletionTimestamp.Add(time.Duration(period-was) * time.Second))
	if now := a.life.stamp(); at.Before(&now) {
		at, period = now, min(period, 1)
	}
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &period
	propagate(p, policy)
	a.store(p)
}

// collect is the garbage collector. It deletes one object whose owner is gone or waits for it, or lets go of an owner that waits for nothing any
// more. It reports whether there was anything to do.
func (a *api) collect() bool {
	owners, owns := map[types.UID]client.Object{}, map[types.UID]bool{}
	all := a.sorted()
	for _, o := range all {
		owners[o.GetUID()] = o
		if ref := metav1.GetControllerOf(o); ref != nil {
			owns[ref.UID] = true
		}
	}
	if a.unprotect() {
		return true
	}
	for _, o := range all {
		ref := metav1.GetControllerOf(o)
		if ref != nil && o.GetDeletionTimestamp() == nil && (owners[ref.UID] == nil || waits(owners[ref.UID])) {
			a.life.say("garbage collector: deletes %s", keyOf(o))
			return a.remove(keyOf(o), o.GetUID(), unsaid) == nil
		}
		if waits(o) && !owns[o.GetUID()] {
			a.life.say("garbage collector: lets go of %s", keyOf(o))
			a.edit(keyOf(o), func(o client.Object) {
				o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(f string) bool { return f == metav1.FinalizerDeleteDependents }))
			})
			return true
		}
	}
	return false
}

// waits reports whether the deletion of an object waits for what it owns.
func waits(o client.Object) bool {
	return slices.Contains(o.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

func (a *api) sorted() []client.Object {
	var list []client.Object
	for _, kind := range append(slices.Clone(a.life.kinds), kindPodGroup) {
		list = append(list, a.all(kind)...)
	}
	return list
}
