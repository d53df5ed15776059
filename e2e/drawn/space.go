package drawn

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/kernel/spec"
)

// Labels are those of the job's namespace: Pod Security admits no more than the job's pods ask for.
func (j *Job) Labels() map[string]string {
	level := "baseline"
	if j.User == Restricted {
		level = "restricted"
	}
	return map[string]string{"pod-security.kubernetes.io/enforce": level}
}

// Restrictions are the objects that restrict the job's namespace.
func (j *Job) Restrictions(namespace string) (list []client.Object) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "team"}
	if j.Space == Limits {
		list = append(list, &corev1.LimitRange{ObjectMeta: meta, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{
			Type: corev1.LimitTypeContainer, DefaultRequest: resources("20m", "32Mi"), Default: resources("1", "256Mi"), Max: resources("2", "512Mi"),
		}}}})
	}
	if j.Space != "" {
		list = append(list, &corev1.ResourceQuota{ObjectMeta: meta, Spec: corev1.ResourceQuotaSpec{Hard: j.room()}})
	}
	return list
}

// room is a quota for all pods of the job, at the time at which it has the most. If it is tight, it is one for all but one pod.
func (j *Job) room() corev1.ResourceList {
	n := int64(j.Size())
	for _, t := range j.Types {
		if t.Auxiliary {
			n += int64(t.Replicas)
		}
	}
	if j.Fault.Kind == Scale {
		n += int64(max(0, j.Fault.To-j.typeOf(j.Fault.Type).Replicas))
	}
	if j.Space == Tight {
		n--
	}
	pod := j.pod(&j.Types[0])
	for _, list := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range list {
			list[i].Resources.Requests, list[i].Resources.Limits = resources("20m", "32Mi"), resources("1", "256Mi")
		}
	}
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(n, resource.DecimalSI)}
	for name, each := range spec.Requests(&pod) {
		each.Mul(n)
		hard["requests."+name] = each
	}
	for _, list := range [][]corev1.Container{pod.Containers, pod.InitContainers} {
		for i := range list {
			list[i].Resources.Requests = list[i].Resources.Limits
		}
	}
	for name, each := range spec.Requests(&pod) {
		each.Mul(n)
		hard["limits."+name] = each
	}
	return hard
}
