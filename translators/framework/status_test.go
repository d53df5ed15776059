package framework_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

var (
	noon  = time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	then  = metav1.NewTime(noon.Add(-time.Hour))
	now   = metav1.NewTime(noon)
	stamp = metav1.NewMicroTime(noon)
)

func TestMirrorStatusShowsAllThatTheGenericJobShows(t *testing.T) {
	from := v1beta1.GenericJobStatus{
		Phase:              v1beta1.JobRunning,
		Tasks:              []v1beta1.TaskStatus{{Type: "worker", Replicas: []v1beta1.ReplicaStatus{{Name: "job-worker-0"}}}},
		Aggregate:          v1beta1.Aggregate{Running: 1},
		Conditions:         []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, LastTransitionTime: now}},
		Running:            "1/1",
		ObservedGeneration: 3,
		UnstartedSpec:      "0123456789abcdef",
		StartTime:          &then,
		CompletionTime:     &now,
		BackoffCount:       1,
		DisruptionCount:    2,
		ExceptedCount:      4,
		FirstFailure:       &v1beta1.FirstFailure{Others: 3},
		Failures:           []v1beta1.ReplicaFailure{{Pod: "job-worker-0"}},
		Progress:           &v1beta1.Progress{Loss: "0.25"},
		AvoidedNodes:       []v1beta1.AvoidedNode{{Node: "n1"}},
		Time:               &v1beta1.JobTime{Goodput: "0.912"},
		History:            &v1beta1.History{Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryPause, Begin: then}}},
		Recovery:           &v1beta1.Recovery{Cause: v1beta1.TimeLostToNode},
	}
	board := &v1beta1.DependentStatus{Name: "board"}
	to := v1beta1.TrainingJobStatus{TensorBoard: board}
	framework.MirrorStatus(&to, from)

	require.Same(t, board, to.TensorBoard, "which is not the GenericJob's business")
	shown, source := reflect.ValueOf(to), reflect.ValueOf(from)
	for i := range shown.NumField() {
		if name := shown.Type().Field(i).Name; name != "TensorBoard" {
			require.False(t, shown.Field(i).IsZero(), "a field that this test does not set: %s", name)
			require.Equal(t, source.FieldByName(name).Interface(), shown.Field(i).Interface(), name)
		}
	}
}

func TestMirrorStatusKeepsTheGenerationThatIsStillRight(t *testing.T) {
	to := v1beta1.TrainingJobStatus{ObservedGeneration: 3}
	framework.MirrorStatus(&to, v1beta1.GenericJobStatus{})
	require.EqualValues(t, 3, to.ObservedGeneration)
	framework.MirrorStatus(&to, v1beta1.GenericJobStatus{ObservedGeneration: 4})
	require.EqualValues(t, 4, to.ObservedGeneration)
}

func TestDatesOfMirroredConditions(t *testing.T) {
	condition := func(status metav1.ConditionStatus, at metav1.Time) []v1beta1.JobCondition {
		return []v1beta1.JobCondition{{Type: v1beta1.ConditionBlocked, Status: status, LastTransitionTime: at}}
	}
	never := metav1.Time{}
	for name, tc := range map[string]struct {
		shown, mirrored []v1beta1.JobCondition
		update          *metav1.MicroTime
		want            metav1.Time
	}{
		"a date stays":                               {condition("True", now), condition("True", then), &stamp, then},
		"a new condition begins now":                 {nil, condition("True", never), &stamp, now},
		"a condition that has not changed is as old": {condition("True", then), condition("True", never), &stamp, then},
		"a condition that has changed begins now":    {condition("False", then), condition("True", never), &stamp, now},
		"without a time there is no date":            {nil, condition("True", never), nil, never},
		"an old date needs no time":                  {condition("True", then), condition("True", never), nil, then},
	} {
		t.Run(name, func(t *testing.T) {
			to := v1beta1.TrainingJobStatus{Conditions: tc.shown}
			from := v1beta1.GenericJobStatus{Conditions: tc.mirrored, LastUpdateTime: tc.update}
			before := from.DeepCopy()
			framework.MirrorStatus(&to, from)
			require.Equal(t, condition("True", tc.want), to.Conditions)
			require.Equal(t, *before, from, "the GenericJob's status may be a cache's")
		})
	}
}

func TestMirrorStatusDropsConditionsThatAreOver(t *testing.T) {
	to := v1beta1.TrainingJobStatus{Conditions: []v1beta1.JobCondition{
		{Type: v1beta1.ConditionBlocked, Status: "True"}, {Type: v1beta1.ConditionRunning, Status: "False", LastTransitionTime: then},
	}}
	framework.MirrorStatus(&to, v1beta1.GenericJobStatus{Conditions: []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: "False"}}})
	require.Equal(t, []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: "False", LastTransitionTime: then}}, to.Conditions)
}
