package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// finishes proves that a job in trouble keeps no other from running.
func (c *cluster) finishes(name string) {
	c.t.Helper()
	job := c.submit(name, "replicaSpecs: [{type: main, template: POD}]")
	c.finish(job, "main-0", 0)
	c.awaitPhase(name, v1beta1.JobSucceeded)
}

func TestSpecsThatCannotRunFailAndSayWhy(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	container := func(more string) string {
		return "replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: busybox, " + more + "}]}}}]"
	}
	for name, tc := range map[string]struct {
		spec  string
		words []string
	}{
		"unknown type in a variable":    {container(`args: ["$(replicas[ps])"]`), []string{"spec.replicaSpecs[worker].template", "container main", "$(replicas[ps])", "[worker]"}},
		"host without a service":        {container(`args: ["$(service.worker[0].host)"]`), []string{"set spec.service"}},
		"host of a rank out of range":   {"service: {}\n" + container(`args: ["$(service.worker[2].host)"]`), []string{"names rank 2", "from 0 to 1"}},
		"unknown port":                  {"service: {ports: [{name: a, port: 1}]}\n" + container(`env: [{name: X, value: "$(service.port[b])"}]`), []string{"$(service.port[b])", "[a]"}},
		"rule with a rank out of range": {"successRules: [{worker: [0, 7]}]\n" + container(`args: []`), []string{"spec.successRules[0].worker", "rank 7 does not exist", "from 0 to 1"}},
		"template that is no pod":       {strings.Replace(container(`args: []`), "name: main", "name: Not_A_Name", 1), []string{"spec.containers[0].name", "Correct the field"}},
		"volume that nobody defines":    {container(`volumeMounts: [{name: data, mountPath: /data}]`), []string{"spec.containers[0].volumeMounts[0].name", "Correct the field"}},
		"two ports of one service":      {"service: {ports: [{port: 1}, {port: 2}]}\n" + container(`args: []`), []string{"spec.ports[0].name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := c.in(t)
			id := strings.ReplaceAll(name, " ", "-")
			c.submit(id, tc.spec)
			job, told := c.awaitCondition(id, v1beta1.ConditionFailed, v1beta1.ReasonInvalidSpec)
			for _, words := range tc.words {
				require.Contains(t, told.Message, words)
			}
			require.Equal(t, v1beta1.JobFailed, job.Status.Phase)
			require.Empty(t, c.pods(job))
			c.awaitEvent(job, "Warning InvalidSpec", tc.words...)
		})
	}
	t.Run("another job finishes meanwhile", func(t *testing.T) {
		t.Parallel()
		c.in(t).finishes("healthy")
	})
}

func TestQuota(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	const gpu = "requests.example.com/gpu"
	probe := &corev1.Pod{Spec: onePodTemplate("main").Spec}
	probe.Spec.Containers[0].Resources.Limits = quantities("example.com/gpu", "1")
	c.quota(gpu, probe)
	c.submit("greedy", `replicaSpecs: [{type: worker, replicas: 100, template: {spec: {containers: [
{name: main, image: busybox, resources: {limits: {example.com/gpu: 1}}}]}}}]`)
	job, told := c.awaitCondition("greedy", v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "exceeded quota: quota")
	require.Contains(t, told.Message, "pause or delete the job")
	require.Equal(t, v1beta1.JobPending, job.Status.Phase)
	c.awaitEvent(job, "Warning CreateFailed", "exceeded quota")
	c.finishes("healthy")
	// Slow start: a reconcile of which the first creates are refused makes few others, and reconciles come at a rate that falls.
	asked := len(n.seen("POST", "/namespaces/"+c.ns+"/pods"))
	require.Less(t, asked, few)

	c.allow(gpu, "100")
	c.until("all pods", func() bool { return len(c.pods(job)) == 100 })
	c.await("greedy", func(j *v1beta1.GenericJob) bool { return condition(j, v1beta1.ConditionBlocked).Type == "" })
}

func TestAServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	ofStranger := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.ns},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	require.NoError(t, c.Create(c.ctx, ofStranger))
	c.submit("web", "service: {}\n"+twoWorkers)
	job := c.awaitPhase("web", v1beta1.JobRunning)
	ours := job.Status.ServiceName
	require.NotEmpty(t, ours)
	require.Empty(t, condition(job, v1beta1.ConditionBlocked).Type)
	c.awaitEvent(job, "Normal ServiceNamed", "Service "+c.ns+"/web", ours)
	for _, pod := range c.pods(job) {
		require.Equal(t, ours, pod.Spec.Subdomain)
	}
	have := &corev1.Service{}
	require.NoError(t, c.Get(c.ctx, keyOf(ofStranger), have))
	require.Equal(t, ofStranger.ResourceVersion, have.ResourceVersion)

	// When that Service is gone, and for pods that come later, the name is the same.
	require.NoError(t, c.Delete(c.ctx, ofStranger))
	require.NoError(t, c.Delete(c.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: ours, Namespace: c.ns}}))
	pod := c.pods(job)["worker-0"]
	require.NoError(t, c.Delete(c.ctx, &pod))
	c.until("both are replaced", func() bool {
		next, there := c.pods(job)["worker-0"]
		return there && next.UID != pod.UID && next.Spec.Subdomain == ours &&
			c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: ours}, have) == nil
	})
	require.Equal(t, ours, c.job("web").Status.ServiceName)
}

// Pods of two Services would not find each other.
func TestAServiceOfSomebodyElseThatComesLaterIsAConflict(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("web", "service: {}\n"+twoWorkers)
	job := c.awaitPhase("web", v1beta1.JobRunning)
	ofStranger := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.ns}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	for { // the operator may be faster
		require.NoError(t, client.IgnoreNotFound(c.Delete(c.ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.ns}})))
		if ofStranger.ResourceVersion = ""; c.Create(c.ctx, ofStranger) == nil {
			break
		}
	}
	_, told := c.awaitCondition("web", v1beta1.ConditionBlocked, v1beta1.ReasonNameConflict)
	require.Contains(t, told.Message, "Service "+c.ns+"/web exists already")
	require.Contains(t, told.Message, "Delete it, and the job goes on")
	c.awaitEvent(job, "Warning NameConflict", "Service "+c.ns+"/web")
	require.Empty(t, c.job("web").Status.ServiceName)
	require.NoError(t, c.Delete(c.ctx, ofStranger))
	c.await("web", func(j *v1beta1.GenericJob) bool { return condition(j, v1beta1.ConditionBlocked).Type == "" })
}

func TestWhatAJobsOwnPredecessorLeavesIsNoConflict(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	left := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "again", Namespace: c.ns, Finalizers: []string{"example.com/keep"}, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(
			&v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "again", UID: "of-the-first-one"}}, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	require.NoError(t, c.Create(c.ctx, left))
	c.submit("again", "service: {}\n"+twoWorkers)
	_, told := c.awaitCondition("again", v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "of a job of this name that is gone: it goes with that one")
	c.until("nothing holds it", func() bool { // the garbage collector asks for its deletion
		if c.gone(left) {
			return true
		}
		have := &corev1.Service{}
		require.NoError(t, c.Get(c.ctx, keyOf(left), have))
		have.Finalizers = nil
		return c.Update(c.ctx, have) == nil
	})
	job := c.awaitPhase("again", v1beta1.JobRunning)
	require.NotContains(t, strings.Join(c.told(job), "\n"), v1beta1.ReasonNameConflict)
}

func TestAServiceThatIsDeletedComesBack(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("net", "service: {ports: [{port: 80}]}\n"+twoWorkers)
	c.awaitPhase("net", v1beta1.JobRunning)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "net", Namespace: c.ns}}
	require.NoError(t, c.Get(c.ctx, keyOf(service), service))
	require.NoError(t, c.Delete(c.ctx, service.DeepCopy()))
	c.until("another Service", func() bool {
		have := &corev1.Service{}
		return c.Get(c.ctx, keyOf(service), have) == nil && have.UID != service.UID
	})
}

func TestAPodThatCannotStart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.be(func(k *kubelet) { k.idle = true })
	job := c.submit("pull", solo(`{}`))
	c.until("its pod", func() bool { return len(c.pods(job)) == 1 })
	wait := func(change func(*corev1.PodStatus)) {
		c.until("the pod's status", func() bool {
			pod := c.pods(job)["main-0"]
			change(&pod.Status)
			return c.Status().Update(c.ctx, &pod) == nil
		})
	}
	wait(func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient example.com/gpu.",
		}}
	})
	_, told := c.awaitCondition("pull", v1beta1.ConditionReplicaFailure, "Unschedulable")
	require.Contains(t, told.Message, "Insufficient example.com/gpu")
	wait(func(s *corev1.PodStatus) {
		s.Conditions = nil
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: `Back-off pulling image "busybx"`},
		}}}
	})
	job, told = c.awaitCondition("pull", v1beta1.ConditionReplicaFailure, "ImagePullBackOff")
	require.Contains(t, told.Message, "correct the image's name in the manifest and apply it again, or add the pull secret")
	c.awaitEvent(job, "Warning ImagePullBackOff", `"busybx"`)
	require.Equal(t, v1beta1.JobPending, job.Status.Phase)
	require.Equal(t, int32(1), job.Status.Aggregate.Creating+job.Status.Aggregate.Pending)
	c.be(func(k *kubelet) { k.idle = false })
	c.finishes("healthy")
	c.finish(job, "main-0", 0)
	c.awaitPhase("pull", v1beta1.JobSucceeded)
}

func TestAPriorityClassThatDoesNotExistBlocks(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.submit("urgent", "replicaSpecs: [{type: main, template: {spec: {priorityClassName: very-high, containers: [{name: main, image: busybox}]}}}]")
	_, told := c.awaitCondition("urgent", v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "very-high")
	c.finishes("healthy")
}

func TestALedgerThatMakesNoSense(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	c.submit("ledger", twoWorkers)
	job := c.awaitPhase("ledger", v1beta1.JobRunning)
	c.until("the ledger is mangled", func() bool {
		job = c.job("ledger")
		job.Status.Ledger = []v1beta1.TaskLedger{{Type: "worker", Succeeded: "1-0"}}
		return c.Status().Update(c.ctx, job) == nil
	})
	_, told := c.awaitCondition("ledger", v1beta1.ConditionBlocked, v1beta1.ReasonLedgerUnreadable)
	require.Contains(t, told.Message, "status.ledger[worker].succeeded")
	require.Equal(t, v1beta1.JobUnknown, c.job("ledger").Status.Phase)
	c.finishes("healthy")
	require.Len(t, c.pods(job), 2)

	c.until("the ledger is repaired", func() bool {
		job = c.job("ledger")
		job.Status.Ledger = nil
		return c.Status().Update(c.ctx, job) == nil
	})
	c.awaitPhase("ledger", v1beta1.JobRunning)
}

// What an earlier build has written under other names, the apiserver drops when this one's CRDs come.
func TestAJobOfAnEarlierBuildIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{network: &network{}})
	c.submit("earlier", twoWorkers)
	job := c.awaitPhase("earlier", v1beta1.JobRunning)
	before := c.pods(job)
	c.until("the status is as an earlier build wrote it", func() bool {
		job = c.job("earlier")
		job.Status.LedgerVersion = 0
		return c.Status().Update(c.ctx, job) == nil
	})
	_, told := c.awaitCondition("earlier", v1beta1.ConditionBlocked, v1beta1.ReasonLedgerUnreadable)
	require.Contains(t, told.Message, "delete it and create it again")
	c.finishes("healthy")
	require.Len(t, c.pods(job), len(before))
	require.NoError(t, c.Delete(c.ctx, job))
	c.until("the job is let go", func() bool { return len(c.pods(job)) == 0 })
}
