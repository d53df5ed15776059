package simulator

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// grace is the grace period of running pods, in seconds.
const grace = int64(30)

// remove asks for the deletion of an object; uid and version, where given, must be right. Period is the grace period in
// seconds for pods.
func (a *api) remove(k key, uid types.UID, version string, period int64) error {
	have, err := a.current(k, uid, version)
	if err != nil {
		return err
	}
	next := have.DeepCopyObject().(client.Object)
	pod, ok := next.(*corev1.Pod)
	if !ok {
		if next.GetDeletionTimestamp() == nil {
			at := a.life.stamp()
			next.SetDeletionTimestamp(&at)
			a.store(next)
		}
		return nil
	}
	a.removePod(pod, period)
	return nil
}

// removePod is the apiserver's graceful deletion. It leaves no time to a pod that no kubelet runs any more, or yet.
func (a *api) removePod(p *corev1.Pod, period int64) {
	if p.Spec.NodeName == "" || over(p) {
		period = 0
	}
	a.life.truth.asked(p)
	if p.DeletionTimestamp != nil && period >= *p.DeletionGracePeriodSeconds {
		return
	}
	// With finalizers left the apiserver forgets when a deletion was first asked for, if the period gets shorter.
	at := metav1.NewTime(a.life.stamp().Add(time.Duration(period) * time.Second))
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &period
	a.store(p)
}

// foreground has the garbage collector delete what an object owns before the object itself.
func (a *api) foreground(k key) {
	a.edit(k, func(o client.Object) {
		if o.GetDeletionTimestamp() == nil {
			at := a.life.stamp()
			o.SetDeletionTimestamp(&at)
			o.SetFinalizers(append(o.GetFinalizers(), metav1.FinalizerDeleteDependents))
		}
	})
}

// collect is the garbage collector: it deletes one object whose owner is gone or waits for it, or lets go of an owner that
// waits for nothing any more. It reports whether there was anything to do.
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
			return a.remove(keyOf(o), o.GetUID(), "", grace) == nil
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
