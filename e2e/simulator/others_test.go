package simulator

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// foreground is a user's deletion that waits for what the object owns.
func foreground(*Tape) step {
	return step{"user: delete in the foreground", func(s *stage) error {
		if o := s.now(); o != nil {
			return s.foreground(s.ctx, o)
		}
		return nil
	}}
}

// does is an act of somebody who has just read the object.
func does(say string, status bool, change func(client.Object) bool) step {
	return step{say, func(s *stage) error {
		o := s.now()
		if o == nil {
			return nil
		}
		next := o.DeepCopyObject().(client.Object)
		if !change(next) || equality.Semantic.DeepEqual(o, next) {
			return nil
		}
		return s.edit(s.ctx, o, status, func(o client.Object) { change(o) })
	}}
}

func hold(*Tape) step {
	return does("user: add a finalizer", false, func(o client.Object) bool {
		o.SetFinalizers(append(o.GetFinalizers(), "example.com/user"))
		return o.GetDeletionTimestamp() == nil && len(o.GetFinalizers()) < 3
	})
}

func strip(*Tape) step {
	return does("user: strip of finalizers", false, func(o client.Object) bool {
		had := len(o.GetFinalizers()) > 0
		o.SetFinalizers(nil)
		return had
	})
}

func userAnnotates(t *Tape) step {
	value := pickOf(t, "a", "b")
	return does("user: annotate with "+value, false, func(o client.Object) bool {
		o.SetAnnotations(map[string]string{"user": value})
		return true
	})
}

// kubelet is an act of the kubelet on a pod that has a node.
func kubelet(say string, change func(*corev1.Pod) bool) step {
	return does("kubelet: "+say, true, func(o client.Object) bool {
		p := o.(*corev1.Pod)
		return p.Spec.NodeName != "" && change(p)
	})
}

func runs(*Tape) step {
	return kubelet("the pod runs", func(p *corev1.Pod) bool {
		if p.Status.Phase != corev1.PodPending {
			return false
		}
		at := metav1.NewTime(start)
		p.Status.Phase, p.Status.StartTime, p.Status.PodIP = corev1.PodRunning, &at, "192.0.2.1"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{runningStatus("main")}
		return true
	})
}

func ends(t *Tape) step {
	code := pickOf(t, int32(0), 1)
	return kubelet(fmt.Sprintf("the code ends with exit code %d", code), func(p *corev1.Pod) bool {
		if p.Status.Phase != corev1.PodRunning {
			return false
		}
		p.Status.Phase = map[int32]corev1.PodPhase{0: corev1.PodSucceeded, 1: corev1.PodFailed}[code]
		p.Status.ContainerStatuses[0] = ended(p, code, metav1.NewTime(start))[0]
		return true
	})
}

func touches(t *Tape) step {
	ip := pickOf(t, "192.0.2.7", "192.0.2.8")
	return kubelet("hostIP "+ip, func(p *corev1.Pod) bool {
		p.Status.HostIP = ip
		return true
	})
}

// confirm is how the kubelet ends a graceful deletion.
func confirm(*Tape) step {
	return step{"kubelet: confirm the deletion", func(s *stage) error {
		o := s.now()
		if o == nil || o.GetDeletionTimestamp() == nil || o.(*corev1.Pod).Spec.NodeName == "" {
			return nil
		}
		uid := o.GetUID()
		return s.client().Delete(s.ctx, s.handle(), client.Preconditions{UID: &uid}, client.GracePeriodSeconds(0))
	}}
}

func bind(*Tape) step {
	return step{"scheduler: bind", func(s *stage) error {
		p, ok := s.now().(*corev1.Pod)
		if !ok || p.Spec.NodeName != "" || p.DeletionTimestamp != nil {
			return nil
		}
		return s.bind(s.ctx, p, nodes[0])
	}}
}
