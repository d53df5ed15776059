package calls

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// namespace is an apiserver's view of the pods of one namespace. Each create takes a millisecond, and so does a look without one.
type namespace struct {
	client.Client
	clock   *testingclock.FakePassiveClock
	refused error // the answer to each create
	last    answer

	mu    sync.Mutex
	pods  map[string]*corev1.Pod
	asked map[string][]time.Time // creates, and looks without a create, by the name of the job
	tried map[string]int         // creates, by the name of the pod
	taken map[string]bool        // pods whose name was taken at the last create, and which nobody has looked at since
}

// answer is that to the create of a pod: its name is taken, or it is created.
type answer string

const (
	takenName answer = "refusals"
	freeName  answer = "successes"
)

func newNamespace() *namespace {
	return &namespace{clock: testingclock.NewFakePassiveClock(noon), pods: map[string]*corev1.Pod{}, asked: map[string][]time.Time{}, tried: map[string]int{}, taken: map[string]bool{}}
}

// Create answers when all calls under way were answered that have another answer than the last. This takes the time of a synctest bubble.
func (n *namespace) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	err := n.create(o)
	if (n.last == takenName) == (err != nil) {
		time.Sleep(time.Millisecond)
	}
	return err
}

func (n *namespace) create(o client.Object) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.clock.SetTime(n.clock.Now().Add(time.Millisecond))
	job := o.GetLabels()[v1beta1.LabelJobName]
	n.asked[job] = append(n.asked[job], n.clock.Now())
	n.tried[o.GetName()]++
	pod, isPod := o.(*corev1.Pod)
	switch {
	case n.refused != nil:
		return n.refused
	case !isPod:
		return nil
	case n.pods[pod.Name] != nil:
		n.taken[pod.Name] = true
		return apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name)
	}
	n.pods[pod.Name] = pod
	return nil
}

func (n *namespace) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if job := o.GetLabels()[v1beta1.LabelJobName]; !n.taken[key.Name] {
		n.clock.SetTime(n.clock.Now().Add(time.Millisecond))
		n.asked[job] = append(n.asked[job], n.clock.Now())
	}
	n.taken[key.Name] = false
	if n.pods[key.Name] == nil {
		return apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
	}
	n.pods[key.Name].DeepCopyInto(o.(*corev1.Pod))
	return nil
}

// askedSince is how many pods of a job were asked for since then.
func (n *namespace) askedSince(job string, since time.Time) int {
	return len(slices.DeleteFunc(slices.Clone(n.asked[job]), func(at time.Time) bool { return at.Before(since) }))
}

// starter has reconciles create the pods of a job.
type starter struct {
	Executor
	*namespace
	names      []string  // of its pods, by their ranks
	next       time.Time // when it has a reconcile
	reconciles int
}

func (n *namespace) start(name string, replicas int) *starter {
	job := &v1beta1.GenericJob{}
	job.Name, job.Namespace, job.UID, job.Generation = name, "ns", types.UID(name), 1
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}}}
	s := &starter{namespace: n, next: n.clock.Now(), Executor: Executor{
		Owner: Owner{Client: n, Live: n, Object: job, Kind: v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)},
		Job:   job, Builder: kernel.NewPodBuilder(job, kernel.Settings{}), Clock: n.clock, Refusals: &Refusals{}, Rules: &RestartRules{}, Limiter: &Limiter{},
	}}
	for _, a := range creates(replicas) {
		s.names = append(s.names, s.Builder.Pod(a).Name)
	}
	return s
}

// take has somebody else's pods have the names of these ranks.
func (s *starter) take(ranks ...int) {
	for _, rank := range ranks {
		s.pods[s.names[rank]] = &corev1.Pod{}
	}
}

// free deletes somebody else's pods that have the names of these ranks.
func (s *starter) free(ranks ...int) {
	for _, rank := range ranks {
		delete(s.pods, s.names[rank])
	}
}

// has reports whether a pod is the job's.
func (s *starter) has(pod *corev1.Pod) bool {
	return pod != nil && pod.Labels[v1beta1.LabelJobUID] == string(s.Job.UID)
}

// made is how many pods the job has.
func (s *starter) made() (n int) {
	for _, name := range s.names {
		if s.has(s.pods[name]) {
			n++
		}
	}
	return n
}

// missing are the creates that a reconcile plans, as Plan does: the first that are missing.
func (s *starter) missing() (missing []kernel.Action, more []string) {
	most := s.Refusals.Plans(0)
	for rank, a := range creates(len(s.names)) {
		pod := s.pods[s.names[rank]]
		switch {
		case s.has(pod):
		case len(missing) < most:
			missing = append(missing, a)
		default:
			return missing, []string{"worker"}
		}
	}
	return missing, nil
}

// reconcile carries out what is missing, if its time has come.
func (s *starter) reconcile(t *testing.T) {
	t.Helper()
	if s.clock.Now().Before(s.next) {
		return
	}
	s.reconciles++
	var actions []kernel.Action
	actions, s.TypesLackingPods = s.missing()
	out, err := s.Execute(t.Context(), actions)
	require.NoError(t, err)
	s.next = s.clock.Now().Add(out.Wake())
	if out.Wake() == 0 {
		s.next = s.clock.Now().Add(24 * time.Hour) // nothing is left
	}
}

// goOn lets so much time go by, in which each job has the reconciles that it asks for, in turn.
func (n *namespace) goOn(t *testing.T, while time.Duration, jobs ...*starter) {
	t.Helper()
	for end := n.clock.Now().Add(while); n.clock.Now().Before(end); {
		first := end
		for _, j := range jobs {
			j.reconcile(t)
			if j.next.Before(first) {
				first = j.next
			}
		}
		if first.After(n.clock.Now()) {
			n.clock.SetTime(first)
		}
	}
}

// each are the ranks below n from the first on, with so many from one to the next.
func each(first, step, n int) (ranks []int) {
	for rank := first; rank < n; rank += step {
		ranks = append(ranks, rank)
	}
	return ranks
}

// TestAJobOfWhichManyNamesAreTakenLeavesReconcilesAndCallsToOthers: each name that was refused had a reconcile of its own when its time came, 75 in a
// second. Of a job that has created pods the others were asked for together with those that were refused, and then no more. Where refusals were
// answered first, they closed the batch, and then filled it: free names were not asked for.
func TestAJobOfWhichManyNamesAreTakenLeavesReconcilesAndCallsToOthers(t *testing.T) {
	const replicas = 1000
	for name, taken := range map[string][]int{
		"half": each(0, 2, replicas), "a third": each(0, 3, replicas), "a quarter": each(0, 4, replicas), "a tenth": each(0, 10, replicas),
		"the first": each(0, 1, replicas/2), "the last": each(replicas/2, 1, replicas),
	} {
		for _, last := range []answer{takenName, freeName} {
			t.Run(name+", "+string(last)+" last", func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { leavesReconcilesAndCallsToOthers(t, replicas, taken, last) })
			})
		}
	}
}

func leavesReconcilesAndCallsToOthers(t *testing.T, replicas int, taken []int, last answer) {
	n := newNamespace()
	n.last = last
	job, other := n.start("job", replicas), n.start("other", 2*mostActions)
	job.take(taken...)
	n.goOn(t, time.Second, job)
	require.Equal(t, replicas-len(taken), job.made(), "no other waits for them")

	for _, while := range []time.Duration{5 * time.Second, 2 * time.Minute} {
		since, reconciles := n.clock.Now(), job.reconciles
		n.goOn(t, while, job)
		seconds := int(while/time.Second) + 1
		require.LessOrEqual(t, n.askedSince("job", since), minFailures*seconds)
		require.LessOrEqual(t, job.reconciles-reconciles, seconds)
	}

	since := n.clock.Now()
	other.next = since
	n.goOn(t, time.Second, job, other)
	require.Equal(t, 2*mostActions, n.askedSince("other", since))
	require.LessOrEqual(t, n.askedSince("job", since), 2*minFailures+2)
}

// TestANameThatIsFreedIsAskedForWhateverOthersAreTaken: the first ranks would take all turns.
func TestANameThatIsFreedIsAskedForWhateverOthersAreTaken(t *testing.T) {
	const replicas = 1000
	n := newNamespace()
	job := n.start("job", replicas)
	taken := each(0, 4, replicas)
	job.take(taken...)
	n.goOn(t, 5*time.Minute, job)
	require.Equal(t, replicas-len(taken), job.made())

	job.free(taken[len(taken)-1])
	n.goOn(t, time.Duration(len(taken)/minFailures)*time.Second+2*time.Minute, job)
	require.Equal(t, replicas-len(taken)+1, job.made())

	// The first that is accepted says that others may be, too.
	job.free(taken...)
	n.goOn(t, 2*time.Minute, job)
	require.Equal(t, replicas, job.made())
}

// TestANameThatIsTakenIsNotChargedToAQuotaAgain: the apiserver looks for the name after it has admitted the object. The quota counts each such create,
// until Kubernetes counts again minutes later.
func TestANameThatIsTakenIsNotChargedToAQuotaAgain(t *testing.T) {
	n := newNamespace()
	job := n.start("job", 2)
	job.take(0)
	n.goOn(t, 5*time.Minute, job)
	require.Equal(t, 1, n.tried[job.names[0]])
	require.Greater(t, len(n.asked["job"]), 5, "somebody looks whether it is free")

	job.free(0)
	n.goOn(t, 2*time.Minute, job)
	require.Equal(t, 2, job.made())
	require.Equal(t, 2, n.tried[job.names[0]])
}
