package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What becomes of replicas that train in step when one of them is lost.

// onePodPT is the template that POD stands for in a PyTorchTrainingJob's YAML.
const onePodPT = "{spec: {containers: [{name: python, image: busybox, args: [train.py]}]}}"

func (c *cluster) trainTorch(name, spec string) *v1beta1.PyTorchTrainingJob {
	c.t.Helper()
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "POD", onePodPT)), &job.Spec))
	require.NoError(c.t, c.Create(c.ctx, job))
	return job
}

// A peer that loses its connection exits with an error of its own: one loss is told of by all ranks.
func TestOneLossSparesTheLimitHoweverManyPeersItEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		ranks   int
		drained bool // rank 3 is; else it crashes as the others do
	}{
		"eight plain ranks survive a drain": {8, true},
		"five plain ranks survive a crash":  {5, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			stop := c.operate(operation{})
			job := c.awaitGenericJob(c.trainTorch("ring", fmt.Sprintf("replicaSpecs: [{type: worker, replicas: %d, template: POD}]", tc.ranks)))
			c.awaitPhase("ring", v1beta1.JobRunning)
			stop() // so that one reconcile sees all that comes
			for rank := range tc.ranks {
				replica := fmt.Sprintf("worker-%d", rank)
				if tc.drained && rank == 3 {
					c.remove(c.pods(job)[replica])
					continue
				}
				c.finish(job, replica, 1)
			}
			c.operate(operation{})
			for rank := tc.ranks - 1; rank >= 0; rank-- { // the master last: with its success the job is over
				c.finishAttempt(job, fmt.Sprintf("worker-%d", rank), "1", 0)
			}
			job = c.awaitPhase("ring", v1beta1.JobSucceeded)
			require.EqualValues(t, 1, job.Status.JobAttempt)
			require.EqualValues(t, 1, job.Status.BackoffCount+job.Status.DisruptionCount)
		})
	}
}

// A world of a fixed size cannot go on without a rank. Its others would wait for that one for ever, in a job that says Running.
func TestAWorldThatHasLostARankForGoodFailsAndSaysWhich(t *testing.T) {
	const torch, tf = v1beta1.KindPyTorchTrainingJob, v1beta1.KindTensorFlowTrainingJob
	for name, tc := range map[string]struct {
		kind, spec, lost string
		goesOn           bool
	}{
		"a plain worker":             {torch, "replicaSpecs: [{type: master, template: POD}, {type: worker, replicas: 3, restartPolicy: Never, template: POD}]", "worker-2", false},
		"a plain master":             {torch, "replicaSpecs: [{type: master, restartPolicy: Never, template: POD}, {type: worker, template: POD}]", "master-0", false},
		"no restarts are left":       {torch, "runPolicy: {backoffLimit: 0}\nreplicaSpecs: [{type: worker, replicas: 3, template: POD}]", "worker-1", false},
		"a torchrun of a fixed size": {torch, "torchrunConfig: {enabled: true}\nreplicaSpecs: [{type: node, replicas: 2, restartPolicy: Never, template: POD}]", "node-1", false},
		"an elastic torchrun goes on": {
			torch, "torchrunConfig: {enabled: true}\nelastic: {enabled: true, minReplicas: 2, maxReplicas: 4, expectedReplicas: 3}\n" +
				"replicaSpecs: [{type: master, restartPolicy: Never, template: POD}, {type: worker, scalingWeight: 2, restartPolicy: Never, template: POD}]", "worker-1", true,
		},
		"TensorFlow restarts nothing unless it is asked": {tf, chiefAndTwo, "worker-1", false},
		"TensorFlow with parameter servers goes on":      {tf, "replicaSpecs: [{type: chief, template: POD}, {type: worker, replicas: 2, template: POD}, {type: ps, template: POD}]", "worker-1", true},
		"TensorFlow does not wait for an evaluator":      {tf, "replicaSpecs: [{type: chief, template: POD}, {type: evaluator, template: POD}]", "evaluator-0", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			c.operate(operation{})
			var owner client.Object
			master := "master-0"
			if tc.kind == tf {
				owner, master = c.train("world", tc.spec), "chief-0"
			} else {
				owner = c.trainTorch("world", tc.spec)
			}
			job := c.awaitGenericJob(owner)
			c.awaitPhase("world", v1beta1.JobRunning)
			c.finish(job, tc.lost, 3)
			if tc.goesOn {
				c.await("world", func(j *v1beta1.GenericJob) bool { return j.Status.Aggregate.Failed == 1 })
				require.Equal(t, v1beta1.JobRunning, c.job("world").Status.Phase)
				c.finish(job, master, 0)
				c.awaitPhase("world", v1beta1.JobSucceeded)
				return
			}
			job, told := c.awaitCondition("world", v1beta1.ConditionFailed, v1beta1.ReasonFailed)
			require.Contains(t, told.Message, tc.lost)
			require.Contains(t, told.Message, "exited with error code 3")
			require.Zero(t, job.Status.BackoffCount)
		})
	}
}

// What a restart replaces is part of what the pods were made for.
func TestAnotherRestartScopeWaitsForAPause(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.awaitGenericJob(c.train("scope", chiefAndTwo))
	c.awaitTraining("scope", v1beta1.JobRunning)
	before := c.pods(job)
	c.editTraining("scope", func(j *v1beta1.TensorFlowTrainingJob) {
		j.Spec.RunPolicy = &v1beta1.RunPolicy{RestartScope: v1beta1.RestartScopeReplica}
	})
	told := c.awaitBlocked("scope", v1beta1.ReasonInvalidSpec)
	require.Contains(t, told.Message, "restartScope is immutable unless the job is paused: set spec.runMode.pause.enabled")
	require.Equal(t, v1beta1.RestartScopeJob, c.job("scope").Spec.RestartScope)
	require.Equal(t, v1beta1.JobRunning, c.training("scope").Status.Phase)
	for replica, pod := range c.pods(job) {
		require.Equal(t, before[replica].UID, pod.UID, "it goes on as it was")
	}

	pause := func(on bool) {
		c.editTraining("scope", func(j *v1beta1.TensorFlowTrainingJob) {
			j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: on}}
		})
	}
	pause(true)
	c.await("scope", func(j *v1beta1.GenericJob) bool { return j.Spec.RestartScope == v1beta1.RestartScopeReplica })
	c.awaitTraining("scope", v1beta1.JobPaused)
	pause(false)
	c.until("it runs, and nothing blocks it", func() bool {
		s := c.training("scope").Status
		for _, have := range s.Conditions {
			if have.Type == v1beta1.ConditionBlocked {
				return false
			}
		}
		return s.Phase == v1beta1.JobRunning
	})
}

// A new version of the operator may compile a job otherwise. What runs is not failed, replaced or misread because of that.
func TestNewDefaultsWaitForAPauseOfAJobThatRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	made := c.submit("old", strings.ReplaceAll(`{service: {}, successRules: [{worker: [0]}], failureRules: [{worker: [0]}], backoffLimit: 3,
		replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {policy: OnFailure}, template: POD}]}`, "POD", onePodTF))
	made = c.awaitPhase(made.Name, v1beta1.JobRunning)
	before := c.pods(made)
	stop()
	job := c.train("old", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	c.until("the training job owns it", func() bool {
		made = c.job("old")
		made.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob))}
		return c.Update(c.ctx, made) == nil
	})
	c.operate(operation{})
	told := c.awaitBlocked("old", v1beta1.ReasonInvalidSpec)
	require.Contains(t, told.Message, "restartScope is immutable unless the job is paused")
	require.Contains(t, told.Message, "Until then the job goes on as it was")
	c.finish(made, "worker-1", 1)
	c.finishAttempt(made, "worker-1", "1", 0)
	require.Equal(t, before["worker-0"].UID, c.pods(made)["worker-0"].UID, "it is still replaced alone")
	c.finish(made, "worker-0", 0)
	c.awaitTraining("old", v1beta1.JobSucceeded)
}

// Finished jobs of a notebook's user stay until he deletes them, by hand.
func TestATrainingJobGoesWhenItsTimeToLiveIsOver(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	training := c.trainTorch("brief", "runPolicy: {ttlSecondsAfterFinished: 1}\nreplicaSpecs: [{type: worker, template: POD}]")
	job := c.awaitGenericJob(training)
	c.finish(job, "worker-0", 0)
	c.until("it is gone, and takes its GenericJob along", func() bool { return c.gone(training) })
}
