package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// testTime bounds a test that hangs; no assertion depends on it.
const testTime = 10 * time.Minute

// watchOnly is an apiserver of which only the watch is used.
type watchOnly struct {
	client.WithWatch
	watcher watch.Interface
}

func (w watchOnly) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return w.watcher, nil
}

// scenario is a job whose worker, when told to crash, lives through the rest of the story.
func scenario(t *testing.T, crash func(watcher *watch.FakeWatcher, pod string) error,
) (*v1beta1.GenericJob, *follower, string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTime)
	defer cancel()
	watcher := watch.NewFake()
	var out bytes.Buffer
	f := &follower{
		api:    watchOnly{watcher: watcher},
		screen: &screen{out: &out, started: time.Now()},
		lastLines: func(ctx context.Context, _ string, lines chan<- string) {
			for _, line := range []string{"master listens", "step 55 loss 2.5", "step 60 loss 2", "step 65 loss 1.5"} {
				select {
				case lines <- line:
				case <-ctx.Done():
				}
			}
		},
		crash: func(_ context.Context, pod string) error { return crash(watcher, pod) },
	}
	go func() {
		for _, state := range story()[:3] {
			watcher.Modify(state)
		}
	}()
	job, err := f.follow(ctx)
	return job, f, out.String(), err
}

func TestFollowCrashesOneWorkerAndEndsWithTheJob(t *testing.T) {
	t.Parallel()
	var crashed []string
	job, f, out, err := scenario(t, func(watcher *watch.FakeWatcher, pod string) error {
		crashed = append(crashed, pod)
		for _, state := range story()[3:] {
			watcher.Modify(state)
		}
		return errors.New("the connection broke")
	})
	require.NoError(t, err)
	require.Equal(t, []string{"demo-0-worker-1"}, crashed)
	require.NoError(t, verdict(job), "a connection that broke is no failure: %v", f.crashErr)
	require.Contains(t, out, "kubectl exec demo-0-worker-1 -- /trainer crash")
	require.Contains(t, out, "Failed (exit code 1) -> Creating  (restarts 1)")
}

func TestFollowSaysWhyAJobDidNotFinish(t *testing.T) {
	t.Parallel()
	_, _, _, err := scenario(t, func(watcher *watch.FakeWatcher, _ string) error {
		watcher.Delete(story()[3])
		return nil
	})
	require.ErrorContains(t, err, "somebody deleted the job")
	require.ErrorContains(t, err, `phase "Running"`)
}

func TestStepOf(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]int{
		"step 60 loss 0.16420":      60,
		"step 44 waits for worker ": -1,
		"master listens as demo":    -1,
	} {
		require.Equal(t, want, stepOf(line), line)
	}
}

func TestJobIsWhatTheDemoExpects(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("job.yaml")
	require.NoError(t, err)
	var job v1beta1.GenericJob
	require.NoError(t, yaml.UnmarshalStrict(text, &job))
	require.Equal(t, jobName, job.Name)
	require.Equal(t, masterType, job.Spec.ReplicaSpecs[0].Type)
	require.Equal(t, workerType, job.Spec.ReplicaSpecs[1].Type)
	require.Greater(t, int(*job.Spec.ReplicaSpecs[1].Replicas), victim)
	for _, spec := range job.Spec.ReplicaSpecs {
		require.Equal(t, trainerImage, spec.Template.Spec.Containers[0].Image)
	}
}
