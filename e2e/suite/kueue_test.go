package suite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// kueueTests are what we ask of jobs in a queue of Kueue's. Each has a queue of its own, with so many slots of a flavor, and so many
// pods. The names are those of the table in schedulers.md.
var kueueTests = []struct {
	name        string
	slots, pods int
	flavor      string
	test        func(*space)
}{
	{"quota", 4, many, "pool", queuedJobFollows},
	{"preemption", 3, many, "pool", preemptedJobResumes},
	{"pods that are not ready", 3, many, "pool", lateJobIsQueuedAgain},
	{"switched off", 3, many, "pool", switchedOffJobStops},
	{"topology", 6, many, "hosts", topologyPlacesPods},
	{"elastic", 4, 4, "pool", queuedElasticJobKeepsItsStore},
	{"kinds", 1, many, "pool", everyKindIsQueued},
	{"time", 3, many, "pool", queuedTimeIsKept},
}

// many is more pods than any test has.
const many = 100

// TestKueue has Kueue, as its project releases it, queue jobs of every kind. It needs the local cluster for itself.
func TestKueue(t *testing.T) {
	if !withSchedulers {
		t.Skip("Kueue is not there; make e2e-schedulers builds and starts it")
	}
	giveSlots(t, "local", 4)
	labelNode(t, "local", "example.com/pool", "training")
	served := newSpace(t)
	served.serveKubeflow()
	startKueue(served)
	applied(t, `
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: low}
value: 1
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: WorkloadPriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata: {name: hosts}
spec: {levels: [{nodeLabel: kubernetes.io/hostname}]}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: pool}
spec: {nodeLabels: {example.com/pool: training}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata: {name: hosts}
spec: {nodeLabels: {example.com/pool: training}, topologyName: hosts, tolerations: [{key: genericjob.test/added-node}]}
`)
	t.Run("document", func(t *testing.T) { documentIsFollowed(newSpace(t)) })
	for _, each := range kueueTests {
		t.Run(each.name, func(t *testing.T) {
			s := newSpace(t)
			applied(t, fmt.Sprintf(`
apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata: {name: %[1]s}
spec:
  namespaceSelector: {}
  preemption: {withinClusterQueue: LowerPriority}
  resourceGroups:
  - coveredResources: [%[2]s, pods]
    flavors: [{name: %[3]s, resources: [{name: %[2]s, nominalQuota: %[4]d}, {name: pods, nominalQuota: %[5]d}]}]
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata: {name: team, namespace: %[1]s}
spec: {clusterQueue: %[1]s}
`, s.ns, slots, each.flavor, each.slots, each.pods))
			each.test(s)
		})
	}
}

// slotted is a pod template that needs a slot.
func slotted(steps string) string {
	return strings.Replace(pod(steps), `"imagePullPolicy"`, `"resources": {"limits": {"`+slots+`": "1"}}, "imagePullPolicy"`, 1)
}

// queued submits a job of three replicas to the queue, each of which ends when it is told to.
func (s *space) queued(name, class, template string) *v1beta1.GenericJob {
	s.t.Helper()
	return s.submit(name, "{scheduler: {kueue: {queueName: team, priorityClass: "+class+"}}, "+
		"replicaSpecs: [{type: worker, replicas: 3, restartPolicy: {policy: OnFailure, limit: 3}, template: "+template+"}]}")
}

// finish ends replicas of a job well.
func (s *space) finish(job *v1beta1.GenericJob, ranks ...int) {
	s.t.Helper()
	for _, rank := range ranks {
		s.end(job, "worker", rank, 0)
	}
}

// succeedsUncounted waits for the success of a job, of which no replica was restarted or lost for anything that counts.
func (s *space) succeedsUncounted(name string) {
	s.t.Helper()
	done := s.awaitPhase(name, v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
}

// queuedJobFollows has a quota of four slots for two jobs of three. The second goes on when two replicas of the first have finished,
// though Kueue was killed meanwhile.
func queuedJobFollows(s *space) {
	first := s.queued("first", "low", slotted("obey"))
	s.awaitRunning("first", "3/3")
	for _, pod := range s.pods(first) {
		require.Equal(s.t, "training", pod.Spec.NodeSelector["example.com/pool"], "the flavor's nodes")
	}
	second := s.queued("second", "low", slotted("obey"))
	s.await("second", "Kueue's words", func(j *v1beta1.GenericJob) bool {
		c := condition(j, v1beta1.ConditionRunning)
		return c.Reason == v1beta1.ReasonQueued && strings.Contains(c.Message, "quota")
	})
	s.finish(first, 0)
	killKueue(s.t)
	s.finish(first, 1)
	s.awaitRunning("second", "3/3")
	require.Equal(s.t, v1beta1.JobRunning, s.job("first").Status.Phase)
	s.requireRuns(second, "worker", 1, 1, 1)
	s.finish(first, 2)
	s.finish(second, 0, 1, 2)
	s.succeedsUncounted("first")
	s.succeedsUncounted("second")
}

func preemptedJobResumes(s *space) {
	victim := s.queued("victim", "low", slotted("obey"))
	s.awaitRunning("victim", "3/3")
	s.finish(victim, 0)
	s.awaitRunning("victim", "2/2")
	urgent := s.queued("urgent", "high", slotted("obey"))
	s.awaitRunning("urgent", "3/3")
	s.awaitEvent(victim, corev1.EventTypeNormal, "Preempted")
	require.Equal(s.t, v1beta1.JobPending, s.job("victim").Status.Phase)
	s.finish(urgent, 0, 1, 2)
	s.succeedsUncounted("urgent")
	s.awaitRunning("victim", "2/2")
	s.finish(victim, 1, 2)
	s.succeedsUncounted("victim")
	s.requireRuns(victim, "worker", 1, 2, 2)
}

// lateJobIsQueuedAgain has the pods of a job find no node for longer than Kueue waits.
func lateJobIsQueuedAgain(s *space) {
	template := strings.Replace(slotted("obey"), `{"spec": {`, `{"spec": {"nodeSelector": {"example.com/late": "true"}, `, 1)
	job := s.queued("late", "low", template)
	s.awaitEvent(job, corev1.EventTypeNormal, "PodsReadyTimeout")
	labelNode(s.t, "local", "example.com/late", "true")
	s.awaitRunning("late", "3/3")
	s.finish(job, 0, 1, 2)
	s.succeedsUncounted("late")
}

func switchedOffJobStops(s *space) {
	job := s.queued("job", "low", slotted("obey"))
	s.awaitRunning("job", "3/3")
	s.switchWorkload(job, false)
	s.awaitPods(job)
	s.await("job", "what to do", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, "spec.active")
	})
	s.switchWorkload(job, true)
	s.awaitRunning("job", "3/3")
	require.NoError(s.t, s.Delete(s.ctx, s.workload(job)))
	s.await("job", "another admission", func(*v1beta1.GenericJob) bool { return s.runs(job, "worker", 2) == 3 })
	s.awaitRunning("job", "3/3")
	s.finish(job, 0, 1, 2)
	s.succeedsUncounted("job")
}

// workload is that of a job.
func (s *space) workload(job *v1beta1.GenericJob) *unstructured.Unstructured {
	s.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.FromAPIVersionAndKind("kueue.x-k8s.io/v1beta2", "WorkloadList"))
	require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}))
	require.Len(s.t, list.Items, 1)
	return &list.Items[0]
}

func (s *space) switchWorkload(job *v1beta1.GenericJob, active bool) {
	s.t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec": {"active": %t}}`, active))
	require.NoError(s.t, s.Patch(s.ctx, s.workload(job), patch))
}

// everyKindIsQueued has a job of each kind in a queue with room for one of them.
func everyKindIsQueued(s *space) {
	spec := map[string]string{
		"genericjob":            "apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\nspec: {replicaSpecs: [{type: worker, template: %s}]}",
		"tensorflowtrainingjob": "apiVersion: batch.tensorstack.dev/v1beta1\nkind: TensorFlowTrainingJob\nspec: {replicaSpecs: [{type: worker, template: %s}]}",
		"pytorchtrainingjob":    "apiVersion: batch.tensorstack.dev/v1beta1\nkind: PyTorchTrainingJob\nspec: {replicaSpecs: [{type: worker, template: %s}]}",
		"tfjob":                 "apiVersion: kubeflow.org/v1\nkind: TFJob\nspec: {runPolicy: {suspend: true}, tfReplicaSpecs: {Worker: {template: %s}}}",
		"pytorchjob":            "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nspec: {runPolicy: {suspend: true}, pytorchReplicaSpecs: {Master: {template: %s}}}",
	}
	container := map[string]string{"genericjob": "main", "tensorflowtrainingjob": "tensorflow", "pytorchtrainingjob": "pytorch", "tfjob": "tensorflow", "pytorchjob": "pytorch"}
	for kind, text := range spec {
		template := strings.Replace(slotted("obey"), `"name": "main", "image"`, `"name": "`+container[kind]+`", "image"`, 1)
		out, err := s.apply(fmt.Sprintf(text, template) + "\nmetadata: {name: " + kind + ", labels: {kueue.x-k8s.io/queue-name: team}}")
		require.NoError(s.t, err, out)
	}
	for range spec {
		var running *v1beta1.GenericJob
		s.until("one of them runs", func() bool {
			list := &v1beta1.GenericJobList{}
			require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns)))
			running = nil
			for i := range list.Items {
				if list.Items[i].Status.Phase == v1beta1.JobRunning {
					require.Nil(s.t, running, "there is room for one")
					running = &list.Items[i]
				}
			}
			return running != nil
		})
		s.end(running, running.Spec.ReplicaSpecs[0].Type, 0, 0)
		s.succeedsUncounted(running.Name)
	}
}
