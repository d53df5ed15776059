package training

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/framework"
)

// A job whose definition could not write its status for so many replicas showed Running for ever, and nobody heard why.
func TestAStatusThatItsDefinitionCannotWriteIsTold(t *testing.T) {
	const over, runs = v1beta1.JobSucceeded, v1beta1.JobRunning
	for shows, tc := range map[string]struct {
		phase v1beta1.JobPhase
		most  int // rows of replicas that the definition can write
	}{
		"The job shows no replicas":                       {over, 0},
		"The job goes on, but what it shows stands still": {runs, -1},
		"The job is over, but what it shows stands still": {over, -1},
	} {
		large, most := &v1beta1.GenericJobStatus{Phase: tc.phase, Tasks: []v1beta1.TaskStatus{{Replicas: make([]v1beta1.ReplicaStatus, 1000)}}}, tc.most
		m := newAnnotating(t, ofEarlier())
		m.Definition = "jax"
		m.Mirror = func(o client.Object, s v1beta1.GenericJobStatus) error {
			if len(s.Tasks[0].Replicas) > most {
				return errors.New("spec.status.alike: it takes too long")
			}
			o.(*v1beta1.TensorFlowTrainingJob).Status.Phase = s.Phase
			return nil
		}
		for range 3 {
			m.mirror(t.Context(), m.owner, large)
		}
		require.Equal(t, most == 0, m.owner.Status.Phase == v1beta1.JobSucceeded)
		require.Len(t, m.told.Events, 1, "once")
		require.Contains(t, <-m.told.Events, "Warning InvalidDefinition TrainingFramework jax is at fault, and not the job: "+
			"it cannot write the job's status: spec.status.alike: it takes too long. "+shows)
	}
}

// The message about an object whose labels somebody has edited has the remedy. Another one beside it would be wrong.
func TestAnEventTellsOneRemedy(t *testing.T) {
	edited := &calls.RefusalError{Refusal: kernel.Refusal{Reason: v1beta1.ReasonNameConflict, Edited: true, Message: "somebody has changed a label: put it back"}}
	require.Equal(t, "somebody has changed a label: put it back.", refusedEvent(edited).Message)
	other := &calls.RefusalError{Refusal: kernel.Refusal{Reason: v1beta1.ReasonCreateFailed, Message: "no room"}}
	require.Contains(t, refusedEvent(other).Message, "no room. The operator keeps trying. Change what is in the way")
	require.Equal(t, v1beta1.ReasonRefused, refusedEvent(errors.New("no answer")).Reason)
}

// Of events of one reason that come together a recorder keeps the note of one alone. And of an edit nothing was told unless the status happened to
// change in the same reconcile.
func TestAllThatAnEditMakesIneffectiveIsToldInOneEvent(t *testing.T) {
	m := newAnnotating(t, ofEarlier())
	m.Mirror = func(client.Object, v1beta1.GenericJobStatus) error { return nil } // it shows all that there is to show
	program := framework.Program{Spec: v1beta1.GenericJobSpec{CleanUpPolicy: v1beta1.CleanUpAll}, Warnings: []framework.Warning{
		{Reason: v1beta1.ReasonFieldIgnored, Message: "One has no effect."}, {Reason: "Other", Message: "Another."}, {Reason: v1beta1.ReasonFieldIgnored, Message: "Nor has two."},
	}}
	out, err := m.update(t.Context(), m.owner, m.read(t), program)
	require.NoError(t, err)
	require.NoError(t, m.writeStatus(t.Context(), m.owner, out))
	require.Len(t, m.told.Events, 2)
	require.Equal(t, "Warning FieldIgnored One has no effect. Nor has two.", <-m.told.Events)
	require.Equal(t, "Warning Other Another.", <-m.told.Events)
}
