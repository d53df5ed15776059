package simulator

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// jobName is the name of the job, and of every job that a user makes in its place.
const jobName = "job"

// apply is kubectl apply of a new job.
func (l *Life) apply() {
	job := l.newJob()
	job.SetName(jobName)
	job.SetNamespace(namespace)
	l.prebuild(job)
	if err := l.api.create(job); err == nil {
		l.say("a user creates %s: %s", keyOf(job), specOf{job})
	}
}

// newJob is what a user creates.
func (l *Life) newJob() client.Object {
	if l.miniature != nil {
		return l.miniature.job()
	}
	return l.user.draw(l.tape)
}

// users do their worst to young jobs.
func (l *Life) users() {
	t := l.tape
	if l.isPrebuilt() && t.Chance(10) {
		l.unbuild()
	}
	if l.framework != nil && t.Chance(4) {
		l.tidyUp()
		l.editOwned()
	}
	if t.Chance(25) || l.isYoung() && t.choose(6, 0) == 5 {
		l.meddle()
	}
}

// meddle is what users do now and then.
func (l *Life) meddle() {
	k := key{l.user.kind, jobName}
	job := l.api.get(k)
	if job == nil {
		l.apply()
		return
	}
	toggle := func(mode func(client.Object) *bool) {
		l.editJob(k, func(o client.Object) { *mode(o) = !*mode(o) })
	}
	switch n := l.tape.choose(32, 0, 10, 15, 23, 26, 27, 29, 30, 31); {
	case n < 10:
		toggle(l.user.pause)
	case n < 15:
		toggle(l.user.debug)
	case n < 23:
		l.scale(k, job)
	case n < 26:
		l.editTemplate(k, job)
	case n < 27:
		l.editStart(k, job)
	case n < 29:
		l.say("a user deletes the job")
		_ = l.api.remove(k, "", 0)
	case n < 30:
		l.say("a user deletes the job, and waits for what it owns")
		l.api.foreground(k)
	case n < 31:
		l.say("a user deletes the GenericJob of that name")
		_ = l.api.remove(key{v1beta1.KindGenericJob, jobName}, "", 0)
	default:
		l.say("a user deletes the Services")
		for _, s := range l.api.all(kindService) {
			_ = l.api.remove(keyOf(s), "", 0)
		}
	}
}

// isYoung reports whether the job has just been created, and may have no status yet.
func (l *Life) isYoung() bool {
	job := l.api.get(key{l.user.kind, jobName})
	return job != nil && l.now.Sub(job.GetCreationTimestamp().Time) < 4*time.Second
}

// editTemplate changes what the replicas of a GenericJob run. The CRD allows that before the first status, before code has started, and in a
// pause.
func (l *Life) editTemplate(k key, o client.Object) {
	job, plain := o.(*v1beta1.GenericJob)
	if !plain || job.Status.Phase != "" && job.Status.Phase != v1beta1.JobPaused && job.Status.UnstartedSpec == "" {
		return
	}
	l.editJob(k, func(o client.Object) {
		for i := range o.(*v1beta1.GenericJob).Spec.ReplicaSpecs {
			o.(*v1beta1.GenericJob).Spec.ReplicaSpecs[i].Template.Spec.Containers[0].Args = []string{fmt.Sprint("version ", job.Generation)}
		}
	})
}

// tidyUp is a user who deletes a GenericJob because it has finished, though its training job does not say so yet.
func (l *Life) tidyUp() {
	k := key{v1beta1.KindGenericJob, jobName}
	job, parent := l.api.get(k), l.truth.parent()
	if job == nil || parent == nil || job.(*v1beta1.GenericJob).Status.CompletionTime == nil || l.truth.phaseOf(parent).IsFinal() {
		return
	}
	l.say("a user deletes the GenericJob, which has finished")
	_ = l.api.remove(k, "", 0)
}

// meddlesIn is what others do to any pod. It reports whether to leave the pod alone then, for it may be gone.
func (l *Life) meddlesIn(p *corev1.Pod) bool {
	if l.tape.Chance(20) {
		l.touch(p)
	}
	if strips := l.strips && len(p.Finalizers) > 0 && l.tape.Chance(40); !strips {
		return false
	}
	l.strip(p)
	return true
}

// strip takes all finalizers off a pod, as a user does who has had enough of one that stays Terminating.
func (l *Life) strip(p *corev1.Pod) {
	l.say("a user strips %s of its finalizers", keyOf(p))
	l.truth.stripped(p)
	l.change(p, func(p *corev1.Pod) { p.Finalizers = nil })
}

func (l *Life) scale(k key, job client.Object) {
	if n := len(l.user.replicas(job)); n > 0 {
		i, to := l.tape.Pick(n), int32(1+l.tape.Pick(4))
		l.editJob(k, func(o client.Object) { *l.user.replicas(o)[i] = to })
	}
}

// editJob is a user's edit of the spec.
func (l *Life) editJob(k key, edit func(client.Object)) {
	have := l.api.get(k)
	if have == nil || have.GetDeletionTimestamp() != nil {
		return
	}
	next := have.DeepCopyObject().(client.Object)
	edit(next)
	if l.api.update(next, false) == nil {
		l.say("a user edits %s: %s", k, specOf{l.api.get(k)})
	}
}

// calmUsers end all modes, so that the job can finish.
func (l *Life) calmUsers() {
	k := key{l.user.kind, jobName}
	if job := l.api.get(k); job != nil {
		l.editJob(k, func(o client.Object) {
			*l.user.pause(o), *l.user.debug(o) = false, false
			askForNamed(o)
		})
	}
}

// kindsOf are the kinds of objects in a life, owners before what they own.
func kindsOf(user *trained) []string {
	kinds := []string{v1beta1.KindGenericJob, kindPod, kindService, kindConfigMap, "Deployment", "HorizontalPodAutoscaler", kindWorkload}
	if !slices.Contains(kinds, user.kind) {
		kinds = append([]string{user.kind}, kinds...)
	}
	return kinds
}
