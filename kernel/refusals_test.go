package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/status"
)

// A quota that wants requests is not short of anything: nothing can be freed.
func TestAQuotaThatWantsRequestsSaysToSetThem(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	const says = "failed quota: team: must specify limits.cpu for: main; requests.cpu for: main"
	refusal := kernel.Refusal{Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod x", Reason: v1beta1.ReasonCreateFailed, Message: says}
	d := kernel.RecordRefusals(kernel.World{Job: job, Now: kt.Start}, kernel.Decision{}, []kernel.Refusal{refusal})
	require.Equal(t, "The apiserver refuses to create Pod x: "+says+". The operator keeps trying, but the quota takes only pods that say what they need: "+
		"set these requests and limits in each container of the template, and apply it again.", condition(d.Status, v1beta1.ConditionBlocked).Message)
}

func TestReport(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	const keeps = ". The operator keeps trying. "
	tests := map[string]struct {
		verb kernel.Verb
		want string
	}{
		v1beta1.ReasonNameConflict:  {kernel.CreatePod, "no: it is left alone, as it may be somebody else's. Delete it, and the job goes on by itself; or give the job another name."},
		v1beta1.ReasonCreateFailed:  {kernel.CreatePod, "The apiserver refuses to create Pod x: no" + keeps + "Free what is short, have the policy or webhook changed that is in the way, or pause or delete the job."},
		v1beta1.ReasonCreateInvalid: {kernel.CreatePod, "The apiserver refuses to create Pod x: no. Correct the field in spec and create the job again."},
		v1beta1.ReasonRefused:       {kernel.ReleasePod, "The apiserver refuses to take the finalizer off Pod x: no" + keeps + "Have the policy, webhook or role changed that is in the way."},
	}
	for reason, tc := range tests {
		t.Run(reason, func(t *testing.T) {
			refusal := kernel.Refusal{Action: kernel.Action{Verb: tc.verb, Type: "worker"}, Object: "Pod x", Reason: reason, Message: "no"}
			world := kernel.World{Job: job, Now: kt.Start}
			d := kernel.RecordRefusals(world, kernel.Decision{}, []kernel.Refusal{refusal})
			blocked := condition(d.Status, v1beta1.ConditionBlocked)
			require.Equal(t, tc.want, blocked.Message)
			require.Equal(t, metav1.ConditionTrue, blocked.Status)
			require.Equal(t, []kernel.Event{{Warning: true, Reason: reason, Message: tc.want}}, d.Events)
			require.Empty(t, condition(job.Status, v1beta1.ConditionBlocked), "Report changed the job")

			told := after(job, d)
			refusal.Object = "Pod y"
			again := kernel.RecordRefusals(kernel.World{Job: told, Now: kt.At(time.Hour)}, kernel.Decision{}, []kernel.Refusal{refusal})
			require.Equal(t, told.Status, again.Status, "it is told once")
			require.Empty(t, again.Events)

			if reason == v1beta1.ReasonCreateInvalid {
				return
			}
			going := kt.Pod(told, "worker", 0)
			going.DeletionTimestamp = &metav1.Time{Time: kt.At(time.Minute)}
			lasts := map[string][]*corev1.Pod{v1beta1.ReasonRefused: {going}}[reason]
			d = plan(t, told, kt.At(time.Minute), lasts...)
			require.NotEmpty(t, condition(d.Status, v1beta1.ConditionBlocked), "there is still something to do")
			d = plan(t, told, kt.At(time.Minute), kt.Pod(told, "worker", 0))
			require.Empty(t, condition(d.Status, v1beta1.ConditionBlocked), "all is done")
		})
	}
}

// Who made it is known, and what to do is said.
func TestAnObjectOfTheJobsOwnIsNotSaidToBeSomebodyElses(t *testing.T) {
	refusal := kernel.Refusal{Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod x", Reason: v1beta1.ReasonNameConflict,
		Edited: true, Message: "Pod x exists already, but somebody has changed a label: put it back"}
	d := kernel.RecordRefusals(kernel.World{Job: kt.Job(kt.Type("worker", 1), kt.Begun), Now: kt.Start}, kernel.Decision{}, []kernel.Refusal{refusal})
	require.Equal(t, refusal.Message+".", condition(d.Status, v1beta1.ConditionBlocked).Message)
}

func TestOfSeveralRefusalsTheGravestIsTold(t *testing.T) {
	job := kt.Job(kt.Type("worker", 1), kt.Begun)
	list := []kernel.Refusal{
		{Action: kernel.Action{Verb: kernel.DeletePod}, Object: "Pod a", Reason: v1beta1.ReasonRefused},
		{Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod b", Reason: v1beta1.ReasonCreateFailed},
		{Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod c", Reason: v1beta1.ReasonNameConflict, Message: "c"},
		{Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod d", Reason: v1beta1.ReasonCreateInvalid},
	}
	for n := range list {
		d := kernel.RecordRefusals(kernel.World{Job: job, Now: kt.Start}, kernel.Decision{}, list[:n+1])
		require.Equal(t, list[n].Reason, condition(d.Status, v1beta1.ConditionBlocked).Reason)
	}
}

// A policy or a webhook that comes later must not fail what ran before.
func TestWhatIsInvalidFailsNoJobThatHasHadSuchAPod(t *testing.T) {
	job := func() *v1beta1.GenericJob { return kt.Job(kt.Type("master", 1), kt.Type("worker", 2), kt.Begun) }
	with := func(change func(*v1beta1.GenericJobStatus)) *v1beta1.GenericJob {
		j := job()
		change(&j.Status)
		return j
	}
	of := func(j *v1beta1.GenericJob, pods ...*corev1.Pod) kernel.World {
		return kernel.World{Job: j, Pods: pods, Now: kt.Start}
	}
	for name, tc := range map[string]struct {
		world    kernel.World
		accepted bool
		reason   string
	}{
		"it never had one":                {of(job()), false, v1beta1.ReasonCreateInvalid},
		"one of another type":             {of(job(), kt.Pod(job(), "master", 0)), false, v1beta1.ReasonCreateInvalid},
		"one that is there":               {of(job(), kt.Pod(job(), "worker", 1)), false, v1beta1.ReasonCreateFailed},
		"one that was created just now":   {of(job()), true, v1beta1.ReasonCreateFailed},
		"one whose outcome is recorded":   {of(with(func(s *v1beta1.GenericJobStatus) { s.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "1"}} })), false, v1beta1.ReasonCreateFailed},
		"the job was paused":              {of(with(func(s *v1beta1.GenericJobStatus) { s.PauseCount = 1 })), false, v1beta1.ReasonCreateFailed},
		"the job ran":                     {of(with(func(s *v1beta1.GenericJobStatus) { s.Phase = v1beta1.JobRunning })), false, v1beta1.ReasonCreateFailed},
		"the whole job was started again": {of(with(func(s *v1beta1.GenericJobStatus) { s.JobAttempt = 1 })), false, v1beta1.ReasonCreateFailed},
	} {
		t.Run(name, func(t *testing.T) {
			d := kernel.RecordRefusals(tc.world, kernel.Decision{}, []kernel.Refusal{{
				Action: kernel.Action{Verb: kernel.CreatePod, Type: "worker"}, Object: "Pod x", Accepted: tc.accepted,
				Reason: v1beta1.ReasonCreateInvalid, Message: "spec.containers[0].image: Required value",
			}})
			told := condition(d.Status, v1beta1.ConditionBlocked)
			require.Equal(t, tc.reason, told.Reason)
			require.Contains(t, told.Message, "spec.containers[0].image: Required value")
		})
	}
}

// What is refused is told after the reconcile: if the reconcile told of something else, the two would take turns for ever.
func TestNothingElseIsToldWhileARefusalLasts(t *testing.T) {
	ruled := kt.Job(kt.Type("worker", 2), kt.Begun, success(v1beta1.FinishRule{"worker": ranks(1)}))
	ruled.Spec.ReplicaSpecs[0].Replicas = ptr.To[int32](1)
	for reason, job := range map[string]*v1beta1.GenericJob{
		v1beta1.ReasonSchedulerSilent: kt.Job(kt.Type("worker", 2), kt.Begun, schedulerName("mine")),
		v1beta1.ReasonScaleRefused:    ruled,
	} {
		pods := []*corev1.Pod{kt.Pod(job, "worker", 0), kt.Pod(job, "worker", 1), kt.Pod(job, "worker", 5)}
		for _, pod := range pods {
			pod.CreationTimestamp = metav1.NewTime(kt.Start)
			pod.Status.Conditions = nil
		}
		now := kt.Start.Add(time.Hour)
		d := plan(t, job, now, pods...)
		require.True(t, status.IsBlocked(&d.Status, reason), "%s: %v", reason, d.Status.Conditions)
		job.Status = d.Status
		refused := kernel.RecordRefusals(kernel.World{Job: job, Now: now}, kernel.Decision{}, []kernel.Refusal{{Action: d.Actions[0], Reason: v1beta1.ReasonRefused, Message: "no"}})
		job.Status = refused.Status
		require.True(t, status.IsBlocked(&job.Status, v1beta1.ReasonRefused))
		require.Equal(t, job.Status, plan(t, job, now, pods...).Status, reason)
	}
}
