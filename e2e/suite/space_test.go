package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// patience bounds every wait. No test depends on how fast anything is.
const patience = 15 * time.Minute

// namespaceLabel marks the namespaces of these tests.
const namespaceLabel = "e2e.genericjob.test"

// space is a namespace of the cluster that one test has for itself.
type space struct {
	client.WithWatch
	t   *testing.T
	ctx context.Context
	ns  string
	births
}

// births are the pods that ever were in a namespace: UIDs by name. More than one means that a replica was run again.
type births struct {
	mu   sync.Mutex
	seen map[string]map[types.UID]bool
}

func newSpace(t *testing.T) *space {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-", Labels: map[string]string{namespaceLabel: "true"}}}
	require.NoError(t, cluster.Create(t.Context(), ns))
	s := &space{WithWatch: cluster, t: t, ctx: t.Context(), ns: ns.Name, births: births{seen: map[string]map[types.UID]bool{}}}
	t.Cleanup(func() {
		if t.Failed() {
			s.showRemains()
		}
		_ = cluster.Delete(context.Background(), ns)
	})
	s.watchPods()
	return s
}

// watchPods notes all pods of the namespace. It begins before the first one.
func (s *space) watchPods() {
	pods, err := s.Watch(s.ctx, &corev1.PodList{}, client.InNamespace(s.ns))
	require.NoError(s.t, err)
	go func() {
		for err == nil {
			for e := range pods.ResultChan() {
				if pod, ok := e.Object.(*corev1.Pod); ok && e.Type == watch.Added {
					s.note(pod)
				}
			}
			pods, err = s.Watch(s.ctx, &corev1.PodList{}, client.InNamespace(s.ns))
		}
	}()
}

func (b *births) note(pod *corev1.Pod) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[pod.Name] == nil {
		b.seen[pod.Name] = map[types.UID]bool{}
	}
	b.seen[pod.Name][pod.UID] = true
}

// runs is how many pods a replica has had.
func (s *space) runs(job *v1beta1.GenericJob, replicaType string, rank int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen[spec.PodName(job, replicaType, rank)])
}

// requireRuns demands the number of pods that each rank of a type has had.
func (s *space) requireRuns(job *v1beta1.GenericJob, replicaType string, want ...int) {
	s.t.Helper()
	for rank, n := range want {
		require.Equal(s.t, n, s.runs(job, replicaType, rank), "pods of %s %s-%d", job.Name, replicaType, rank)
	}
}

// pod is a pod template, in JSON, whose worker takes these steps.
func pod(steps string) string {
	args, _ := json.Marshal(strings.Fields(steps))
	return `{"spec": {"terminationGracePeriodSeconds": 10, "containers": [` + fmt.Sprintf(
		`{"name": "main", "image": %q, "imagePullPolicy": "Never", "args": %s, "env": [{"name": "RANK", "value": "$(rank)"}, `+
			`{"name": "ATTEMPT", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['%s']"}}}]}`,
		image, args, v1beta1.LabelAttempt) + `]}}`
}

// submit creates a job from the YAML of its spec.
func (s *space) submit(name, spec string) *v1beta1.GenericJob {
	s.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.ns}}
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(spec), &job.Spec))
	require.NoError(s.t, s.Create(s.ctx, job))
	return job
}

func (s *space) job(name string) *v1beta1.GenericJob {
	s.t.Helper()
	job := &v1beta1.GenericJob{}
	require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Namespace: s.ns, Name: name}, job))
	return job
}

// tryEdit changes a job's spec, again and again until no status write comes between.
func (s *space) tryEdit(name string, change func(*v1beta1.GenericJobSpec)) error {
	s.t.Helper()
	for {
		job := s.job(name)
		change(&job.Spec)
		if err := s.Update(s.ctx, job); !apierrors.IsConflict(err) {
			return err
		}
	}
}

func (s *space) edit(name string, change func(*v1beta1.GenericJobSpec)) {
	s.t.Helper()
	require.NoError(s.t, s.tryEdit(name, change))
}

// until waits until what is asked for holds.
func (s *space) until(what string, ask func() bool) {
	s.t.Helper()
	until(s.t, what, ask)
}

// await waits until a job is as asked for.
func (s *space) await(name, what string, ask func(*v1beta1.GenericJob) bool) *v1beta1.GenericJob {
	s.t.Helper()
	var job *v1beta1.GenericJob
	s.until(fmt.Sprintf("job %s: %s", name, what), func() bool {
		job = s.job(name)
		return ask(job)
	})
	return job
}

func (s *space) awaitPhase(name string, phase v1beta1.JobPhase) *v1beta1.GenericJob {
	s.t.Helper()
	job := s.await(name, "phase "+string(phase), func(j *v1beta1.GenericJob) bool {
		return j.Status.Phase == phase || j.Status.CompletionTime != nil
	})
	require.Equal(s.t, phase, job.Status.Phase, "%s: %v", name, job.Status.Conditions)
	return job
}

// awaitRunning waits until all pods of a job run.
func (s *space) awaitRunning(name string, replicas string) *v1beta1.GenericJob {
	s.t.Helper()
	return s.await(name, "running "+replicas, func(j *v1beta1.GenericJob) bool {
		return j.Status.Phase == v1beta1.JobRunning && j.Status.Running == replicas
	})
}

// awaitBlocked waits until a job cannot go on for a reason, and returns what it says about it.
func (s *space) awaitBlocked(name, reason string) string {
	s.t.Helper()
	job := s.await(name, "blocked by "+reason, func(j *v1beta1.GenericJob) bool {
		c := condition(j, v1beta1.ConditionBlocked)
		return c.Status == metav1.ConditionTrue && c.Reason == reason
	})
	return condition(job, v1beta1.ConditionBlocked).Message
}

func condition(job *v1beta1.GenericJob, t v1beta1.JobConditionType) v1beta1.JobCondition {
	for _, c := range job.Status.Conditions {
		if c.Type == t {
			return c
		}
	}
	return v1beta1.JobCondition{}
}

// awaitEvent waits for an event about a job that holds these words.
func (s *space) awaitEvent(job client.Object, kind, words string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s event about %s with %q", kind, job.GetName(), words), func() bool {
		list := &eventsv1.EventList{}
		require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns)))
		for _, e := range list.Items {
			if e.Regarding.UID == job.GetUID() && e.Type == kind && strings.Contains(e.Reason+": "+e.Note, words) {
				return true
			}
		}
		return false
	})
}

// pods are the pods of a job that are there, by type and rank, such as "worker-0".
func (s *space) pods(job *v1beta1.GenericJob) map[string]corev1.Pod {
	s.t.Helper()
	list := &corev1.PodList{}
	require.NoError(s.t, s.List(s.ctx, list, client.InNamespace(s.ns), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}))
	pods := map[string]corev1.Pod{}
	for _, pod := range list.Items {
		pods[pod.Labels[v1beta1.LabelReplicaType]+"-"+pod.Labels[v1beta1.LabelReplicaRank]] = pod
	}
	return pods
}

// awaitPods waits until exactly these replicas have pods.
func (s *space) awaitPods(job *v1beta1.GenericJob, want ...string) {
	s.t.Helper()
	s.until(fmt.Sprintf("pods of %s: %v", job.Name, want), func() bool {
		have := s.pods(job)
		for _, name := range want {
			if _, there := have[name]; !there {
				return false
			}
		}
		return len(have) == len(want)
	})
}

// awaitReleased waits until no pod of a job has a finalizer.
func (s *space) awaitReleased(job *v1beta1.GenericJob) {
	s.t.Helper()
	s.until("pods of "+job.Name+" without finalizers", func() bool {
		for _, pod := range s.pods(job) {
			if len(pod.Finalizers) > 0 {
				return false
			}
		}
		return true
	})
}

// awaitGone waits until an object no longer exists.
func (s *space) awaitGone(o client.Object) {
	s.t.Helper()
	s.until(fmt.Sprintf("%T %s gone", o, o.GetName()), func() bool {
		have := o.DeepCopyObject().(client.Object)
		err := s.Get(s.ctx, client.ObjectKeyFromObject(o), have)
		if !apierrors.IsNotFound(err) {
			require.NoError(s.t, err)
		}
		return apierrors.IsNotFound(err) || o.GetUID() != "" && have.GetUID() != o.GetUID()
	})
}

// end has the worker of a replica exit with a code. It must have got as far as obeying.
func (s *space) end(job *v1beta1.GenericJob, replicaType string, rank, code int) {
	s.t.Helper()
	name := spec.PodName(job, replicaType, rank)
	s.until("pod "+name+" obeys", func() bool {
		// Its exit code may be that of the worker that it ended.
		text, _ := s.kubectl("exec", name, "--", "/worker", "end", fmt.Sprint(code))
		return strings.Contains(text, "told")
	})
}

// logs are what a replica's present pod has printed.
func (s *space) logs(job *v1beta1.GenericJob, replicaType string, rank int) string {
	s.t.Helper()
	text, err := s.kubectl("logs", spec.PodName(job, replicaType, rank))
	require.NoError(s.t, err, text)
	return text
}

// awaitLog waits until a replica's present pod has printed some words.
func (s *space) awaitLog(job *v1beta1.GenericJob, replicaType string, rank int, words string) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s-%d prints %q", replicaType, rank, words), func() bool {
		text, err := s.kubectl("logs", spec.PodName(job, replicaType, rank))
		return err == nil && strings.Contains(text, words)
	})
}

func (s *space) kubectl(args ...string) (string, error) {
	text, err := exec.CommandContext(s.ctx, kubectl, append([]string{"--namespace", s.ns}, args...)...).CombinedOutput()
	return string(text), err
}

// othersGoOn proves that another job of the namespace is not held up by what the test has broken.
func (s *space) othersGoOn() {
	s.t.Helper()
	s.submit("other", `{replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	s.awaitPhase("other", v1beta1.JobSucceeded)
}

// showRemains prints what a failed test has left, because its namespace goes.
func (s *space) showRemains() {
	for _, args := range [][]string{
		{"get", "genericjobs", "--output", "yaml"}, {"get", "pods,services,events"}, {"describe", "pods"},
		{"logs", "--selector", v1beta1.LabelJobName, "--all-containers", "--prefix", "--tail=40", "--max-log-requests=100"},
	} {
		text, _ := exec.Command(kubectl, append([]string{"--namespace", s.ns}, args...)...).CombinedOutput()
		s.t.Logf("%v in %s:\n%s", args, s.ns, text)
	}
}
