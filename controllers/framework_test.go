package controllers_test

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// onePodTF is the template that POD stands for in a training job's YAML.
const onePodTF = "{spec: {containers: [{name: tensorflow, image: busybox}]}}"

const chiefAndTwo = "replicaSpecs: [{type: chief, template: POD}, {type: worker, replicas: 2, template: POD}]"

func (c *cluster) train(name, spec string) *v1beta1.TensorFlowTrainingJob {
	c.t.Helper()
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: c.ns}}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.ReplaceAll(spec, "POD", onePodTF)), &job.Spec))
	require.NoError(c.t, c.Create(c.ctx, job))
	return job
}

func (c *cluster) training(name string) *v1beta1.TensorFlowTrainingJob {
	c.t.Helper()
	job := &v1beta1.TensorFlowTrainingJob{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, job))
	return job
}

func (c *cluster) editTraining(name string, change func(*v1beta1.TensorFlowTrainingJob)) {
	c.t.Helper()
	c.until("an edit without a conflict", func() bool {
		job := c.training(name)
		change(job)
		err := c.Update(c.ctx, job)
		if apierrors.IsConflict(err) {
			return false
		}
		require.NoError(c.t, err)
		return true
	})
}

func (c *cluster) awaitTraining(name string, phase v1beta1.JobPhase) *v1beta1.TensorFlowTrainingJob {
	c.t.Helper()
	var job *v1beta1.TensorFlowTrainingJob
	c.until(name+" is "+string(phase), func() bool {
		job = c.training(name)
		return job.Status.Phase == phase
	})
	return job
}

// awaitBlocked waits until a training job is blocked for a reason, and returns the condition.
func (c *cluster) awaitBlocked(name, reason string) v1beta1.JobCondition {
	c.t.Helper()
	var have v1beta1.JobCondition
	c.until(name+" is blocked by "+reason, func() bool {
		for _, have = range c.training(name).Status.Conditions {
			if have.Type == v1beta1.ConditionBlocked && have.Reason == reason {
				return true
			}
		}
		return false
	})
	return have
}

// awaitGenericJob waits for the GenericJob that a training job owns.
func (c *cluster) awaitGenericJob(owner client.Object) *v1beta1.GenericJob {
	c.t.Helper()
	job := &v1beta1.GenericJob{}
	c.until("GenericJob of "+owner.GetName(), func() bool {
		return c.Get(c.ctx, client.ObjectKeyFromObject(owner), job) == nil && metav1.IsControlledBy(job, owner)
	})
	return job
}

func TestATrainingJobRunsAndShowsWhatItsGenericJobShows(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("mnist", `{runPolicy: {restartScope: Replica}, replicaSpecs: [
		{type: chief, template: POD}, {type: worker, replicas: 2, restartPolicy: OnFailure, template: POD}]}`)
	gj := c.awaitGenericJob(job)
	c.awaitTraining("mnist", v1beta1.JobRunning)
	pod := c.pods(gj)["worker-1"]
	domain := ".mnist." + c.ns + ".svc.cluster.local:2222"
	require.JSONEq(t, `{"cluster":{"chief":["mnist-chief-0`+domain+`"],"worker":["mnist-worker-0`+domain+`","mnist-worker-1`+domain+`"]},"task":{"type":"worker","index":1}}`,
		pod.Spec.Containers[0].Env[0].Value)
	require.Equal(t, "TensorFlowTrainingJob", pod.Labels[v1beta1.LabelT9kOwnerKind])
	require.Equal(t, "mnist", pod.Labels[v1beta1.LabelT9kOwnerName])
	require.Equal(t, "master", c.pods(gj)["chief-0"].Labels[v1beta1.LabelT9kRole])
	require.NotContains(t, pod.Labels, v1beta1.LabelT9kRole)

	c.finish(gj, "worker-1", 1)
	c.until("the restart is shown", func() bool { return c.training("mnist").Status.BackoffCount == 1 })
	c.finish(gj, "chief-0", 0)
	c.awaitTraining("mnist", v1beta1.JobSucceeded)
	c.until("it shows what its GenericJob shows", func() bool { // what becomes of its pods is told a second later
		have, want := c.training("mnist").Status, c.job("mnist").Status
		return have.ObservedGeneration == 1 && reflect.DeepEqual([]any{want.Tasks, want.Aggregate, want.Conditions, want.CompletionTime},
			[]any{have.Tasks, have.Aggregate, have.Conditions, have.CompletionTime})
	})
	c.awaitEvent(job, "Normal Succeeded", "finished successfully")
}

func TestAGenericJobThatSomebodyDeletesOrEditsIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("again", chiefAndTwo)
	gj := c.awaitGenericJob(job)
	c.awaitTraining("again", v1beta1.JobRunning)
	c.edit("again", func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = v1beta1.CleanUpAll })
	c.await("again", func(j *v1beta1.GenericJob) bool {
		return j.Generation == 3 && j.Spec.CleanUpPolicy == v1beta1.CleanUpUnfinished
	})
	require.NoError(t, c.Delete(c.ctx, gj))
	c.until("another GenericJob", func() bool { return c.awaitGenericJob(job).UID != gj.UID })
	c.finish(c.awaitGenericJob(job), "chief-0", 0)
	c.awaitTraining("again", v1beta1.JobSucceeded)
}

func TestAStrangersGenericJobIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	theirs := c.submit("taken", "replicaSpecs: [{type: main, template: {spec: {containers: [{name: main, image: busybox}]}}}]")
	c.awaitPhase("taken", v1beta1.JobRunning)
	job := c.train("taken", chiefAndTwo)
	told := c.awaitBlocked("taken", v1beta1.ReasonNameConflict)
	require.Contains(t, told.Message, "GenericJob "+c.ns+"/taken exists already")
	require.Equal(t, v1beta1.JobPending, c.training("taken").Status.Phase)
	c.awaitEvent(job, "Warning NameConflict", "give the job another name")
	require.Equal(t, theirs.Spec, c.job("taken").Spec)
	require.NoError(t, c.Delete(c.ctx, theirs))
	c.finish(c.awaitGenericJob(job), "chief-0", 0)
	c.awaitTraining("taken", v1beta1.JobSucceeded)
}

func TestAUsersOwnTFConfigWins(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("own", "replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: tensorflow, image: busybox, env: [{name: TF_CONFIG, value: mine}]}]}}}]")
	c.awaitTraining("own", v1beta1.JobRunning)
	require.Len(t, c.pods(c.awaitGenericJob(job))["worker-1"].Spec.Containers[0].Env, 1)
	c.awaitEvent(job, "Warning OwnTFConfig", "spec.replicaSpecs[worker].template", "remove it")
}

// What is stored must equal what is compiled, or each reconcile would write.
func TestAQuietTrainingJobCostsNoWrites(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	for i := range 3 {
		c.train("quiet-"+strconv.Itoa(i), "runPolicy: {cleanUpPolicy: all}\n"+chiefAndTwo)
	}
	for i := range 3 {
		c.awaitTraining("quiet-"+strconv.Itoa(i), v1beta1.JobRunning)
	}
	for _, call := range n.seen("PUT", "/genericjobs/") {
		require.True(t, strings.HasSuffix(call.path, "/status"), "%s: the spec was written though nobody had changed it: %s", call.path, call.body)
	}
	c.until("a reconcile that writes nothing", func() bool { // one that writes each time never does
		calls, _ := c.reconcileOver(c.training("quiet-1"))
		return len(calls) == 0
	})
}
