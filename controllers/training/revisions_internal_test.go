package training

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Its definition was edited ten times since, or deleted and made again: the job would stay for ever.
func TestAFinishedJobOfADroppedRevisionHasTheTimeToLiveThatTheNewestSays(t *testing.T) {
	says := func(ttl *int32, err error) *Reconciler {
		return &Reconciler{Registration: framework.Registration{Revision: "newest", Compile: func(client.Object) (framework.Program, error) {
			return framework.Program{TTLSecondsAfterFinished: ttl, Elastic: true}, err
		}}}
	}
	for name, tc := range map[string]struct {
		ttl *int32
		err error
	}{
		"it says one":                           {ttl: ptr.To[int32](60)},
		"it says none":                          {},
		"it says one, and would refuse the job": {ttl: ptr.To[int32](60), err: errors.New("a field that the job does not have")},
	} {
		t.Run(name, func(t *testing.T) {
			all := &revisions{definition: "jax", newest: says(tc.ttl, tc.err)}
			f := all.of("dropped")
			program, err := f.Compile(&v1beta1.GenericJob{})
			require.ErrorContains(t, err, "revision dropped of TrainingFramework jax compiled it, which is not kept any more")
			require.Equal(t, framework.Program{TTLSecondsAfterFinished: tc.ttl}, program, "edits of the job have no effect")
			require.Equal(t, "dropped", f.Revision)
		})
	}
}

// shaped is a revision whose jobs show their phase in an annotation of its own.
func shaped(name string, phase func(shown string) v1beta1.JobPhase) framework.Registration {
	return framework.Registration{
		Revision: name, New: func() client.Object { return &v1beta1.TensorFlowTrainingJob{} },
		Compile: func(client.Object) (framework.Program, error) { return framework.Program{}, nil },
		Mirror: func(o client.Object, s v1beta1.GenericJobStatus) error {
			o.SetAnnotations(map[string]string{name: string(s.Phase)})
			o.(*v1beta1.TensorFlowTrainingJob).Status.CompletionTime = s.CompletionTime
			return nil
		},
		Phase:          func(o client.Object) v1beta1.JobPhase { return phase(o.GetAnnotations()[name]) },
		CompletionTime: func(o client.Object) *metav1.Time { return o.(*v1beta1.TensorFlowTrainingJob).Status.CompletionTime },
	}
}

// A revision whose status has another shape took jobs that had failed without a GenericJob, or whose GenericJob somebody had deleted, for new ones.
func TestAJobThatIsOverStaysSoWhenItsDefinitionChangesTheShapeOfItsStatus(t *testing.T) {
	same := func(shown string) v1beta1.JobPhase { return v1beta1.JobPhase(shown) }
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	for name, tc := range map[string]struct {
		older  func(string) v1beta1.JobPhase // how an older revision reads
		writer string
		shown  v1beta1.GenericJobStatus
		starts bool
	}{
		"an older revision knows":                         {same, "older", v1beta1.GenericJobStatus{Phase: v1beta1.JobFailed}, false},
		"no revision knows, but it says when":             {same, "dropped", v1beta1.GenericJobStatus{Phase: v1beta1.JobFailed, CompletionTime: &metav1.Time{Time: time.Unix(1, 0)}}, false},
		"the newest knows":                                {same, "newest", v1beta1.GenericJobStatus{Phase: v1beta1.JobSucceeded}, false},
		"it is not over":                                  {same, "older", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending}, true},
		"an older revision calls all finished":            {func(string) v1beta1.JobPhase { return v1beta1.JobFailed }, "newest", v1beta1.GenericJobStatus{Phase: v1beta1.JobPending}, true},
		"nothing is known of it, as of a job that is new": {same, "dropped", v1beta1.GenericJobStatus{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "team", UID: "uid"}}
			require.NoError(t, shaped(tc.writer, same).Mirror(job, tc.shown))
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(job).WithStatusSubresource(&v1beta1.GenericJob{}).Build()
			newest := &Reconciler{
				Registration: shaped("newest", same), Client: c, Live: c, Recorder: events.NewFakeRecorder(10),
				Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob), Memory: &Memory{},
			}
			kind := &Revised{Cache: c}
			kind.Serve("jax", newest, newest.With(shaped("older", tc.older)))
			_, err := kind.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)})
			require.NoError(t, err)
			made := &v1beta1.GenericJobList{}
			require.NoError(t, c.List(t.Context(), made))
			require.Equal(t, tc.starts, len(made.Items) == 1)
		})
	}
}

// A revision took jobs that waited for finished, by conditions that another revision had written: they never started.
func TestARevisionThatTakesWaitingJobsForFinishedIsNotBelieved(t *testing.T) {
	const key = "conditions"
	conditions := func(phase func(conditions string) v1beta1.JobPhase) *Reconciler {
		like := shaped("r", func(string) v1beta1.JobPhase { return "" })
		like.Mirror = func(o client.Object, s v1beta1.GenericJobStatus) error {
			shown := ""
			for _, c := range s.Conditions {
				shown += string(c.Type) + "=" + string(c.Status) + " "
			}
			o.SetAnnotations(map[string]string{key: shown})
			return nil
		}
		like.Phase = func(o client.Object) v1beta1.JobPhase { return phase(o.GetAnnotations()[key]) }
		return (&Reconciler{Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0))}).With(like)
	}
	saysIf := func(text string) func(string) v1beta1.JobPhase {
		return func(shown string) v1beta1.JobPhase {
			if strings.Contains(shown, text) {
				return v1beta1.JobSucceeded
			}
			return v1beta1.JobPending
		}
	}
	writer := conditions(saysIf("Completed=True"))
	for text, misreads := range map[string]bool{"Completed=True": false, "Completed": true, "Running=False": true, "Blocked": true} {
		reader := conditions(saysIf(text))
		require.Equal(t, misreads, reader.misreads([]*Reconciler{writer, reader}), text)
		job := writer.New()
		require.NoError(t, writer.Mirror(job, *writer.block(job, nil, v1beta1.ReasonNameConflict, "It waits.").status))
		require.False(t, isOver(job, []*Reconciler{writer, reader}), text)
	}
}

// The operator blocked a finished job whose revision is not kept any more, with a Warning. It did so because the newest revision could not
// read that the job had succeeded.
func TestAFinishedJobOfADroppedRevisionIsNotBlocked(t *testing.T) {
	have := ofEarlier()
	have.Status.Phase = v1beta1.JobSucceeded
	m := newAnnotating(t, have)
	out, err := m.reconcileUnfinished(t.Context(), m.owner, framework.Program{}, revisionUnknownError("no revision that is kept compiled it"))
	require.NoError(t, err)
	require.Empty(t, out.events)
	require.Equal(t, v1beta1.JobSucceeded, out.status.Phase)
	require.Empty(t, out.status.Conditions)
}
