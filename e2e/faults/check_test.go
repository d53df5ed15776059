package faults_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// leftover is what there is of one job.
type leftover struct {
	pods, services, configMaps, jobs, roots []client.Object
}

// leftovers sorts what there is by job.
func leftovers(all []client.Object) map[string]*leftover {
	jobs := map[string]*leftover{}
	for _, o := range all {
		name := o.GetName()
		owner := metav1.GetControllerOf(o)
		if owner != nil {
			name = owner.Name
		}
		if jobs[name] == nil {
			jobs[name] = &leftover{}
		}
		l := jobs[name]
		switch o.GetObjectKind().GroupVersionKind().Kind {
		case "Pod":
			l.pods = append(l.pods, o)
		case "Service":
			l.services = append(l.services, o)
		case "ConfigMap":
			l.configMaps = append(l.configMaps, o)
		case v1beta1.KindGenericJob:
			l.jobs = append(l.jobs, o)
		default:
			l.roots = append(l.roots, o)
		}
	}
	delete(jobs, "kube-root-ca.crt")
	return jobs
}

// problems are all differences between what there is and what there should be.
func (w *world) problems(ctx context.Context) []string {
	all, err := w.everything(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	jobs := leftovers(all)
	w.truth.mu.Lock()
	defer w.truth.mu.Unlock()
	var list []string
	for _, name := range slices.Sorted(keys(w.truth.fates)) {
		f, l := w.truth.fates[name], jobs[name]
		if l == nil {
			l = &leftover{}
		}
		for _, problem := range w.truth.compare(f, l) {
			list = append(list, fmt.Sprintf("%s (%s %s): %s", name, f.kind, f.shape, problem))
		}
		delete(jobs, name)
	}
	for name := range jobs {
		list = append(list, fmt.Sprintf("something of %q, which is no job, is there", name))
	}
	return list
}

func keys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// compare finds what is wrong with one job.
func (t *truth) compare(f *fate, l *leftover) []string {
	if f.leaves || f.expires {
		var list []string
		if n := len(l.pods) + len(l.services) + len(l.configMaps) + len(l.jobs) + len(l.roots); n > 0 {
			list = append(list, fmt.Sprintf("it is deleted, but there are %d pods, %d Services, %d ConfigMaps, %d GenericJobs, %d jobs",
				len(l.pods), len(l.services), len(l.configMaps), len(l.jobs), len(l.roots)))
		}
		if f.expires {
			status := t.last[f.name]
			list = append(list, t.compareStatus(f, &status)...)
		}
		return list
	}
	if len(l.jobs) != 1 {
		return []string{fmt.Sprintf("there are %d GenericJobs", len(l.jobs))}
	}
	job := l.jobs[0].(*v1beta1.GenericJob)
	list := t.compareStatus(f, &job.Status)
	if f.kind != v1beta1.KindGenericJob {
		list = append(list, compareRoot(f, l)...)
	}
	if want := map[bool]int{true: 1}[f.service]; len(l.services) != want {
		list = append(list, fmt.Sprintf("there are %d Services, want %d", len(l.services), want))
	}
	if want := map[bool]int{true: 1}[len(f.replicas) > 64]; len(l.configMaps) != want {
		list = append(list, fmt.Sprintf("there are %d ConfigMaps, want %d", len(l.configMaps), want))
	}
	return append(list, t.comparePods(f, l.pods)...)
}

func (t *truth) compareStatus(f *fate, s *v1beta1.GenericJobStatus) []string {
	var list []string
	if s.Phase != f.phase {
		list = append(list, fmt.Sprintf("phase %s, want %s", s.Phase, f.phase))
	}
	if int(s.BackoffCount) != f.backoff() {
		list = append(list, fmt.Sprintf("backoffCount %d, want %d", s.BackoffCount, f.backoff()))
	}
	if want := t.disruptionsOf(f); int(s.DisruptionCount) != want {
		list = append(list, fmt.Sprintf("disruptionCount %d, want %d", s.DisruptionCount, want))
	}
	for _, task := range s.Tasks {
		if int(task.RestartCount) != f.restarts[task.Type] {
			list = append(list, fmt.Sprintf("restartCount of %s %d, want %d", task.Type, task.RestartCount, f.restarts[task.Type]))
		}
	}
	if f.whole && int(s.JobAttempt) != f.backoff()+t.disruptionsOf(f) {
		list = append(list, fmt.Sprintf("attempt %d, want %d", s.JobAttempt, f.backoff()+t.disruptionsOf(f)))
	}
	return list
}

// compareRoot looks at what a framework's job shows.
func compareRoot(f *fate, l *leftover) []string {
	if len(l.roots) != 1 {
		return []string{fmt.Sprintf("there are %d %ss", len(l.roots), f.kind)}
	}
	root := l.roots[0].(*unstructured.Unstructured)
	phase, _, _ := unstructured.NestedString(root.Object, "status", "phase")
	if !strings.HasPrefix(f.api, "kubeflow") {
		if phase != string(f.phase) {
			return []string{fmt.Sprintf("%s shows phase %s, want %s", f.kind, phase, f.phase)}
		}
		return nil
	}
	conditions, _, _ := unstructured.NestedSlice(root.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == string(f.phase) && c["status"] == "True" {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s shows conditions %v, want %s", f.kind, conditions, f.phase)}
}

// comparePods finds pods that should not be there, and those that are missing.
func (t *truth) comparePods(f *fate, pods []client.Object) []string {
	var list []string
	have := map[string]bool{}
	for _, o := range pods {
		pod := o.(*corev1.Pod)
		have[replicaOf(pod)] = true
		over := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		_, ghost := t.suspects[pod.UID]
		switch {
		case ghost && !over:
			list = append(list, fmt.Sprintf("pod %s is %s, though the attempt had another pod before", pod.Name, pod.Status.Phase))
		case slices.Contains(pod.Finalizers, v1beta1.FinalizerTracking):
			list = append(list, fmt.Sprintf("pod %s has our finalizer", pod.Name))
		case pod.DeletionTimestamp != nil:
			list = append(list, fmt.Sprintf("pod %s is still terminating", pod.Name))
		case f.policy == v1beta1.CleanUpAll, f.policy == v1beta1.CleanUpUnfinished && !over:
			list = append(list, fmt.Sprintf("pod %s is %s, but the clean-up policy is %s", pod.Name, pod.Status.Phase, f.policy))
		}
	}
	for _, name := range f.replicas {
		r := t.replicas[f.name+"/"+name]
		script := f.script(name)
		finished := len(r.done) > 0 && !f.whole && script[len(script)-1] == 0
		if f.policy == v1beta1.CleanUpNone && finished && r.drains == 0 && !have[name] {
			list = append(list, fmt.Sprintf("the pod of %s is gone, but nobody had it deleted", name))
		}
	}
	return list
}

// wrongs are what must never have been: code that ran again, and pods that were created twice, or when their job was over.
// Pods that lost a race, which no operator can exclude, are counted.
func (t *truth) wrongs() (list []string, lost int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	list = slices.Clone(t.violations)
	for uid, what := range t.suspects {
		if t.races.isLost(uid) {
			lost++
		} else {
			list = append(list, what)
		}
	}
	for uid, b := range t.created {
		end := t.finished[b.job]
		switch {
		case end == 0 || b.revision <= end:
		case t.races.isLost(uid):
			lost++
		default:
			list = append(list, fmt.Sprintf("%s: a pod of %s was created at revision %d, but the job was over at %d", b.job, b.pod, b.revision, end))
		}
	}
	slices.Sort(list)
	return list, lost
}
