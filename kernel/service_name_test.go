package kernel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// taken is the refusal to create the job's Service, because somebody else's has the name.
func taken(job *v1beta1.GenericJob) kernel.Refusal {
	return kernel.Refusal{
		Action: kernel.Action{Verb: kernel.CreateService, Service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: spec.ServiceName(job)}}},
		Object: "Service job", Reason: v1beta1.ReasonNameConflict, Message: "Service exists already",
	}
}

func TestAServiceOfSomebodyElseThatHasTheJobsNameIsNoConflict(t *testing.T) {
	job, _ := blank(t, kt.WithService())
	first := plan(t, job, kt.Start)
	world := kernel.World{Job: job, Now: kt.Start}
	require.True(t, taken(job).DependsOnPods(world), "pods that the cache lacks may have the job's name already")
	d := kernel.RecordRefusals(world, first, []kernel.Refusal{taken(job)})
	other := spec.OtherServiceName(job)
	require.Equal(t, other, d.Status.ServiceName)
	require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked))
	require.Equal(t, []string{"Started", "ServiceNamed"}, []string{d.Events[0].Reason, d.Events[1].Reason})
	require.Contains(t, d.Events[1].Message, "called "+other)

	job = after(job, d)
	next := plan(t, job, kt.At(1))
	require.Equal(t, other, next.Actions[0].Service.Name)
	pod := kernel.NewPodBuilder(job, kt.Settings).Pod(next.Actions[1])
	require.Equal(t, other, pod.Spec.Subdomain)
	require.Contains(t, pod.Spec.DNSConfig.Searches, other+"."+job.Namespace+".svc.cluster.local")
	require.Equal(t, other, next.Status.ServiceName, "it stays, whatever becomes of the other Service")

	again := kernel.RecordRefusals(kernel.World{Job: job, Now: kt.At(1)}, kernel.Decision{}, []kernel.Refusal{taken(job)})
	require.Equal(t, other, again.Status.ServiceName, "there is no third name")
	require.Equal(t, v1beta1.ReasonNameConflict, condition(again.Status, v1beta1.ConditionBlocked).Reason)
}

// Pods carry the name of the Service: those of two names would not find each other.
func TestTheNameOfTheServiceDoesNotChangeUnderPods(t *testing.T) {
	with := func(change func(*v1beta1.GenericJobStatus)) *v1beta1.GenericJob {
		job := kt.Job(kt.Type("worker", 2), kt.WithService(), kt.Begun)
		change(&job.Status)
		return job
	}
	as := func(*v1beta1.GenericJobStatus) {}
	for name, tc := range map[string]struct {
		job  *v1beta1.GenericJob
		pods []*corev1.Pod
		live bool // there is a pod that the cache does not show
		own  bool // the Service is the job's own, and its labels were edited
		want bool
	}{
		"the job has had no pod":        {job: with(as), want: true},
		"one is there":                  {job: with(as), pods: kt.Pods(with(as), "worker", 1)},
		"one is there, live":            {job: with(as), live: true},
		"an outcome is recorded":        {job: with(func(s *v1beta1.GenericJobStatus) { s.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "1"}} })},
		"all have been replaced":        {job: with(func(s *v1beta1.GenericJobStatus) { s.JobAttempt = 1 })},
		"it was paused when it had run": {job: with(func(s *v1beta1.GenericJobStatus) { s.PauseCount = 1 })},
		"it is the job's own Service":   {job: with(as), own: true},
		"it runs":                       {job: with(func(s *v1beta1.GenericJobStatus) { s.Phase = v1beta1.JobRunning })},
	} {
		t.Run(name, func(t *testing.T) {
			r := taken(tc.job)
			r.Accepted, r.Edited = tc.live, tc.own
			w := kernel.World{Job: tc.job, Pods: tc.pods, Now: kt.Start}
			d := kernel.RecordRefusals(w, kernel.Decision{}, []kernel.Refusal{r})
			require.Equal(t, tc.want, d.Status.ServiceName != "")
			require.Equal(t, tc.want, r.DependsOnPods(w))
			require.Equal(t, !tc.want, condition(d.Status, v1beta1.ConditionBlocked).Reason == v1beta1.ReasonNameConflict)
		})
	}
}

func TestTheOtherNameOfAServiceIsOneThatDNSTakes(t *testing.T) {
	job := kt.Job()
	job.Name = strings.Repeat("a", 59) // with <job>-w-0 it is 63
	require.Len(t, spec.OtherServiceName(job), 63)
	twin := job.DeepCopy()
	twin.UID = "another"
	require.NotEqual(t, spec.OtherServiceName(job), spec.OtherServiceName(twin))
}
