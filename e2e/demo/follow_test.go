package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// followed plays the master's log to a follower of the demo's own job, whose worker crashes with this answer. Then the job is over.
func followed(t *testing.T, crash error, lines ...string) (out string, acts []string, broken, err error) {
	t.Helper()
	var text bytes.Buffer
	f := &follower{training: trainings[0], out: &text, started: time.Now(), kubectl: func(_ context.Context, a act) (string, error) {
		acts = append(acts, strings.Join(a.args, " "))
		return "kubectl " + acts[len(acts)-1], crash
	}}
	said, over := make(chan string), make(chan error)
	go func() {
		for _, line := range lines {
			said <- line
		}
		over <- nil
	}()
	broken, err = f.follow(t.Context(), said, over)
	return text.String(), acts, broken, err
}

func TestAWorkerCrashesOnceAndHalfWay(t *testing.T) {
	t.Parallel()
	out, acts, broken, err := followed(t, errors.New("the connection broke"),
		"master listens", "step 55 loss 2.5", "step 59 waits for worker 1", "step 60 loss 2", "step 60 loss 2", "step 65 loss 1.5")
	require.NoError(t, err, "a connection that broke is no failure")
	require.ErrorContains(t, broken, "the connection broke")
	require.Equal(t, []string{"exec POD/worker-1 -- /trainer crash"}, acts)
	require.Regexp(t, `(?s)training  step 55 loss 2.5\n.*training  step 60 loss 2\n.*demo      kubectl exec POD/worker-1.*training  step 65 loss 1.5\n$`, out)
	require.Equal(t, 1, strings.Count(out, "step 60"), "a line that is repeated is shown once")
	require.NotContains(t, out, "listens")
}

func TestAnActThatFailsEndsTheDemo(t *testing.T) {
	t.Parallel()
	f := &follower{training: trainings[2], out: &bytes.Buffer{}, kubectl: func(context.Context, act) (string, error) { return "", errors.New("forbidden") }}
	require.NoError(t, f.told(t.Context(), "[default0]:epoch=2 loss=1"))
	require.ErrorContains(t, f.told(t.Context(), "[default0]:epoch=3 loss=1"), "forbidden")
}

func TestTheResultIsOfPhaseAndRestarts(t *testing.T) {
	t.Parallel()
	t.Run("as promised", func(t *testing.T) {
		require.NoError(t, wrong(trainings[0], v1beta1.GenericJobStatus{Phase: v1beta1.JobSucceeded, BackoffCount: 1, DisruptionCount: 3}))
	})
	for name, status := range map[string]v1beta1.GenericJobStatus{
		"the phase of genericjob/demo is Failed, not Succeeded":  {Phase: v1beta1.JobFailed, BackoffCount: 1},
		"status.backoffCount of genericjob/demo is 2, not 1":     {Phase: v1beta1.JobSucceeded, BackoffCount: 2},
		"something outside the job ended 2 of its pods":          {Phase: v1beta1.JobFailed, BackoffCount: 1, DisruptionCount: 2},
		"the phase of genericjob/demo is Running, not Succeeded": {Phase: v1beta1.JobRunning, BackoffCount: 1},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, wrong(trainings[0], status), name) })
	}
}

// What the demo says of a job must be what its file says.
func TestEachFileIsTheJobThatTheDemoExpects(t *testing.T) {
	t.Parallel()
	for _, training := range trainings {
		text, err := os.ReadFile(training.file)
		require.NoError(t, err)
		var job v1beta1.GenericJob // framework kinds have these fields at the same places
		require.NoError(t, yaml.Unmarshal(text, &job))
		require.Equal(t, training.name, job.Name)
		require.Equal(t, training.resource, strings.ToLower(job.Kind))
		replicas := map[string]int32{}
		for _, spec := range job.Spec.ReplicaSpecs {
			if spec.Replicas != nil {
				replicas[spec.Type] = *spec.Replicas
			} else {
				replicas[spec.Type] = 1
			}
			if training.framework == "" {
				require.Equal(t, trainerImage, spec.Template.Spec.Containers[0].Image)
			}
		}
		require.Contains(t, replicas, training.master)
		if training.framework == "" {
			require.Greater(t, replicas["worker"], int32(1), "worker-1 is the one that crashes")
		}
	}
}
