package badnodes

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/compact"
	"github.com/genericjob/genericjob/kernel/ledger"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// told returns a job that has recorded failures.
func told(namespace, name string, failures ...v1beta1.NodeFailures) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	job.Status.NodeFailures = failures
	return job
}

// on returns failures on a node, one minute after the other.
func on(node string, reason v1beta1.AvoidReason, minutes ...int) v1beta1.NodeFailures {
	n := v1beta1.NodeFailures{Node: node, Reason: reason, Message: "what " + node + " saw"}
	for _, m := range minutes {
		n.Times = append(n.Times, metav1.NewTime(noon.Add(time.Duration(m)*time.Minute)))
	}
	return n
}

// knowing returns a store that has seen these jobs.
func knowing(jobs ...*v1beta1.GenericJob) (*Store, predicate.Predicate) {
	b := NewStore(Options{AcrossJobs: true})
	see := b.SeeJobs(predicate.Funcs{})
	for _, job := range jobs {
		see.Create(event.CreateEvent{Object: job})
	}
	return b, see
}

// texts returns problems as lines.
func texts(list []ledger.NodeProblem) (lines []string) {
	for _, f := range list {
		at := []string{}
		for _, t := range f.Times {
			at = append(at, fmt.Sprint(t.Sub(noon).Minutes()))
		}
		lines = append(lines, fmt.Sprintf("%s %s [%s] %s", f.Node, f.Reason, strings.Join(at, " "), f.Message))
	}
	return lines
}

const lost = "it did not answer, and another job had pods there"

func TestWhatOtherJobsTell(t *testing.T) {
	for name, tc := range map[string]struct {
		jobs []*v1beta1.GenericJob
		want []string // of job a/mine
	}{
		"nothing":                          {},
		"its own failures it knows itself": {[]*v1beta1.GenericJob{told("a", "mine", on("n1", v1beta1.AvoidFailed, 1, 2), on("n2", v1beta1.AvoidLost, 3))}, nil},
		"a job of the namespace has one voice": {
			[]*v1beta1.GenericJob{told("a", "x", on("n1", v1beta1.AvoidFailed, 1, 2, 3))}, []string{"n1 Failed [3] in job x: what n1 saw"},
		},
		"two jobs have two": {
			[]*v1beta1.GenericJob{told("a", "x", on("n1", v1beta1.AvoidFailed, 5)), told("a", "y", on("n1", v1beta1.AvoidRejected, 2))}, []string{"n1 Failed [2 5] in job x: what n1 saw"},
		},
		"another tenant's logs say nothing of my nodes":       {[]*v1beta1.GenericJob{told("b", "x", on("n1", v1beta1.AvoidFailed, 1, 2, 3))}, nil},
		"nor do its rejections, which a template can provoke": {[]*v1beta1.GenericJob{told("b", "x", on("n1", v1beta1.AvoidRejected, 1, 2, 3))}, nil},
		"a lost node counts for all, and names nobody":        {[]*v1beta1.GenericJob{told("b", "x", on("n1", v1beta1.AvoidLost, 4))}, []string{"n1 Lost [4] " + lost}},
		"code that fails everywhere speaks against one node": {
			[]*v1beta1.GenericJob{told("a", "x", on("n1", v1beta1.AvoidFailed, 1), on("n2", v1beta1.AvoidFailed, 2, 3), on("n3", v1beta1.AvoidRejected, 4))},
			[]string{"n2 Failed [3] in job x: what n2 saw"},
		},
		"of two alike it is the last": {
			[]*v1beta1.GenericJob{told("a", "x", on("n1", v1beta1.AvoidFailed, 2), on("n2", v1beta1.AvoidFailed, 1))}, []string{"n1 Failed [2] in job x: what n1 saw"},
		},
		"lost nodes it tells all of": {
			[]*v1beta1.GenericJob{told("a", "x", on("n2", v1beta1.AvoidLost, 1), on("n1", v1beta1.AvoidLost, 2), on("n3", v1beta1.AvoidFailed, 2))},
			[]string{"n3 Failed [2] in job x: what n3 saw", "n1 Lost [2] " + lost, "n2 Lost [1] " + lost},
		},
		"what has no time is none": {[]*v1beta1.GenericJob{told("a", "x", on("n1", v1beta1.AvoidFailed))}, nil},
	} {
		b, _ := knowing(tc.jobs...)
		require.Equal(t, tc.want, texts(b.ProblemsFor(told("a", "mine"))), name)
	}
}

func TestWhatAJobTellsIsWhatItsStatusHasNow(t *testing.T) {
	b, see := knowing(told("a", "x", on("n1", v1beta1.AvoidFailed, 1), on("n2", v1beta1.AvoidLost, 1)))
	mine := told("a", "mine")
	is := told("a", "x", on("n3", v1beta1.AvoidFailed, 7))
	see.Update(event.UpdateEvent{ObjectOld: is, ObjectNew: is})
	require.Equal(t, []string{"n3 Failed [7] in job x: what n3 saw"}, texts(b.ProblemsFor(mine)))
	see.Create(event.CreateEvent{Object: is})
	require.Len(t, b.ProblemsFor(mine)[0].Times, 1, "an event that comes again tells nothing new")
	see.Delete(event.DeleteEvent{Object: is})
	require.Empty(t, b.ProblemsFor(mine))
	require.Equal(t, NewStore(b.options).seen, b.seen, "nothing is left of it")
}

func TestABookThatIsNotAskedForKnowsNothing(t *testing.T) {
	b := NewStore(Options{})
	see := b.SeeJobs(predicate.Funcs{})
	see.Create(event.CreateEvent{Object: told("a", "x", on("n1", v1beta1.AvoidLost, 1))})
	require.Empty(t, b.ProblemsFor(told("a", "mine")))
	var none *Store
	require.Empty(t, none.ProblemsFor(told("a", "mine")))
	require.Equal(t, predicate.Funcs{}, none.SeeJobs(predicate.Funcs{}))
}

// The predicate before it may hold events back.
func TestEventsThatAreHeldBackAreSeen(t *testing.T) {
	b := NewStore(Options{AcrossJobs: true})
	see := b.SeeJobs(predicate.NewPredicateFuncs(func(client.Object) bool { return false }))
	require.False(t, see.Create(event.CreateEvent{Object: told("b", "x", on("n1", v1beta1.AvoidLost, 1))}))
	require.Len(t, b.ProblemsFor(told("a", "mine")), 1)
}

func TestWhatIsRememberedIsBounded(t *testing.T) {
	b, see := knowing()
	for ns := range 15 {
		for i := range 150 {
			see.Create(event.CreateEvent{Object: told(fmt.Sprint("ns", ns), fmt.Sprint("job", i), on(fmt.Sprint("n", i), v1beta1.AvoidFailed, ns*1000+i))})
		}
		require.LessOrEqual(t, len(b.seen.at[fmt.Sprint("ns", ns)]), mostOfOne)
	}
	require.Equal(t, mostPlaces, b.seen.count)
	for ns := range 15 {
		require.InDelta(t, mostPlaces/15, len(b.ProblemsFor(told(fmt.Sprint("ns", ns), "mine"))), 1, "all have as much room")
	}
	require.NotContains(t, strings.Join(texts(b.ProblemsFor(told("ns14", "mine"))), "\n"), "n49 ", "the oldest is forgotten")
	for i := range 40 {
		see.Create(event.CreateEvent{Object: told("ns14", fmt.Sprint("again", i), on("n149", v1beta1.AvoidFailed, 20000+i))})
	}
	times := 0
	for _, f := range b.ProblemsFor(told("ns14", "mine")) {
		times = max(times, len(f.Times))
	}
	require.Equal(t, mostSightings, times)
	for job, places := range b.seen.of {
		for _, p := range places {
			require.Condition(t, func() bool {
				for _, r := range b.seen.at[p.namespace][p.node] {
					if r.job == job {
						return true
					}
				}
				return false
			}, "%s is said to have told of %v", job, p)
		}
	}
}

// nodeWith returns a node with conditions as in "Ready=True".
func nodeWith(name string, conditions ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, c := range conditions {
		kind, status, _ := strings.Cut(c, "=")
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: corev1.NodeConditionType(kind), Status: corev1.ConditionStatus(status), LastTransitionTime: metav1.NewTime(noon), Reason: "R", Message: "m",
		})
	}
	return n
}

func TestConditionsOfNodes(t *testing.T) {
	bad, err := ParseConditions("GpuXid79=True,NetworkReady=False")
	require.NoError(t, err)
	b := NewStore(Options{Conditions: bad})
	mine := told("a", "mine")
	for _, n := range []*corev1.Node{
		nodeWith("n3", "NetworkReady=False", "GpuXid79=True"), nodeWith("n1", "Ready=True", "GpuXid79=True"), nodeWith("n2", "GpuXid79=False", "NetworkReady=Unknown", "Other=True"),
	} {
		b.SeeNode(n)
	}
	const told = " Condition [] node condition GpuXid79=True since 2026-01-01T12:00:00Z"
	require.Equal(t, []string{"n1" + told, "n3" + told}, texts(b.ProblemsFor(mine)))
	b.SeeNode(nodeWith("n3", "NetworkReady=False", "GpuXid79=False"))
	b.ForgetNode("n1")
	require.Equal(t, []string{"n3 Condition [] node condition NetworkReady=False since 2026-01-01T12:00:00Z"}, texts(b.ProblemsFor(mine)))
	b.SeeNode(nodeWith("n3", "NetworkReady=True"))
	require.Empty(t, b.ProblemsFor(mine))
}

// A mistake in what writes conditions has them on all nodes of a large cluster. A job avoids few, so each reconcile hears of few.
func TestThousandsOfNodesHaveACondition(t *testing.T) {
	b := NewStore(Options{Conditions: []Condition{{"Sick", corev1.ConditionTrue}}})
	for i := range 5000 {
		b.SeeNode(nodeWith(fmt.Sprintf("n%04d", 4999-i), "Sick=True"))
	}
	b.ForgetNode("n0003")
	b.SeeNode(nodeWith("n0005", "Sick=False"))
	b.SeeNode(nodeWith("n0005", "Sick=False"))
	mine := told("a", "mine")
	mine.Status.AvoidedNodes = []v1beta1.AvoidedNode{{Node: "n4000"}, {Node: "n0001"}, {Node: "well"}, {Node: "n0005"}}
	var names []string
	for _, f := range b.ProblemsFor(mine) {
		names = append(names, f.Node)
	}
	require.Equal(t, strings.Fields(`n4000 n0001 n0000 n0002 n0004 n0006 n0007 n0008 n0009 n0010 n0011 n0012 n0013 n0014 n0015 n0016 n0017`), names,
		"those that it avoids, and as many as it may avoid")
}

// Each job tells when a node was lost last. Many that tell of one time do not make an earlier one be forgotten.
func TestManyTellOfOneLostNode(t *testing.T) {
	b, see := knowing(told("b", "early", on("n1", v1beta1.AvoidLost, 0)))
	for i := range 30 {
		see.Create(event.CreateEvent{Object: told("b", fmt.Sprint("late", i), on("n1", v1beta1.AvoidLost, 120+i%2))})
	}
	problems := b.ProblemsFor(told("a", "mine"))
	require.Len(t, problems, 1)
	require.LessOrEqual(t, len(problems[0].Times), mostSightings)
	require.Equal(t, []time.Time{noon, noon.Add(2 * time.Hour)}, []time.Time{problems[0].Times[0].Time, problems[0].Times[1].Time})
}

// The status of a job that another cluster runs tells of nodes there, which may have the names of nodes here.
func TestJobsOfOtherClustersTellNothing(t *testing.T) {
	for _, by := range []v1beta1.ManagedBy{v1beta1.ManagedByGenericJob, "kueue.x-k8s.io/multikueue"} {
		for _, bytes := range []int{10, 20_000} { // the cache packs a large one
			job := told("a", "x", on("n1", v1beta1.AvoidFailed, 1), on("n2", v1beta1.AvoidLost, 1))
			job.Spec.ManagedBy = &by
			job.Annotations = map[string]string{"size": strings.Repeat("x", bytes)}
			_, err := compact.Object(job)
			require.NoError(t, err)
			require.Equal(t, bytes > 10, compact.SpecIsPacked(job))
			b, _ := knowing(job)
			require.Equal(t, by == v1beta1.ManagedByGenericJob, len(b.ProblemsFor(told("a", "mine"))) > 0, "%s, %d bytes", by, bytes)
		}
	}
}

// Who has many namespaces does not take the room of who has one, nor that of lost nodes, which count for all.
func TestTheRoomOfOthersStays(t *testing.T) {
	b, see := knowing(told("small", "x", on("n1", v1beta1.AvoidFailed, 0)), told("small", "y", on("n2", v1beta1.AvoidLost, 0)))
	for i := range 20 * mostOfOne {
		see.Create(event.CreateEvent{Object: told(fmt.Sprint("large", i%20), fmt.Sprint("job", i), on(fmt.Sprint("n", i), v1beta1.AvoidFailed, i))})
	}
	require.Equal(t, mostPlaces, b.seen.count)
	require.Len(t, b.ProblemsFor(told("small", "mine")), 2)
}

func TestConditionsThatCannotBeRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       `"" is no condition with its bad status: want a type and True, False or Unknown`,
		"Gpu":                                    `"Gpu" is no condition`,
		"Gpu=true":                               `"Gpu=true" is no condition`,
		"A=True,":                                `"" is no condition`,
		"A=True, B=True":                         `" B" is no type of a condition`,
		"=True":                                  `"" is no type of a condition`,
		"A/b/c=True":                             `"A/b/c" is no type of a condition`,
		"A=True" + strings.Repeat(",A=True", 32): "33 conditions are named: at most 32 are taken",
	} {
		_, err := ParseConditions(text)
		require.ErrorContains(t, err, want, text)
	}
	list, err := ParseConditions("nvsentinel.example.com/gpu-health=Unknown")
	require.NoError(t, err)
	require.Equal(t, []Condition{{"nvsentinel.example.com/gpu-health", corev1.ConditionUnknown}}, list)
}
