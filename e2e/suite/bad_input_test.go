package suite_test

import (
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

func imageThatCannotBePulled(s *space) {
	job := s.submit("unpulled", `{replicaSpecs: [
		{type: master, template: {spec: {containers: [{name: main, image: "localhost:1/absent:dev"}]}}},
		{type: worker, template: `+pod("obey")+`}]}`)
	stuck := s.await("unpulled", "the image is told", func(j *v1beta1.GenericJob) bool {
		c := condition(j, v1beta1.ConditionReplicaFailure)
		return c.Status == metav1.ConditionTrue && (c.Reason == "ErrImagePull" || c.Reason == "ImagePullBackOff")
	})
	name := spec.PodName(job, "master", 0)
	require.Contains(s.t, condition(stuck, v1beta1.ConditionReplicaFailure).Message, "Pod["+name+"] cannot start: container main: ")
	require.Contains(s.t, condition(stuck, v1beta1.ConditionReplicaFailure).Message, "correct the image's name in the manifest")
	running := condition(stuck, v1beta1.ConditionRunning)
	require.Equal(s.t, metav1.ConditionFalse, running.Status)
	require.Contains(s.t, running.Message, "Waiting for replica master-0: container main: ")
	s.awaitEvent(job, corev1.EventTypeWarning, "Pod["+name+"] cannot start")
	s.othersGoOn()
	require.NoError(s.t, s.Delete(s.ctx, s.job("unpulled")))
	s.awaitGone(job)
	s.awaitPods(job)
}

func silentSchedulerIsTold(s *space) {
	template := strings.Replace(pod("exit 0"), `{"spec": {`, `{"spec": {"schedulerName": "nobody", `, 1)
	s.submit("unheard", `{replicaSpecs: [{type: worker, replicas: 2, template: `+template+`}]}`)
	require.Contains(s.t, s.awaitBlocked("unheard", v1beta1.ReasonSchedulerSilent), `the scheduler "nobody" has reported nothing about it`)
	s.othersGoOn()
	s.edit("unheard", func(spec *v1beta1.GenericJobSpec) {
		spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	s.awaitPhase("unheard", v1beta1.JobPaused)
	s.edit("unheard", func(spec *v1beta1.GenericJobSpec) {
		spec.ReplicaSpecs[0].Template.Spec.SchedulerName = ""
		spec.RunMode.Pause.Enabled = false
	})
	done := s.awaitPhase("unheard", v1beta1.JobSucceeded)
	require.Empty(s.t, condition(done, v1beta1.ConditionBlocked))
}

func strangersService(s *space) {
	ofStranger := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "taken"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "theirs"}},
	}
	require.NoError(s.t, s.Create(s.ctx, ofStranger))
	s.submit("taken", `{service: {}, replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	done := s.awaitPhase("taken", v1beta1.JobSucceeded)
	require.NotEmpty(s.t, done.Status.ServiceName)
	require.Empty(s.t, condition(done, v1beta1.ConditionBlocked).Reason)
	require.NoError(s.t, s.Get(s.ctx, keyOf(ofStranger), ofStranger))
	require.Equal(s.t, map[string]string{"app": "theirs"}, ofStranger.Spec.Selector)
	s.othersGoOn()
}

// strangersPod pauses its job first, because the name of the pod follows from the job's UID.
func strangersPod(s *space) {
	job := s.submit("squatted", `{runMode: {pause: {enabled: true}}, replicaSpecs: [{type: worker, replicas: 2, template: `+pod("exit 0")+`}]}`)
	s.awaitPhase("squatted", v1beta1.JobPaused)
	ofStranger := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: spec.PodName(job, "worker", 0)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "theirs", Image: image, ImagePullPolicy: corev1.PullNever, Args: []string{"obey"}},
		}},
	}
	require.NoError(s.t, s.Create(s.ctx, ofStranger))
	s.edit("squatted", func(spec *v1beta1.GenericJobSpec) { spec.RunMode.Pause.Enabled = false })
	message := s.awaitBlocked("squatted", v1beta1.ReasonNameConflict)
	require.Contains(s.t, message, "Pod "+s.ns+"/"+ofStranger.Name+" exists already: it is left alone")
	s.awaitEvent(job, corev1.EventTypeWarning, v1beta1.ReasonNameConflict)
	s.othersGoOn()
	have := &corev1.Pod{}
	require.NoError(s.t, s.Get(s.ctx, keyOf(ofStranger), have))
	require.Equal(s.t, ofStranger.UID, have.UID)
	require.Nil(s.t, have.DeletionTimestamp)
	require.NoError(s.t, s.Delete(s.ctx, ofStranger))
	s.awaitPhase("squatted", v1beta1.JobSucceeded)
}

func exceededQuota(s *space) {
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "small"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	require.NoError(s.t, s.Create(s.ctx, quota))
	s.until("the quota is in force", func() bool {
		require.NoError(s.t, s.Get(s.ctx, keyOf(quota), quota))
		return len(quota.Status.Hard) > 0
	})
	job := s.submit("crowded", `{replicaSpecs: [{type: worker, replicas: 4, template: `+pod("obey")+`}]}`)
	message := s.awaitBlocked("crowded", v1beta1.ReasonCreateFailed)
	require.Contains(s.t, message, "exceeded quota: small")
	require.Contains(s.t, message, "The operator keeps trying")
	s.awaitEvent(job, corev1.EventTypeWarning, "exceeded quota: small")
	s.await("crowded", "two pods run", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "2/4" })

	require.NoError(s.t, s.Get(s.ctx, keyOf(quota), quota))
	quota.Spec.Hard[corev1.ResourcePods] = resource.MustParse("4")
	require.NoError(s.t, s.Update(s.ctx, quota))
	job = s.awaitRunning("crowded", "4/4")
	s.await("crowded", "no longer blocked", func(j *v1beta1.GenericJob) bool {
		return condition(j, v1beta1.ConditionBlocked).Reason == ""
	})
	for rank := range 4 {
		s.end(job, "worker", rank, 0)
	}
	s.awaitPhase("crowded", v1beta1.JobSucceeded)
	s.requireRuns(job, "worker", 1, 1, 1, 1)
}

func refusedTemplate(s *space) {
	job := s.submit("refused", `{service: {}, replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [
		{name: main, image: `+image+`, volumeMounts: [{name: absent, mountPath: /data}]}]}}}]}`)
	s.requireInvalid(job, `spec.containers[0].volumeMounts[0].name: Not found: "absent"`)
	s.othersGoOn()
}

func unknownVariable(s *space) {
	job := s.submit("misnamed", `{replicaSpecs: [{type: worker, template: `+pod("print $(replicas[ps])")+`}]}`)
	s.requireInvalid(job, `container main: $(replicas[ps]) names type "ps": want one of [worker]`)
	known := s.submit("named", `{replicaSpecs: [{type: ps, template: `+pod("exit 0")+`}, {type: worker, replicas: 2, template: `+
		pod("print $(type) $(rank) $(index) $(replicas[worker]) $(RANK) $(UNKNOWN) $$(rank)")+`}]}`)
	s.awaitPhase("named", v1beta1.JobSucceeded)
	require.Equal(s.t, "worker 1 2 2 1 $(UNKNOWN) $(rank)\n", s.logs(known, "worker", 1))
}

// requireInvalid demands that a job failed because of its spec, says so, and has no pod.
func (s *space) requireInvalid(job *v1beta1.GenericJob, words string) {
	s.t.Helper()
	failed := condition(s.awaitPhase(job.Name, v1beta1.JobFailed), v1beta1.ConditionFailed)
	require.Equal(s.t, v1beta1.ReasonInvalidSpec, failed.Reason)
	require.Contains(s.t, failed.Message, words)
	s.awaitEvent(job, corev1.EventTypeWarning, v1beta1.ReasonInvalidSpec)
	require.Empty(s.t, s.pods(job))
}
