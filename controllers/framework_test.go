package controllers_test

import (
	"context"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorflow"
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

func TestAFinishedTrainingJobCreatesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.train("done", chiefAndTwo)
	gj := c.awaitGenericJob(job)
	c.finish(gj, "chief-0", 0)
	c.awaitTraining("done", v1beta1.JobSucceeded)
	n.forget()
	require.NoError(t, c.Delete(c.ctx, gj))
	c.until("the GenericJob is gone", func() bool { return c.gone(gj) })
	// A later job has gone its whole way, so the reconciles that follow from the deletion are over.
	later := c.train("later", chiefAndTwo)
	c.finish(c.awaitGenericJob(later), "chief-0", 0)
	c.awaitTraining("later", v1beta1.JobSucceeded)
	require.True(t, c.gone(gj))
	for _, call := range n.seen("POST", "/genericjobs") { // a stale cache may ask twice for the same one
		require.Contains(t, call.body, `"uid":"`+string(later.UID)+`"`)
	}
}

// The operator's cache may be older than what it wrote itself before it restarted.
func TestAStaleViewOfAFinishedTrainingJobCreatesNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	job := c.train("stale", chiefAndTwo)
	stale := job.DeepCopy()
	job.Status.Phase = v1beta1.JobSucceeded
	require.NoError(t, c.Status().Update(c.ctx, job))
	calls, result := c.reconcileOver(stale)
	require.Empty(t, calls)
	require.NotZero(t, result.RequeueAfter)
	require.NoError(t, c.Delete(c.ctx, job))
	calls, _ = c.reconcileOver(stale)
	require.Empty(t, calls, "it is gone altogether")
}

// reconcileOver makes one reconcile over a training job as it is given, and returns what it changed. The cache does not show objects of
// the kinds that are hidden.
func (c *cluster) reconcileOver(job *v1beta1.TensorFlowTrainingJob, hidden ...client.Object) ([]call, ctrl.Result) {
	c.t.Helper()
	n := &network{}
	cfg := rest.CopyConfig(operator)
	cfg.Wrap(n.wrap)
	live, err := client.NewWithWatch(cfg, client.Options{Scheme: c.Scheme()})
	require.NoError(c.t, err)
	r := &training.Reconciler{
		Registration: framework.Register(tensorflow.Translator),
		Client:       interceptor.NewClient(live, showing(job, hidden)), Live: live,
		Recorder: events.NewFakeRecorder(100), Clock: clocktesting.NewFakePassiveClock(c.began.Add(c.ahead)),
		Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob), Memory: &training.Memory{},
	}
	result, err := r.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(job)})
	require.NoError(c.t, err)
	return n.calls, result
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

func TestARefusedGenericJobIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	const count = "count/genericjobs.batch.tensorstack.dev"
	c.quota(count, &v1beta1.GenericJob{Spec: v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "main", Template: onePodTemplate("main")}}}})
	job := c.train("greedy", chiefAndTwo)
	told := c.awaitBlocked("greedy", v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "exceeded quota")
	c.awaitEvent(job, "Warning CreateFailed", "exceeded quota")
	c.allow(count, "1")
	c.awaitTraining("greedy", v1beta1.JobRunning)
}

func quantities(name corev1.ResourceName, n string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(n)}
}

// quota allows none of a resource in the namespace, and waits until the apiserver heeds it: the create of probe must be denied. There is
// nobody but the test who writes what a quota allows.
func (c *cluster) quota(name corev1.ResourceName, probe client.Object) *corev1.ResourceQuota {
	c.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota", Namespace: c.ns}, Spec: corev1.ResourceQuotaSpec{Hard: quantities(name, "0")}}
	require.NoError(c.t, c.Create(c.ctx, quota))
	c.allow(name, "0")
	probe.SetNamespace(c.ns)
	probe.SetName("probe")
	c.until("the quota is heeded", func() bool {
		err := c.Create(c.ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	return quota
}

// allow lets the namespace have so many of what its quota counts. The quota's own admission plugin writes to it, too.
func (c *cluster) allow(name corev1.ResourceName, n string) {
	c.t.Helper()
	c.until("the quota's status is written", func() bool {
		quota := &corev1.ResourceQuota{}
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "quota"}, quota))
		if quota.Status.Hard = quantities(name, n); quota.Status.Used == nil {
			quota.Status.Used = quantities(name, "0")
		}
		return c.Status().Update(c.ctx, quota) == nil
	})
}

// showing answers reads of a training job with this view of it.
func showing(job *v1beta1.TensorFlowTrainingJob, hidden []client.Object) interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, live client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if have, ok := o.(*v1beta1.TensorFlowTrainingJob); ok {
				job.DeepCopyInto(have)
				return nil
			}
			for _, h := range hidden {
				if reflect.TypeOf(h) == reflect.TypeOf(o) {
					return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
				}
			}
			return live.Get(ctx, key, o, opts...)
		},
	}
}
