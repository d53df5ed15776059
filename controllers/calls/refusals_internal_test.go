package calls

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// desk is a job with two replica types, a clock and a memory.
type desk struct {
	*Refusals
	clock *testingclock.FakePassiveClock
	job   *v1beta1.GenericJob
}

func newDesk() desk {
	job := &v1beta1.GenericJob{}
	job.Name, job.Namespace, job.UID, job.Generation = "job", "ns", "uid", 1
	return desk{&Refusals{}, testingclock.NewFakePassiveClock(time.Unix(1000, 0)), job}
}

// begun begins a reconcile with these actions.
func (d desk) begun(actions []kernel.Action) *Refusals {
	d.begin(d.job, actions, d.clock)
	return d.Refusals
}

func (d desk) wait(t time.Duration) { d.clock.SetTime(d.clock.Now().Add(t)) }

// reconcile asks for actions, each of which gets this answer, and returns how many were asked for.
func (d desk) reconcile(answer error, actions ...kernel.Action) (asked int, out Outcome) {
	r := d.begun(actions)
	for _, a := range r.due(actions) {
		asked++
		_ = r.note(a, "Pod x", answer)
	}
	return asked, r.outcome(d.job)
}

var (
	create = kernel.Action{Verb: kernel.CreatePod, Type: "worker", Reason: "it is missing"}
	quota  = Refuse(v1beta1.ReasonCreateFailed, "exceeded quota")
	broken = apierrors.NewInternalError(errors.New("failed calling webhook"))
)

func TestARefusalThatLastsIsAskedForAtMostOnceAMinute(t *testing.T) {
	for name, answer := range map[string]error{"a quota": quota, "a broken webhook": broken} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			d.reconcile(answer, create)
			for range 10 * 60 * 10 { // events for ten minutes, ten a second
				d.wait(100 * time.Millisecond)
				d.reconcile(answer, create)
			}
			asked := 0
			for range 10 * 60 * 10 {
				d.wait(100 * time.Millisecond)
				n, out := d.reconcile(answer, create)
				asked += n
				require.NotEmpty(t, out.Refused)
				require.LessOrEqual(t, out.RequeueAfter, time.Minute)
			}
			require.InDelta(t, 10, asked, 1)
		})
	}
}

func TestWhatMayPassIsToldOnlyOnceItHasLasted(t *testing.T) {
	d := newDesk()
	_, out := d.reconcile(broken, create)
	require.Empty(t, out.Refused)
	require.Len(t, out.Failed, 1)
	d.wait(out.RequeueAfter)
	_, out = d.reconcile(nil, create)
	require.Equal(t, Outcome{}, out)
	d.wait(time.Hour)
	_, out = d.reconcile(broken, create)
	require.Empty(t, out.Refused, "what was long ago is forgotten")
	for range 100 {
		d.wait(out.RequeueAfter)
		if _, out = d.reconcile(broken, create); len(out.Refused) > 0 {
			break
		}
	}
	require.GreaterOrEqual(t, d.clock.Now().Sub(time.Unix(1000, 0)), time.Hour+tellAfter)
	require.Contains(t, out.Refused[0].Message, "failed calling webhook")
	require.Equal(t, "create Pod x", out.Refused[0].String())

	// After a restart it is told at once, where the status says it: the status must not go back and forth.
	d.Refusals = &Refusals{}
	d.job.Status.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionBlocked, Status: "True", Reason: v1beta1.ReasonCreateFailed}}
	_, out = d.reconcile(broken, create)
	require.Len(t, out.Refused, 1)
}

func TestAnEditIsAskedForAtOnce(t *testing.T) {
	d := newDesk()
	d.reconcile(quota, create)
	n, _ := d.reconcile(quota, create)
	require.Zero(t, n)
	d.job.Generation++
	n, _ = d.reconcile(quota, create)
	require.Equal(t, 1, n)
}

// The pods of a job outlive it.
func TestWhatIsRefusedOfAPodIsRememberedWhenItsJobGoes(t *testing.T) {
	d := newDesk()
	release := kernel.Action{Verb: kernel.ReleasePod, Pod: &corev1.Pod{}}
	d.reconcile(broken, release)
	d.job.UID, d.job.Generation = "", 0
	n, _ := d.reconcile(broken, release)
	require.Zero(t, n)
}

// A wake-up for what may not be asked for yet would be a hot loop.
func TestAClosedBatchIsNotWaitedForInVain(t *testing.T) {
	d := newDesk()
	other := create
	other.Rank = 1
	actions := []kernel.Action{create, other}
	d.reconcile(quota, actions...)
	d.wait(30 * time.Second)
	r := d.begun(actions)
	_ = r.note(create, "Pod x", quota)
	_ = r.note(other, "Pod y", quota)
	r.close(batchOf(create))
	for range 20 {
		_, out := d.reconcile(quota, actions...)
		require.GreaterOrEqual(t, out.RequeueAfter, time.Second)
		d.wait(out.RequeueAfter)
	}
}

func TestPodsWaitForTheServiceAndTheJobForAll(t *testing.T) {
	d := newDesk()
	service := kernel.Action{Verb: kernel.UpdateService}
	r := d.begun([]kernel.Action{service, create})
	require.False(t, r.holdsUp(kernel.CreatePod.Tier()))
	_ = r.note(service, "Service x", quota)
	require.True(t, r.holdsUp(kernel.CreatePod.Tier()))
	require.True(t, r.holdsUp(kernel.DeleteJob.Tier()))
	require.False(t, r.holdsUp(kernel.ReleasePod.Tier()))
	_ = r.note(service, "", nil)
	_ = r.note(create, "Pod x", quota)
	require.False(t, r.holdsUp(kernel.CreatePod.Tier()))
	require.True(t, r.holdsUp(kernel.DeleteJob.Tier()))
}

func TestOnlyAnAnswerThatNamesAFieldIsFinal(t *testing.T) {
	named := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil)
	require.False(t, Invalid(named), "no cause")
	final := apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", field.ErrorList{field.Required(field.NewPath("spec", "containers"), "")})
	require.True(t, Invalid(final))
	var invalid *RefusalError
	require.ErrorAs(t, Explain("create Pod x", final), &invalid)
	require.Equal(t, v1beta1.ReasonCreateInvalid, invalid.Reason)
	for reason, err := range map[string]error{
		v1beta1.ReasonCreateFailed: apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "x", errors.New("no")),
	} {
		var refusal *RefusalError
		require.ErrorAs(t, Explain("create Pod x", err), &refusal)
		require.Equal(t, reason, refusal.Reason)
		require.ErrorAs(t, Explain("create Pod x", named), &refusal)
		require.Equal(t, reason, refusal.Reason)
	}
}

func TestARefusalThatNothingAsksForIsForgotten(t *testing.T) {
	d := newDesk()
	d.reconcile(quota, create)
	require.Len(t, d.refused, 1)
	d.reconcile(nil)
	require.Empty(t, d.refused)
}
