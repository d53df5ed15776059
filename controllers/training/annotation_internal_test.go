package training

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// annotating is a reconciler beside an apiserver that has a GenericJob and its owner, and answers updates as it is told to.
type annotating struct {
	*Reconciler
	clock   *clocktesting.FakePassiveClock
	told    *events.FakeRecorder
	owner   *v1beta1.TensorFlowTrainingJob
	answer  error
	updates int
}

func newAnnotating(t *testing.T, have *v1beta1.GenericJob) *annotating {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	m := &annotating{
		clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), told: events.NewFakeRecorder(10),
		owner: &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: have.Name, Namespace: have.Namespace, UID: "owner"}},
	}
	kind := v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob)
	have.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(m.owner, kind)}
	m.Reconciler = &Reconciler{
		Registration: framework.Registration{New: func() client.Object { return &v1beta1.GenericJob{} }}, // of any kind that the apiserver knows
		Recorder:     m.told, Clock: m.clock, Kind: kind, Memory: &Memory{},
		Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(have).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
				if m.updates++; m.answer != nil {
					return m.answer
				}
				return c.Update(ctx, o, opts...)
			},
		}).Build(),
	}
	return m
}

// read reads the GenericJob.
func (m *annotating) read(t *testing.T) *v1beta1.GenericJob {
	t.Helper()
	have := &v1beta1.GenericJob{}
	require.NoError(t, m.Client.Get(t.Context(), client.ObjectKeyFromObject(m.owner), have))
	return have
}

// ofEarlier is a GenericJob that an operator made which knew of no annotation. It runs.
func ofEarlier() *v1beta1.GenericJob {
	return &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid", Generation: 1},
		Status:     v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning, ObservedGeneration: 1},
	}
}

var genericJobs = schema.GroupResource{Group: v1beta1.GroupVersion.Group, Resource: "genericjobs"}

// The annotation protects a job from edits, and it runs without, too.
func TestARefusedAnnotationHoldsUpNoStatusAndIsNotWrittenAtEachReconcile(t *testing.T) {
	for name, refusal := range map[string]error{
		"a role":                       apierrors.NewForbidden(genericJobs, "job", errors.New("no right")),
		"a policy":                     apierrors.NewInvalid(v1beta1.GroupVersion.WithKind("GenericJob").GroupKind(), "job", nil),
		"a webhook that answers 400":   apierrors.NewBadRequest("admission webhook denied the request"),
		"a webhook that answers 405":   apierrors.NewMethodNotSupported(genericJobs, "update"),
		"a webhook that is down":       apierrors.NewInternalError(errors.New("failed calling webhook")),
		"an object that is too large":  apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
		"etcd, for its size":           errors.New("etcdserver: request is too large"),
		"an apiserver that has enough": apierrors.NewTooManyRequests("later", 1),
		"a network that is down":       errors.New("connection refused"),
	} {
		t.Run(name, func(t *testing.T) {
			m := newAnnotating(t, ofEarlier())
			reconcile := func() {
				out, err := m.reconcileUnchanged(t.Context(), m.owner, m.read(t), framework.Program{})
				require.NoError(t, err)
				require.Equal(t, v1beta1.JobRunning, out.status.Phase, "it is shown")
			}
			m.answer = refusal
			for range 3 {
				reconcile()
			}
			require.Equal(t, 1, m.updates)
			m.clock.SetTime(m.clock.Now().Add(annotationRefusedFor))
			reconcile()
			reconcile()
			require.Equal(t, 2, m.updates)

			m.clock.SetTime(m.clock.Now().Add(-time.Hour))
			m.answer = nil
			reconcile()
			require.Equal(t, "1", m.read(t).Annotations[v1beta1.AnnotationCompiledGeneration])
			reconcile()
			require.Equal(t, 3, m.updates)
			require.Zero(t, m.Memory.Of(m.owner).annotation, "it has its annotation")
		})
	}
}

func TestAnAnnotationThatIsOutdatedIsLookedAtAgain(t *testing.T) {
	m := newAnnotating(t, ofEarlier())
	m.answer = apierrors.NewConflict(genericJobs, "job", errors.New("modified"))
	_, err := m.reconcileUnchanged(t.Context(), m.owner, m.read(t), framework.Program{})
	require.True(t, apierrors.IsConflict(err), "%v", err)
	m.answer = apierrors.NewNotFound(genericJobs, "job")
	_, err = m.reconcileUnchanged(t.Context(), m.owner, m.read(t), framework.Program{})
	require.NoError(t, err)
	require.Zero(t, m.Memory.Of(m.owner).annotation)
}

func TestRefusedAnnotationsAreForgottenWithTheirJobs(t *testing.T) {
	m := newAnnotating(t, ofEarlier())
	m.answer = apierrors.NewBadRequest("no")
	require.NoError(t, m.annotateCompiled(t.Context(), m.owner, m.read(t), false))
	require.NotZero(t, m.Memory.Of(m.owner).annotation)
	again := m.read(t)
	again.UID = "another"
	require.NoError(t, m.annotateCompiled(t.Context(), m.owner, again, false))
	require.Equal(t, 2, m.updates, "it is another job of that name")
	m.answer = nil
	require.NoError(t, m.Client.Delete(t.Context(), m.read(t)))
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(m.owner)}
	older := m.With(m.Registration)
	older.Revision = "older"
	kind := &Revised{Cache: m.Client}
	kind.Serve("jax", m.Reconciler, older)
	_, err := kind.Reconcile(t.Context(), request)
	require.NoError(t, err)
	require.Zero(t, m.Memory.Len())
}

// Its owner was edited in a way that waits for a pause, so that an update cannot undo the edit as a whole.
func TestAnEditThatIsUndoneBesideOneThatWaitsIsToldOnce(t *testing.T) {
	edited := ofEarlier()
	framework.AnnotateCompiled(edited, 1, false)
	edited.Generation, edited.Spec.CleanUpPolicy = 2, v1beta1.CleanUpAll
	m := newAnnotating(t, edited)
	refused := errors.New("immutable unless the job is paused")
	_, err := m.updateAllowed(t.Context(), m.owner, m.read(t), framework.Program{}, refused)
	require.NoError(t, err)
	require.Empty(t, m.read(t).Spec.CleanUpPolicy)
	require.Len(t, m.told.Events, 2, "of both objects")
	for range 2 {
		require.Contains(t, <-m.told.Events, "FieldIgnored Somebody edited the spec of GenericJob ns/job (generation 2)")
	}

	undone := m.read(t)
	undone.Generation = 3
	program := framework.Program{Spec: v1beta1.GenericJobSpec{CleanUpPolicy: v1beta1.CleanUpNone}}
	_, err = m.updateAllowed(t.Context(), m.owner, undone, program, refused)
	require.NoError(t, err)
	require.Equal(t, 2, m.updates)
	require.Empty(t, m.told.Events, "nobody but its owner has edited it since")
}

// A webhook that denies what is left of an update kept the status of the job from being shown.
func TestARefusedRestOfAnUpdateHoldsUpNoStatus(t *testing.T) {
	edited := ofEarlier()
	edited.Spec.CleanUpPolicy = v1beta1.CleanUpAll
	m := newAnnotating(t, edited)
	for name, refusal := range map[string]error{
		"a role":                     apierrors.NewForbidden(genericJobs, "job", errors.New("no right")),
		"a webhook":                  apierrors.NewBadRequest("admission webhook denied the request"),
		"one that is too large, too": apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	} {
		m.answer = refusal
		out, err := m.updateAllowed(t.Context(), m.owner, m.read(t), framework.Program{}, errors.New("immutable unless the job is paused"))
		require.NoError(t, err, name)
		require.Equal(t, v1beta1.JobRunning, out.status.Phase, name)
	}
	require.Empty(t, m.told.Events, "nothing is undone")
}

// The pause leaves the rest of the spec as it is. If that were called compiled, somebody's deadline would act, and no update brings the job back.
func TestAPauseHasNoEditOfTheGenericJobAct(t *testing.T) {
	edited := ofEarlier()
	framework.AnnotateCompiled(edited, 1, false)
	edited.Generation, edited.Spec.ActiveDeadlineSeconds = 2, new(int64(1))
	m := newAnnotating(t, edited)
	paused := framework.Program{Spec: v1beta1.GenericJobSpec{RunMode: &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}}}
	_, err := m.update(t.Context(), m.owner, m.read(t), paused)
	require.NoError(t, err)
	require.True(t, m.read(t).Spec.RunMode.Pauses())
	require.Nil(t, m.read(t).Spec.ActiveDeadlineSeconds)
}

// An earlier version of the operator writes the generation alone.
func TestNumbersOfReplicasThatAreMissingAreAnnotatedToo(t *testing.T) {
	have := ofEarlier()
	framework.AnnotateCompiled(have, 1, false)
	delete(have.Annotations, v1beta1.AnnotationCompiledReplicas)
	m := newAnnotating(t, have)
	for range 2 {
		_, err := m.reconcileUnchanged(t.Context(), m.owner, m.read(t), framework.Program{})
		require.NoError(t, err)
		require.NotEmpty(t, m.read(t).Annotations[v1beta1.AnnotationCompiledReplicas])
	}
	require.Equal(t, 1, m.updates)
}

// TestAJobThatIsToBecomeElasticKeepsItsNumberUntilThePause: Kubeflow's jobs may get an elasticPolicy and another number of workers at once, or one
// after the other. Their code runs with the number that it was started with.
func TestAJobThatIsToBecomeElasticKeepsItsNumberUntilThePause(t *testing.T) {
	replicas := func(n int32) v1beta1.GenericJobSpec {
		return v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &n}}}
	}
	for name, c := range map[string]struct {
		was, becomes bool
		want         int32
	}{
		"it becomes elastic":    {false, true, 2},
		"it ceases to be":       {true, false, 2},
		"it is, and goes on so": {true, true, 5},
		"it never was":          {false, false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			have := ofEarlier()
			have.Spec = replicas(2)
			framework.AnnotateCompiled(have, 1, c.was)
			m := newAnnotating(t, have)
			for range 2 { // the second finds the annotation of the first
				next := framework.Program{Elastic: c.becomes, Spec: replicas(5)}
				next.Spec.CleanUpPolicy = v1beta1.CleanUpAll
				_, err := m.updateAllowed(t.Context(), m.owner, m.read(t), next, errors.New("immutable unless the job is paused"))
				require.NoError(t, err)
				require.Equal(t, v1beta1.CleanUpAll, m.read(t).Spec.CleanUpPolicy, "it needs no pause")
				require.Equal(t, c.want, *m.read(t).Spec.ReplicaSpecs[0].Replicas)
			}
		})
	}
}

// A pause alone changes nothing else: what runs is as elastic as before.
func TestAPauseMakesNoJobElastic(t *testing.T) {
	for _, was := range []bool{false, true} {
		have := ofEarlier()
		framework.AnnotateCompiled(have, 1, was)
		m := newAnnotating(t, have)
		paused := framework.Program{Elastic: !was, Spec: v1beta1.GenericJobSpec{RunMode: &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}}}
		_, err := m.update(t.Context(), m.owner, m.read(t), paused)
		require.NoError(t, err)
		now := m.read(t)
		now.Generation = 2
		_, elastic := framework.WithCompiledReplicas(now)
		require.Equal(t, was, elastic)
	}
}
