package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers"
)

// The tests of this file are attacks by a tenant: somebody who may create jobs, and here also pods, in a namespace. Kernel
// and translators have more of them; deploy/attacks.md lists all.

// TestNoObjectBlindsTheOperator: what the apiserver stores but Go cannot read would make the list of the whole kind fail,
// for all namespaces.
func TestNoObjectBlindsTheOperator(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for what, texts := range map[string][2]string{
		"a port above 2^31":              {"livenessProbe: {httpGet: {port: 4294967296}}", "livenessProbe.httpGet.port"},
		"a negative port below -2^31":    {"livenessProbe: {tcpSocket: {port: -4294967296}}", "livenessProbe.tcpSocket.port"},
		"an int32 above 2^31":            {"ports: [{containerPort: 4294967296}]", "ports[0].containerPort"},
		"a quantity that does not parse": {"resources: {limits: {cpu: 1e1.5}}", "resources.limits.cpu"},
		"a quantity that takes for ever": {`resources: {limits: {cpu: "1e-2147483648"}}`, "resources.limits.cpu"},
	} {
		template := "template: {spec: {containers: [{name: tensorflow, image: i, " + texts[0] + "}]}}"
		for kind, spec := range map[string]string{
			"batch.tensorstack.dev/v1beta1 GenericJob":            "replicaSpecs: [{type: worker, " + template + "}]",
			"batch.tensorstack.dev/v1beta1 TensorFlowTrainingJob": "replicaSpecs: [{type: worker, " + template + "}]",
			"batch.tensorstack.dev/v1beta1 PyTorchTrainingJob":    "replicaSpecs: [{type: worker, " + template + "}]",
			"kubeflow.org/v1 TFJob":                               "tfReplicaSpecs: {Worker: {" + template + "}}",
			"kubeflow.org/v1 PyTorchJob":                          "pytorchReplicaSpecs: {Worker: {" + template + "}}",
		} {
			version, name, _ := strings.Cut(kind, " ")
			err := c.Create(c.ctx, c.manifest(version, name, "poison", spec))
			require.True(t, apierrors.IsInvalid(err), "%s in %s: %v", what, kind, err)
			require.ErrorContains(t, err, texts[1])
		}
	}
	for _, spec := range []string{
		"successRules: [{worker: [4294967296]}]\nreplicaSpecs: [{type: worker, template: POD}]",
		"service: {ports: [{port: 80, targetPort: 4294967296}]}\nreplicaSpecs: [{type: worker, template: POD}]",
	} {
		err := c.Create(c.ctx, c.manifest(v1beta1.GroupVersion.String(), v1beta1.KindGenericJob, "poison", spec))
		require.True(t, apierrors.IsInvalid(err), "%v", err)
		require.ErrorContains(t, err, "4294967296")
	}
}

// manifest is an object as a user writes it, which Go may not be able to read.
func (c *cluster) manifest(apiVersion, kind, name, spec string) *unstructured.Unstructured {
	c.t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	fields := map[string]any{}
	require.NoError(c.t, yaml.Unmarshal([]byte(strings.ReplaceAll(spec, "POD", onePod)), &fields))
	u.Object["spec"] = fields
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	u.SetNamespace(c.ns)
	return u
}

func TestATemplateCannotPassItsPodOffAsAnotherJobs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	victim := c.submit("victim", "service: {ports: [{port: 80}]}\n"+twoWorkers)
	c.awaitPhase("victim", v1beta1.JobRunning)
	attacker := c.submit("attacker", strings.NewReplacer("UID", string(victim.UID), "NS", "kube-system").Replace(`
replicaSpecs: [{type: worker, template: {
  metadata: {
    namespace: NS, name: victim-worker-0, finalizers: [example.com/never],
    labels: {batch.tensorstack.dev/job-uid: UID, batch.tensorstack.dev/job-name: victim, batch.tensorstack.dev/replica-rank: "0",
      batch.tensorstack.dev/attempt: "7", batch.tensorstack.dev/mode-generation: "7", batch.tensorstack.dev/debug: "true",
      batch.tensorstack.dev/tensorboard: victim-board},
    annotations: {batch.tensorstack.dev/stopped: x, batch.tensorstack.dev/disrupted: x}},
  spec: {hostname: victim-worker-0, subdomain: victim, containers: [{name: main, image: busybox}]}}}]`))
	c.awaitPhase("attacker", v1beta1.JobRunning)
	pod := c.pods(attacker)["worker-0"]
	require.Equal(t, c.ns, pod.Namespace)
	require.True(t, metav1.IsControlledBy(&pod, attacker))
	require.Len(t, pod.OwnerReferences, 1)
	require.Equal(t, []string{v1beta1.FinalizerTracking}, pod.Finalizers)
	require.Equal(t, "attacker-worker-0", pod.Spec.Hostname)
	require.Empty(t, pod.Annotations)
	for key, value := range pod.Labels {
		if strings.HasPrefix(key, "batch.tensorstack.dev/") {
			require.NotContains(t, []string{string(victim.UID), "victim", "7", "true", "victim-board"}, value, key)
		}
	}
	service := &corev1.Service{}
	require.NoError(t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "victim"}, service))
	require.False(t, labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels)), "it joins the victim's Service")
}

// forge makes a pod that claims to be a replica of a job.
func (c *cluster) forge(job *v1beta1.GenericJob, name string, more map[string]string, owner ...metav1.OwnerReference) *corev1.Pod {
	c.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.ns, Name: name, Finalizers: []string{v1beta1.FinalizerTracking}, OwnerReferences: owner,
			Labels: map[string]string{
				v1beta1.LabelJobUID: string(job.UID), v1beta1.LabelJobName: job.Name, v1beta1.LabelReplicaType: "worker",
				v1beta1.LabelReplicaRank: "0", v1beta1.LabelAttempt: "0", v1beta1.LabelModeGeneration: "0",
			},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "evil"}}},
	}
	for key, value := range more {
		pod.Labels[key] = value
	}
	require.NoError(c.t, c.Create(c.ctx, pod))
	return pod
}

func controllerOf(job *v1beta1.GenericJob) metav1.OwnerReference {
	return *metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
}

// succeed has a pod that nobody's operator made end with success.
func (c *cluster) succeed(pod *corev1.Pod) {
	c.t.Helper()
	c.until("it has succeeded", func() bool {
		have := &corev1.Pod{}
		if err := c.Get(c.ctx, keyOf(pod), have); err != nil {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.End(c.ctx, have, 0) == nil
	})
}

// TestForgedLabelsMakeNoPodAReplica: labels say nothing about whose a pod is. They do select it for the Service, which
// nobody but Kubernetes could prevent: who may create pods in the namespace can do that.
func TestForgedLabelsMakeNoPodAReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.submit("victim", "service: {}\n"+twoWorkers)
	c.awaitPhase("victim", v1beta1.JobRunning)
	elsewhere := controllerOf(job)
	elsewhere.UID = "5d3cf5a4-0c9e-4b1f-8c1e-94a7e6f5d000"
	forged := map[string]*corev1.Pod{
		"without an owner":                      c.forge(job, "bare", nil),
		"with a rank that no job has":           c.forge(job, "rank", map[string]string{v1beta1.LabelReplicaRank: "4294967296"}, controllerOf(job)),
		"with a name that is not the replica's": c.forge(job, "name", map[string]string{v1beta1.LabelAttempt: "99"}, controllerOf(job)),
	}
	base := "victim-" + v1beta1.Hash5("victim", string(job.UID)) + "-worker-"
	forged["called as a rank that no job has"] = c.forge(job, base+"4294967296", map[string]string{v1beta1.LabelReplicaRank: "4294967296"}, controllerOf(job))
	orphan := c.forge(job, "elsewhere", nil, elsewhere)
	for _, pod := range forged {
		c.succeed(pod)
	}
	c.finishes("healthy")
	c.until("the orphan is let go", func() bool {
		return c.gone(orphan) // by the garbage collector, which looks for the owner in the pod's own namespace
	})
	have := c.job("victim")
	require.Equal(t, v1beta1.JobRunning, have.Status.Phase)
	require.Equal(t, "2/2", have.Status.Running)
	require.Empty(t, have.Status.Ledger)
	for what, pod := range forged {
		require.False(t, c.gone(pod), "a pod %s is deleted", what)
	}
	c.endWorkers(job)
	c.awaitPhase("victim", v1beta1.JobSucceeded)
}

// endWorkers ends the two workers of a job whose labels others wear, too.
func (c *cluster) endWorkers(job *v1beta1.GenericJob) {
	c.t.Helper()
	for rank := range 2 {
		c.succeed(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: c.ns, Name: fmt.Sprintf("victim-%s-worker-%d", v1beta1.Hash5("victim", string(job.UID)), rank),
		}})
	}
}

// TestAForgedAttemptStopsItsJobAndSaysWhichPod: the pod has all that a replica has and an attempt that never was. The job
// does nothing, rather than the wrong thing, and goes on when the pod is gone.
func TestAForgedAttemptStopsItsJobAndSaysWhichPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("victim", "runMode: {pause: {enabled: true}}\n"+twoWorkers)
	job := c.awaitPhase("victim", v1beta1.JobPaused)
	name := "victim-" + v1beta1.Hash5("victim", string(job.UID)) + "-worker-0"
	pod := c.forge(job, name, map[string]string{v1beta1.LabelAttempt: "99"}, controllerOf(job))
	_, told := c.awaitCondition("victim", v1beta1.ConditionBlocked, v1beta1.ReasonLedgerUnreadable)
	require.Contains(t, told.Message, "Pod["+name+"]")
	c.finishes("healthy")
	require.NoError(t, c.Delete(c.ctx, pod))
	pod.Finalizers = nil
	c.until("its finalizer is taken off", func() bool {
		return c.Patch(c.ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))) == nil || c.gone(pod)
	})
	c.awaitPhase("victim", v1beta1.JobPaused)
}

func TestAServiceThatWearsAJobsLabelsIsNotAdopted(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	ofStranger := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.ns, Labels: map[string]string{v1beta1.LabelJobUID: "x", v1beta1.LabelJobName: "web"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	require.NoError(t, c.Create(c.ctx, ofStranger))
	c.operate(operation{})
	c.submit("web", "service: {ports: [{port: 81}]}\n"+twoWorkers)
	require.NotEmpty(t, c.awaitPhase("web", v1beta1.JobRunning).Status.ServiceName)
	have := &corev1.Service{}
	require.NoError(t, c.Get(c.ctx, keyOf(ofStranger), have))
	require.Equal(t, ofStranger.ResourceVersion, have.ResourceVersion)
}

// TestJobsWhoseCallsHangHoldUpNoOther: all workers but one wait for the apiserver.
func TestJobsWhoseCallsHangHoldUpNoOther(t *testing.T) {
	t.Parallel()
	const hanging = controllers.DefaultConcurrency - 1
	c := newCluster(t)
	n, hang := &network{}, make(chan struct{})
	n.breakWhere(func(call call) bool {
		if call.verb == "POST" && strings.HasSuffix(call.path, "/pods") && strings.Contains(call.body, "hangs-") {
			<-hang
		}
		return false
	})
	c.operate(operation{network: n})
	for i := range hanging {
		c.submit(fmt.Sprintf("hangs-%d", i), twoWorkers)
	}
	c.until("their calls hang", func() bool { return len(n.seen("POST", "/namespaces/"+c.ns+"/pods")) >= hanging })
	c.finishes("healthy")
	require.Empty(t, c.names(c.job("hangs-0")))
	close(hang)
	c.awaitPhase("hangs-0", v1beta1.JobRunning)
}
