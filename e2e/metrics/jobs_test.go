package metrics

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// full is a namespace whose quota has no room for a pod.
const full = "full"

// submit creates a job: replicas pods that the annotations tell how to go, of which each may restart twice.
func (r *run) submit(namespace, name string, replicas int, annotations string) *v1beta1.GenericJob {
	r.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	require.NoError(r.t, yaml.UnmarshalStrict(fmt.Appendf(nil, `replicaSpecs: [{type: worker, replicas: %d, restartPolicy: {limit: 2},
template: {metadata: {annotations: {%s}}, spec: {containers: [{name: main, image: i}]}}}]`, replicas, annotations), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
	return job
}

func (r *run) train(name string) {
	r.t.Helper()
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	require.NoError(r.t, yaml.UnmarshalStrict([]byte(`replicaSpecs: [{type: worker, replicas: 3,
template: {metadata: {annotations: {example.com/life: 6s}}, spec: {containers: [{name: tensorflow, image: i}]}}}]`), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
}

// forbidPods makes the namespace without room, and waits until that is enforced: nobody but the test writes the quota's status.
func (r *run) forbidPods() {
	r.t.Helper()
	require.NoError(r.t, r.Create(r.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: full}}))
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: full, Name: "none"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	require.NoError(r.t, r.Create(r.t.Context(), quota))
	quota.Status = corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: quota.Spec.Hard}
	require.NoError(r.t, r.Status().Update(r.t.Context(), quota))
	r.until("the quota is enforced", func() bool {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: full, Name: "probe"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
		err := r.Create(r.t.Context(), pod, client.DryRunAll)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
	})
}

// disrupt has a pod of a job go, as a scheduler does that preempts it.
func (r *run) disrupt(job *v1beta1.GenericJob) {
	r.t.Helper()
	r.until("a pod of "+job.Name+" is disrupted", func() bool {
		pods := &corev1.PodList{}
		if r.List(r.t.Context(), pods, client.InNamespace(job.Namespace), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}) != nil {
			return false
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			if p.Status.Phase != corev1.PodRunning {
				continue
			}
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
				Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "PreemptionByScheduler", LastTransitionTime: metav1.Now(),
			})
			return r.Status().Update(r.t.Context(), p) == nil && r.Delete(r.t.Context(), p) == nil
		}
		return false
	})
}

// truth is what statuses say, as the metrics name it.
func (r *run) truth() map[string]float64 {
	r.t.Helper()
	jobs, training := &v1beta1.GenericJobList{}, &v1beta1.TensorFlowTrainingJobList{}
	require.NoError(r.t, r.List(r.t.Context(), jobs))
	require.NoError(r.t, r.List(r.t.Context(), training))
	is := map[string]float64{}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		is[restarted] += float64(j.Status.BackoffCount)
		is[disrupted] += float64(j.Status.DisruptionCount)
		if j.Status.CompletionTime != nil {
			is[hasEnded]++
		}
		if metav1.GetControllerOf(j) == nil {
			is[thereAre]++
		}
	}
	is[thereAre] += float64(len(training.Items))
	return is
}

// What the processes have counted together, also those that are dead; and what the one tells that leads.
const (
	restarted = "sum(max_over_time(genericjob_restarts_total[1h]))"
	disrupted = "sum(max_over_time(genericjob_disruptions_total[1h]))"
	hasEnded  = "sum(max_over_time(genericjob_completion_duration_seconds_count[1h]))"
	thereAre  = "sum(genericjob_jobs)"
)

// agrees waits until Prometheus says what the statuses say.
func (r *run) agrees() {
	r.t.Helper()
	for query, want := range r.truth() {
		require.Positive(r.t, want, query)
		r.until(fmt.Sprintf("%s = %v", query, want), func() bool { return r.value(query) == want })
	}
}

// live has jobs of all kinds come and go, one after the other. The round is part of their names.
func (r *run) live(round string) {
	r.t.Helper()
	long := r.submit("default", "long-"+round, 4, "")
	r.submit("default", "stuck-"+round, 2, `example.com/stuck: "true"`)
	r.submit(full, "refused-"+round, 2, "")
	r.avoid("avoids-" + round)
	for i := range 5 {
		for name, annotations := range map[string]string{
			"good": "example.com/life: 5s", "error": "example.com/life: 3s, example.com/crash: Error", "memory": "example.com/life: 4s, example.com/crash: OOMKilled",
		} {
			r.submit("default", fmt.Sprintf("%s-%s-%d", name, round, i), 2, annotations)
		}
		r.train(fmt.Sprintf("training-%s-%d", round, i))
		r.except(fmt.Sprintf("excepted-%s-%d", round, i))
		failed := r.fail(fmt.Sprintf("fails-%s-%d", round, i))
		r.disrupt(long)
		r.until("it has failed", func() bool {
			return r.Get(r.t.Context(), client.ObjectKeyFromObject(failed), failed) == nil && failed.Status.Phase == v1beta1.JobFailed
		})
	}
	r.until("all have ended that do", func() bool {
		jobs, unfinished := &v1beta1.GenericJobList{}, 0
		if r.List(r.t.Context(), jobs) != nil {
			return false
		}
		for i := range jobs.Items {
			if jobs.Items[i].Status.CompletionTime == nil && strings.Contains(jobs.Items[i].Name, "-"+round+"-") {
				unfinished++
			}
		}
		return unfinished == 0 && r.value(`sum(genericjob_jobs{phase="Running"})`) >= 1
	})
}

// except creates a job whose restart a rule does not count.
func (r *run) except(name string) {
	r.t.Helper()
	job := r.job("default", name)
	require.NoError(r.t, yaml.UnmarshalStrict([]byte(`failurePolicy: {rules: [{match: {exitCodes: [1]}, action: Restart, counts: false}]}
replicaSpecs: [{type: worker, restartPolicy: {limit: 1},
template: {metadata: {annotations: {example.com/life: 2s, example.com/crash: Error}}, spec: {containers: [{name: main, image: i}]}}}]`), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
}

// avoid creates a job that goes on, and keeps off the node on which a replica has failed.
func (r *run) avoid(name string) {
	r.t.Helper()
	job := r.job("default", name)
	require.NoError(r.t, yaml.UnmarshalStrict([]byte(`avoidNodes: {after: 1}
replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, image: i}]}}}, {type: loader, restartPolicy: {limit: 1},
template: {metadata: {annotations: {example.com/life: 2s, example.com/crash: Error}}, spec: {containers: [{name: main, image: i}]}}}]`), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
}

// fail creates a job that has no restart left when its code fails.
func (r *run) fail(name string) *v1beta1.GenericJob {
	r.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	require.NoError(r.t, yaml.UnmarshalStrict([]byte(`replicaSpecs: [{type: worker,
template: {metadata: {annotations: {example.com/life: 2s, example.com/crash: Error}}, spec: {containers: [{name: main, image: i}]}}}]`), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
	return job
}

func (r *run) job(namespace, name string) *v1beta1.GenericJob {
	return &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// lines is how many an operator has logged.
func (r *run) lines(o *process) int {
	r.t.Helper()
	text, err := os.ReadFile(o.log)
	require.NoError(r.t, err)
	return strings.Count(string(text), "\n")
}

// written is how many writes of the operator's kinds the apiserver has answered.
func (r *run) written() int {
	r.t.Helper()
	c, err := kubernetes.NewForConfig(r.config)
	require.NoError(r.t, err)
	text, err := c.RESTClient().Get().AbsPath("/metrics").DoRaw(r.t.Context())
	require.NoError(r.t, err)
	sum := 0
	for _, m := range writes.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		require.NoError(r.t, err)
		sum += int(n)
	}
	require.Positive(r.t, sum)
	return sum
}
