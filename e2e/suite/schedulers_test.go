package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// gangSchedulers are those that can be built from Go modules.
var gangSchedulers = []struct {
	name  string // of the scheduler, and of its field in spec.scheduler
	group string // of its PodGroups
	start func(*testing.T)
}{
	{"kubernetes", "scheduling.k8s.io", func(*testing.T) {}}, // it runs, with the gates that `up -gang` switches on
	{"volcano", "scheduling.volcano.sh", startVolcano},
	{"coscheduling", "scheduling.x-k8s.io", startCoscheduling},
}

// gangTests are what each of them is asked for. The names are those of the table in schedulers.md.
var gangTests = []struct {
	name string
	test func(*gangSpace)
}{
	{"deadlock", pairRunsInTurn},
	{"restart", restartAfterASuccess},
	{"pause", pauseGivesThePodGroupBack},
	{"gate", gateHoldsAGangBack},
}

// TestGangSchedulers runs jobs under schedulers as their projects release them. It needs the local cluster, started with
// `up -gang`, and all its slots for itself: `make e2e-schedulers`.
func TestGangSchedulers(t *testing.T) {
	if !withSchedulers {
		t.Skip("the schedulers are not there; make e2e-schedulers builds and starts them")
	}
	giveSlots(t, "local", 4)
	t.Run("none/deadlock", func(t *testing.T) { pairDeadlocks(newSpace(t)) })
	for _, scheduler := range gangSchedulers {
		t.Run(scheduler.name, func(t *testing.T) {
			scheduler.start(t)
			for _, each := range gangTests {
				t.Run(each.name, func(t *testing.T) {
					each.test(&gangSpace{space: newSpace(t), scheduler: scheduler.name, group: scheduler.group})
				})
			}
		})
	}
}

// gangSpace is a space for jobs of one gang scheduler.
type gangSpace struct {
	*space
	scheduler, group string
}

// slots is a resource of nodes, of which a job of the pair needs three pieces and the node has four.
const slots = "example.com/slots"

// giveSlots gives a node its slots for the rest of the test. The kubelet leaves them alone, as nobody but us reports them.
func giveSlots(t *testing.T, name string, n int) {
	t.Helper()
	set := func(ctx context.Context, n any) error {
		amount := map[string]any{slots: n}
		patch, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": amount, "allocatable": amount}})
		require.NoError(t, err)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		return cluster.Status().Patch(ctx, node, client.RawPatch(types.MergePatchType, patch))
	}
	require.NoError(t, set(t.Context(), strconv.Itoa(n)))
	t.Cleanup(func() { _ = set(context.Background(), nil) })
}

// members are the replicas of a job of the pair. The last is of a type of its own, so that it can be scheduled last.
var members = []struct {
	replicaType string
	rank        int
}{{"first", 0}, {"first", 1}, {"last", 0}}

// submitPair creates two jobs, of which the node has room for one. Each replica has a slot for itself, and holds it until all its peers
// run, as a collective operation does. Then it exits with 0 when it is told to.
func (s *space) submitPair(policy, priorityClass string) []*v1beta1.GenericJob {
	template := strings.Replace(pod("resolve $(service.first[0].host) $(service.first[1].host) $(service.last[0].host) then obey"),
		`"imagePullPolicy"`, `"resources": {"limits": {"`+slots+`": "1"}}, "imagePullPolicy"`, 1)
	before := strings.Replace(template, `{"spec": {`, `{"spec": {"priorityClassName": "`+priorityClass+`", `, 1)
	var jobs []*v1beta1.GenericJob
	for _, name := range []string{"one", "two"} {
		jobs = append(jobs, s.submit(name, policy+`
service: {ports: [{name: train, port: 7000}]}
replicaSpecs:
- {type: first, replicas: 2, template: `+before+`}
- {type: last, template: `+template+`}`))
	}
	return jobs
}

// placed is how many replicas of a job have a node.
func (s *space) placed(job *v1beta1.GenericJob) int {
	n := 0
	for _, pod := range s.pods(job) {
		if pod.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

// pairDeadlocks shows what gang scheduling is for: each job holds two of the four slots, and waits for a third for ever. The
// priority makes this sure: a pod that comes last would make room for those that come first.
func pairDeadlocks(s *space) {
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.ns + "-first"}, Value: 1000}
	require.NoError(s.t, s.Create(s.ctx, class))
	s.t.Cleanup(func() { _ = cluster.Delete(context.Background(), class) })
	jobs := s.submitPair("", class.Name)
	halves := func() bool {
		for _, job := range jobs {
			pods := s.pods(job)
			first, second, last := pods["first-0"], pods["first-1"], pods["last-0"]
			if first.Spec.NodeName == "" || second.Spec.NodeName == "" || last.Name == "" || last.Spec.NodeName != "" {
				return false
			}
		}
		return true
	}
	s.until("each job holds two slots", halves)
	s.schedulerHasLooked("")
	require.True(s.t, halves(), "neither job lets go of its half")
	for _, job := range jobs { // their slots are the next test's
		require.Nil(s.t, s.job(job.Name).Status.CompletionTime)
		require.NoError(s.t, s.Delete(s.ctx, job))
	}
	for _, job := range jobs {
		s.awaitPods(job)
	}
}

// schedulerHasLooked has jobs that need no slot run and succeed one after another. The scheduler places each after pods that came before,
// so that it has had its turn with these.
func (s *space) schedulerHasLooked(policy string) {
	s.t.Helper()
	for _, name := range []string{"looked-0", "looked-1", "looked-2"} {
		job := s.submit(name, policy+`
replicaSpecs: [{type: main, template: `+pod("obey")+`}]`)
		s.awaitRunning(name, "1/1")
		s.end(job, "main", 0, 0)
		s.awaitPhase(name, v1beta1.JobSucceeded)
	}
}

// pairRunsInTurn has the same two jobs under a gang scheduler.
func pairRunsInTurn(s *gangSpace) {
	jobs := s.submitPair(s.policy(), "")
	ahead, behind := jobs[0], jobs[1]
	s.until("one of the two jobs runs", func() bool {
		if s.job(behind.Name).Status.Running == "3/3" {
			ahead, behind = behind, ahead
		}
		return s.job(ahead.Name).Status.Running == "3/3"
	})
	require.Zero(s.t, s.placed(behind), "it takes no slot before it can have three")
	for _, job := range []*v1beta1.GenericJob{ahead, behind} {
		s.awaitRunning(job.Name, "3/3")
		for _, m := range members {
			s.end(job, m.replicaType, m.rank, 0)
		}
		done := s.awaitPhase(job.Name, v1beta1.JobSucceeded)
		require.Zero(s.t, done.Status.BackoffCount)
	}
	s.awaitPodGroups(0)
}

// restartAfterASuccess has a replica restart when another has finished: a minimum of three would never be reached again.
func restartAfterASuccess(s *gangSpace) {
	job := s.submit("job", s.policy()+`
replicaSpecs: [{type: worker, replicas: 3, restartPolicy: {policy: OnFailure, limit: 1}, template: `+pod("obey")+`}]`)
	s.awaitRunning("job", "3/3")
	s.end(job, "worker", 0, 0)
	s.awaitRunning("job", "2/2")
	s.end(job, "worker", 1, 1)
	s.await("job", "worker-1 restarted", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == 1 })
	s.awaitRunning("job", "2/2")
	s.end(job, "worker", 1, 0)
	s.end(job, "worker", 2, 0)
	done := s.awaitPhase("job", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 1, 2, 1)
	s.awaitPodGroups(0)
}

// pauseGivesThePodGroupBack has nothing of a job stand in the scheduler's way while it is paused.
func pauseGivesThePodGroupBack(s *gangSpace) {
	job := s.submit("job", s.policy()+`
replicaSpecs: [{type: worker, replicas: 3, template: `+pod("obey")+`}]`)
	s.awaitRunning("job", "3/3")
	s.end(job, "worker", 0, 0)
	s.awaitRunning("job", "2/2")
	s.awaitPodGroups(1)
	s.edit("job", func(spec *v1beta1.GenericJobSpec) {
		spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	s.awaitPhase("job", v1beta1.JobPaused)
	s.awaitPodGroups(0)
	s.edit("job", func(spec *v1beta1.GenericJobSpec) { spec.RunMode.Pause.Enabled = false })
	s.awaitRunning("job", "2/2")
	s.awaitPodGroups(1)
	s.end(job, "worker", 1, 0)
	s.end(job, "worker", 2, 0)
	done := s.awaitPhase("job", v1beta1.JobSucceeded)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "worker", 1, 2, 2)
	s.awaitPodGroups(0)
}

// gateHoldsAGangBack has somebody else gate one of three pods: none is placed, and the job says whose turn it is. The pods ask for
// something, for Volcano counts those that ask for nothing as if they were placed.
func gateHoldsAGangBack(s *gangSpace) {
	const gate = "e2e.genericjob.test/gate"
	gated := strings.Replace(slotted("obey"), `{"spec": {`, `{"spec": {"schedulingGates": [{"name": "`+gate+`"}], `, 1)
	job := s.submit("job", s.policy()+`
replicaSpecs:
- {type: open, replicas: 2, template: `+slotted("obey")+`}
- {type: gated, template: `+gated+`}`)
	told := s.await("job", "the gate", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionRunning).Message, gate)
	})
	require.Contains(s.t, condition(told, v1beta1.ConditionRunning).Message, "Waiting for replica gated-0: SchedulingGated: ")
	s.schedulerHasLooked(s.policy())
	require.Zero(s.t, s.placed(job))
	held := s.pods(job)["gated-0"]
	opened := held.DeepCopy()
	opened.Spec.SchedulingGates = nil
	require.NoError(s.t, s.Patch(s.ctx, opened, client.MergeFrom(&held)))
	s.awaitRunning("job", "3/3")
	s.end(job, "open", 0, 0)
	s.end(job, "open", 1, 0)
	s.end(job, "gated", 0, 0)
	s.succeedsUncounted("job")
}

func (s *gangSpace) policy() string { return "scheduler: {" + s.scheduler + ": {}}" }

// awaitPodGroups waits until so many PodGroups are in the namespace.
func (s *gangSpace) awaitPodGroups(n int) {
	s.t.Helper()
	served, err := s.RESTMapper().RESTMapping(schema.GroupKind{Group: s.group, Kind: "PodGroup"})
	require.NoError(s.t, err)
	groups := &unstructured.UnstructuredList{}
	groups.SetGroupVersionKind(served.GroupVersionKind.GroupVersion().WithKind("PodGroupList"))
	s.until(fmt.Sprintf("%d PodGroups of %s", n, served.GroupVersionKind.GroupVersion()), func() bool {
		require.NoError(s.t, s.List(s.ctx, groups, client.InNamespace(s.ns)))
		return len(groups.Items) == n
	})
}
