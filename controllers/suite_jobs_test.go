package controllers_test

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// try creates a job from the YAML of its spec.
func (c *cluster) try(name, spec string) (*v1beta1.GenericJob, error) {
	c.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "POD", onePod)), &job.Spec))
	return job, c.Create(c.ctx, job)
}

// onePod is the template that POD stands for in a job's YAML.
const onePod = "{spec: {containers: [{name: main, image: busybox}]}}"

func (c *cluster) submit(name, spec string) *v1beta1.GenericJob {
	c.t.Helper()
	job, err := c.try(name, spec)
	require.NoError(c.t, err)
	return job
}

// job reads a job live.
func (c *cluster) job(name string) *v1beta1.GenericJob {
	c.t.Helper()
	job := &v1beta1.GenericJob{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job))
	return job
}

// edit changes a job's spec, again and again until no status write comes between.
func (c *cluster) edit(name string, change func(*v1beta1.GenericJobSpec)) {
	c.t.Helper()
	require.NoError(c.t, c.tryEdit(name, change))
}

// tryEdit is edit that may be refused.
func (c *cluster) tryEdit(name string, change func(*v1beta1.GenericJobSpec)) error {
	c.t.Helper()
	for {
		job := c.job(name)
		change(&job.Spec)
		if err := c.Update(c.ctx, job); !apierrors.IsConflict(err) {
			return err
		}
	}
}

// pods lists a job's pods by name.
func (c *cluster) pods(job *v1beta1.GenericJob) map[string]corev1.Pod {
	c.t.Helper()
	list := &corev1.PodList{}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(c.ns), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}))
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Labels[v1beta1.LabelReplicaType]+"-"+pod.Labels[v1beta1.LabelReplicaRank]] = pod
	}
	return pods
}

func (c *cluster) names(job *v1beta1.GenericJob) []string {
	var names []string
	for name := range c.pods(job) {
		names = append(names, name)
	}
	return names
}

// await waits until a job's status is as asked for, and returns the job. If that never comes, it prints what came.
func (c *cluster) await(name string, ask func(*v1beta1.GenericJob) bool) *v1beta1.GenericJob {
	c.t.Helper()
	end := time.Now().Add(patience)
	for {
		job := c.job(name)
		if ask(job) {
			return job
		}
		if time.Now().After(end) {
			text, _ := yaml.Marshal(job.Status)
			require.FailNow(c.t, "the job did not get there", "%s of %s:\n%s\nevents: %v", name, c.ns, text, c.told(job))
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *cluster) awaitPhase(name string, phase v1beta1.JobPhase) *v1beta1.GenericJob {
	c.t.Helper()
	return c.await(name, func(j *v1beta1.GenericJob) bool { return j.Status.Phase == phase })
}

// awaitCondition waits until a condition is True for a reason.
func (c *cluster) awaitCondition(name string, t v1beta1.JobConditionType, reason string) (*v1beta1.GenericJob, v1beta1.JobCondition) {
	c.t.Helper()
	job := c.await(name, func(j *v1beta1.GenericJob) bool {
		have := condition(j, t)
		return have.Status == metav1.ConditionTrue && have.Reason == reason
	})
	return job, condition(job, t)
}

func condition(job *v1beta1.GenericJob, t v1beta1.JobConditionType) v1beta1.JobCondition {
	for _, c := range job.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return v1beta1.JobCondition{}
}

// told lists the events about a job, as "Warning Reason: note".
func (c *cluster) told(job client.Object) []string {
	c.t.Helper()
	list := &eventsv1.EventList{}
	namespace := c.ns
	if job.GetNamespace() == "" { // a definition
		namespace = metav1.NamespaceDefault
	}
	require.NoError(c.t, c.List(c.ctx, list, client.InNamespace(namespace)))
	var told []string
	for _, e := range list.Items {
		if e.Regarding.UID == job.GetUID() {
			told = append(told, e.Type+" "+e.Reason+": "+e.Note)
		}
	}
	return told
}

// awaitEvent waits until an event begins so and holds these words.
func (c *cluster) awaitEvent(job client.Object, begin string, words ...string) {
	c.t.Helper()
	c.until(begin+" "+strings.Join(words, ", "), func() bool {
		for _, e := range c.told(job) {
			found := strings.HasPrefix(e, begin)
			for _, w := range words {
				found = found && strings.Contains(e, w)
			}
			if found {
				return true
			}
		}
		return false
	})
}
