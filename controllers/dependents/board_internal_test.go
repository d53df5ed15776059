package dependents

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

var now = time.Unix(100_000, 0)

// wantBoard is a TensorBoard of logs in a volume, with an image.
func wantBoard(image string) *framework.TensorBoard {
	return &framework.TensorBoard{
		Spec:      v1beta1.TensorBoardSpec{TrainingLogFilesets: []string{"t9k://pvc/logs/a"}, Image: image},
		Trains:    &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "train"}}}},
		Container: "main",
	}
}

// board makes one reconcile of the job's TensorBoard.
func (tm *team) board(t *testing.T, want *framework.TensorBoard, finished bool) (*v1beta1.DependentStatus, time.Duration) {
	t.Helper()
	tm.writes = nil
	state, again, err := TensorBoard(t.Context(), tm.Owner, want, finished, now)
	require.NoError(t, err)
	return state, again
}

// TestTheLifeOfATensorBoard from its first reconcile to its end: it is written only if it differs.
func TestTheLifeOfATensorBoard(t *testing.T) {
	tm := newTeam(t, false)
	name := tensorboard.Name(tm.Object)
	state, again := tm.board(t, wantBoard("one"), false)
	require.Equal(t, []string{"create " + name, "create " + name}, tm.writes)
	require.Equal(t, tensorboard.ActionCreate, state.Action)
	require.NotZero(t, again, "its pod is looked at")
	state, _ = tm.board(t, wantBoard("one"), false)
	require.Empty(t, tm.writes)
	require.Equal(t, tensorboard.ActionNone, state.Action)
	state, _ = tm.board(t, wantBoard("two"), true)
	require.Equal(t, []string{"patch " + name}, tm.writes, "that of a job that is over, too")
	require.Equal(t, tensorboard.ActionUpdate, state.Action)
	state, again = tm.board(t, nil, true)
	require.Equal(t, []string{"delete " + name, "delete " + name}, tm.writes)
	require.Len(t, tm.deleted, 2, "each by its UID")
	require.Nil(t, state)
	require.Zero(t, again)
	tm.board(t, nil, true)
	require.Empty(t, tm.writes)
}

// TestNoTensorBoardIsMadeThatNobodyWants: the job is over, or the cache does not show that it is.
func TestNoTensorBoardIsMadeThatNobodyWants(t *testing.T) {
	_, again := newTeam(t, false).board(t, wantBoard("one"), true)
	require.Zero(t, again)
	for finished, tm := range map[bool]*team{true: newTeam(t, false), false: newTeam(t, true)} {
		_, again := tm.board(t, wantBoard("one"), finished)
		require.Empty(t, tm.writes)
		require.Equal(t, !finished, again == calls.RetrySoon)
	}
}

// TestATensorBoardOfAnotherIsNotDeleted, nor is one if the job has changed, or goes already.
func TestATensorBoardOfAnotherIsNotDeleted(t *testing.T) {
	for name, tc := range map[string]struct {
		owner    string
		outdated bool
		goes     bool
		deleted  bool
	}{
		"the job's":           {owner: "uid", deleted: true},
		"another's":           {owner: "other"},
		"it goes":             {owner: "uid", goes: true},
		"the job has changed": {owner: "uid", outdated: true},
	} {
		t.Run(name, func(t *testing.T) {
			of := newJob()
			of.UID = "uid"
			if tc.owner != "uid" {
				of.UID = "other"
			}
			have := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Name: tensorboard.Name(of), Namespace: "team", UID: "board",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob))},
			}}
			if tc.goes {
				have.DeletionTimestamp, have.Finalizers = &metav1.Time{Time: now}, []string{"example.com/waits"}
			}
			tm := newTeam(t, tc.outdated, have)
			_, again := tm.board(t, nil, false)
			require.Equal(t, tc.deleted, len(tm.deleted) == 1)
			require.Equal(t, tc.outdated, again == calls.RetrySoon)
		})
	}
}

// TestARefusedTensorBoardIsShown, and the job trains on: what may pass is tried again.
func TestARefusedTensorBoardIsShown(t *testing.T) {
	services := schema.GroupResource{Resource: "services"}
	for reason, refuse := range map[string]error{
		v1beta1.ReasonCreateFailed:  apierrors.NewForbidden(services, "a", errors.New("exceeded quota")),
		v1beta1.ReasonCreateInvalid: apierrors.NewRequestEntityTooLargeError("limit is 3145728"),
	} {
		tm := newTeam(t, false)
		tm.refuse = refuse
		state, again := tm.board(t, wantBoard("one"), false)
		require.Equal(t, reason, state.Reason)
		require.Equal(t, reason == v1beta1.ReasonCreateFailed, again == retryBoard)
	}
	theirs := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: tensorboard.Name(newJob()), Namespace: "team"}}
	tm := newTeam(t, false, theirs)
	state, again := tm.board(t, wantBoard("one"), false)
	require.Empty(t, tm.writes)
	require.Equal(t, v1beta1.ReasonNameConflict, state.Reason)
	require.Contains(t, state.Note, "Service team/"+theirs.Name+" exists already")
	require.Equal(t, retryBoard, again)
	unreadable := wantBoard("one")
	unreadable.Spec.TrainingLogFilesets = []string{"nothing"}
	state, again = tm.board(t, unreadable, false)
	require.Contains(t, state.Note, "nothing")
	require.Zero(t, again, "an edit ends it")
}

// TestAnOldViewOfATensorBoardIsNoError: Kubernetes writes the status of its Deployment.
func TestAnOldViewOfATensorBoardIsNoError(t *testing.T) {
	tm := newTeam(t, false)
	tm.board(t, wantBoard("one"), false)
	tm.refuse = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "a", errors.New("modified"))
	state, again := tm.board(t, wantBoard("two"), false)
	require.Equal(t, tensorboard.ActionNone, state.Action)
	require.Equal(t, calls.RetrySoon, again)
	tm.refuse = errors.New("no answer")
	_, _, err := TensorBoard(t.Context(), tm.Owner, wantBoard("two"), false, now)
	require.ErrorContains(t, err, "update Deployment team/"+tensorboard.Name(tm.Object)+": no answer")
}

// TestLooksAtAQuietDeploymentBecomeFewer, and end: its pod may wait for a volume that nobody ever makes.
func TestLooksAtAQuietDeploymentBecomeFewer(t *testing.T) {
	for quiet, want := range map[time.Duration]time.Duration{
		0: lookAtBoard, lookAtBoard: lookAtBoard, time.Minute: time.Minute, lastLook - time.Second: lastLook - time.Second, lastLook: 0,
	} {
		created := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-quiet))}}
		require.Equal(t, want, nextLook(created, now), quiet)
		changed := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
		changed.Status.Conditions = []appsv1.DeploymentCondition{
			{LastUpdateTime: metav1.NewTime(now.Add(-quiet))}, {LastUpdateTime: metav1.NewTime(now.Add(-2 * time.Hour))},
		}
		require.Equal(t, want, nextLook(changed, now), quiet)
	}
}
