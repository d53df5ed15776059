package kernel_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// statusSchema is what the CRD of a GenericJob takes as a status.
type statusSchema struct {
	validator  validation.SchemaValidator
	structural *schema.Structural
}

func readStatusSchema(t *testing.T) (s statusSchema) {
	t.Helper()
	raw, err := os.ReadFile("../deploy/crd/batch.tensorstack.dev_genericjobs.yaml")
	require.NoError(t, err)
	var crd v1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(raw, &crd))
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name != v1beta1.GroupVersion.Version {
			continue
		}
		status, props := crd.Spec.Versions[i].Schema.OpenAPIV3Schema.Properties["status"], apiextensions.JSONSchemaProps{}
		require.NoError(t, v1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&status, &props, nil))
		s.validator, _, err = validation.NewSchemaValidator(&props)
		require.NoError(t, err)
		s.structural, err = schema.NewStructural(&props)
		require.NoError(t, err)
	}
	require.NotNil(t, s.structural)
	return s
}

// problems are what an apiserver has against a status.
func (s statusSchema) problems(t *testing.T, status v1beta1.GenericJobStatus) (list []string) {
	t.Helper()
	raw, err := json.Marshal(status)
	require.NoError(t, err)
	var value map[string]any
	require.NoError(t, utiljson.Unmarshal(raw, &value))
	for _, e := range append(validation.ValidateCustomResource(nil, value, s.validator), listtype.ValidateListSetsAndMaps(nil, s.structural, value)...) {
		list = append(list, e.Error())
	}
	return list
}

// odd draws parts of a status.
type odd struct{ *rand.Rand }

func oneOf[T any](o odd, list ...T) T { return list[o.IntN(len(list))] }

func (o odd) time() metav1.Time {
	return metav1.NewTime(oneOf(o, kt.Start, kt.At(time.Duration(o.IntN(7200)-3600)*time.Second), kt.At(time.Duration(o.IntN(7200)-3600)*time.Second),
		time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)))
}

func (o odd) maybe() *metav1.Time {
	if o.IntN(2) == 0 {
		return nil
	}
	return new(o.time())
}

func (o odd) number() int64 {
	return oneOf(o, 0, 1, int64(o.IntN(5000)), math.MaxInt64, math.MinInt64, -1)
}

func (o odd) shares() v1beta1.TimeShares {
	s := v1beta1.TimeShares{}
	for _, c := range v1beta1.TimeCauses {
		if o.IntN(3) == 0 {
			*s.Of(c) = o.number()
		}
	}
	s.Total = o.number()
	return s
}

func (o odd) history() *v1beta1.History {
	h := &v1beta1.History{}
	for range o.IntN(21) {
		h.Entries = append(h.Entries, v1beta1.HistoryEntry{
			Kind: oneOf(o, v1beta1.HistoryKinds...), Begin: o.time(), End: o.maybe(), Seconds: o.number(), DeviceSeconds: o.number(), Restarts: o.number(),
			Pod: oneOf(o, "", "job-worker-0", strings.Repeat("p", 253)), Message: oneOf(o, "", strings.Repeat("<", 200), strings.Repeat("世", 200)),
		})
	}
	for _, kind := range v1beta1.HistoryKinds {
		if o.IntN(2) == 0 {
			h.Earlier = append(h.Earlier, v1beta1.HistorySum{Kind: kind, Count: o.number(), Seconds: o.number(), DeviceSeconds: o.number(), Restarts: o.number()})
		}
	}
	return h
}

func (o odd) status(s *v1beta1.GenericJobStatus) {
	if o.IntN(4) > 0 {
		s.Time = &v1beta1.JobTime{Since: o.time(), TimeShares: o.shares(), Recomputed: o.number()}
		if o.IntN(2) == 0 {
			s.Time.DeviceSeconds = new(o.shares())
		}
		s.Time.StepBefore = oneOf(o, nil, new(o.number()))
		if o.IntN(6) > 0 {
			s.Time.Open = &v1beta1.OpenTime{Cause: oneOf(o, v1beta1.TimeCauses...), Since: o.time(), Replicas: int32(o.IntN(4)), Devices: o.number(), LostBy: oneOf(o, append(v1beta1.TimeCauses, "", "", "")...)}
		}
	}
	if o.IntN(4) > 0 {
		s.History = o.history()
	}
	if o.IntN(2) > 0 {
		s.Recovery = &v1beta1.Recovery{Cause: oneOf(o, v1beta1.TimeCauses...), Began: o.time(), Detected: o.time(), Replaced: o.maybe(), Stepped: o.maybe()}
	}
	reasons := []v1beta1.AvoidReason{v1beta1.AvoidFailed, v1beta1.AvoidRejected, v1beta1.AvoidLost, v1beta1.AvoidCondition}
	for i := range o.IntN(33) {
		s.AvoidedNodes = append(s.AvoidedNodes, v1beta1.AvoidedNode{Node: string(rune('a' + i)), Reason: oneOf(o, append(reasons, v1beta1.AvoidCondition)...), Since: o.time(), Until: o.maybe()})
	}
	for i := range o.IntN(17) {
		n := v1beta1.NodeFailures{Node: string(rune('a' + i)), Reason: oneOf(o, reasons...)}
		for range o.IntN(11) {
			n.Times = append(n.Times, o.time())
		}
		if o.IntN(2) == 0 {
			n.Earlier = &v1beta1.EarlierFailure{Reason: oneOf(o, reasons...)}
		}
		s.NodeFailures = append(s.NodeFailures, n)
	}
	if o.IntN(2) == 0 {
		s.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: v1beta1.ReplicaFailure{Pod: "job-worker-0", Node: "a", Time: o.maybe(), Follows: oneOf(o, "", "x")}, JobAttempt: int32(o.IntN(2))}
	}
	s.Progress = oneOf(o, nil, nil, &v1beta1.Progress{Step: new(o.number()), Time: o.time()})
	if o.IntN(4) == 0 {
		s.Ledger = o.ledger()
	}
}

// ledger draws what is recorded of replicas. Some are the job's, some are replicas that it does not have, and some are of types that it
// does not have.
func (o odd) ledger() (list []v1beta1.TaskLedger) {
	for _, name := range []string{"worker", "gone", "never"}[:o.IntN(4)] {
		l := v1beta1.TaskLedger{Type: name, Succeeded: oneOf(o, "", "1", "0-9999"), Failed: oneOf(o, "", "", "2,4-9000", "0-9999")}
		for rank := int32(o.IntN(2)); rank < 10_000 && o.IntN(8) > 0; rank += int32(1 + o.IntN(3)) {
			r := v1beta1.RankRecord{Rank: rank, Attempt: int32(o.IntN(3)), Restarts: int32(o.IntN(3)), Streak: int32(o.IntN(20)), NotBefore: o.maybe()}
			if o.IntN(4) == 0 {
				rank = oneOf(o, rank+1, 9999)
				r.LastRank = rank
			}
			l.Replicas = append(l.Replicas, r)
		}
		list = append(list, l)
	}
	return list
}

func (o odd) job() *v1beta1.GenericJob {
	options := []kt.JobOption{kt.Type("worker", 3, kt.Policy(oneOf(o, v1beta1.RestartOnFailure, v1beta1.RestartNever, v1beta1.RestartOnFailure), int32(o.IntN(3)))), kt.Begun}
	if o.IntN(3) > 0 {
		options = append(options, avoiding(oneOf(o, v1beta1.AvoidNodes{}, v1beta1.AvoidNodes{Within: "8760h", AtMost: new(int32(16)), After: new(int32(1))}, v1beta1.AvoidNodes{AtMost: new(int32(0))})))
	}
	if o.IntN(2) == 0 {
		options = append(options, kt.JobScope)
	}
	if o.IntN(3) == 0 {
		options = append(options, kt.InPlace, kt.BackoffLimit(9))
	}
	job := kt.Job(options...)
	if o.IntN(4) == 0 {
		kt.PauseNow(true)(job)
	}
	if o.IntN(8) == 0 {
		kt.DebugNow(true)(job)
	}
	return job
}

func (o odd) world(job *v1beta1.GenericJob, now time.Time) kernel.World {
	w := kernel.World{Job: job, Now: now, Settings: kt.Settings, NodeCount: o.IntN(40), Nodes: map[string]podstate.Node{}}
	for rank := range 3 {
		node := string(rune('a' + o.IntN(3)))
		overdue := func(p *corev1.Pod) { kt.Running(p); kt.Deleted(kt.Start, time.Second)(p); kt.Marked(p) }
		start := kt.StartedAt(o.time().Time)
		p := kt.Pod(job, "worker", rank, oneOf(o, kt.Running, start, start, kt.ExitedAt(1, now.Add(-time.Second)), kt.Disrupted, kt.FailedWithout("UnexpectedAdmissionError"),
			kt.FailedWithout("NodeShutdown"), overdue, overdue, overdue), onNode(node))
		w.Nodes[node] = oneOf(o, podstate.Node{SilentSince: kt.Start}, podstate.Node{SilentSince: kt.Start}, podstate.Node{SilentSince: o.time().Time}, podstate.Node{Answers: true}, podstate.Node{})
		if len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].State.Terminated != nil {
			p.Status.ContainerStatuses[0].State.Terminated.Message = oneOf(o, "", strings.Repeat("<\x01\u2028>", 99), strings.Repeat("世", 999), "Error: \xff\xfe")
		}
		if o.IntN(5) > 0 {
			w.Pods = append(w.Pods, p)
		}
	}
	for i := range o.IntN(20) {
		w.NodeProblems = append(w.NodeProblems, oneOf(o, sick(string(rune('a'+i))), others(string(rune('a'+i)), v1beta1.AvoidLost, 0)))
	}
	return w
}

// edit draws what a user changes of a job: its size, and whether it is paused.
func (o odd) edit(job *v1beta1.GenericJob) {
	if o.IntN(2) == 0 {
		kt.Replicas("worker", int32(1+o.IntN(4)))(job)
	}
	if o.IntN(3) == 0 {
		kt.PauseNow(o.IntN(2) == 0)(job)
	}
	job.Generation++
}

// Whatever the CRD takes as a status, what Plan makes of it is taken, too. And who looks again at a world writes no more.
func TestWhateverStatusIsStoredAnotherCanBe(t *testing.T) {
	t.Parallel()
	crd := readStatusSchema(t)
	for seed := range uint64(40) {
		o, name := odd{rand.New(rand.NewPCG(seed, 1))}, fmt.Sprintf("seed %d", seed)
		job := o.job()
		o.status(&job.Status)
		require.Empty(t, crd.problems(t, job.Status), name)
		for range 4 {
			w := o.world(job, kt.At(time.Duration(o.IntN(3600))*time.Second))
			w.Job = crd.settled(t, name, w)
			for _, shift := range []time.Duration{time.Second, time.Minute, time.Hour, -time.Second, -time.Hour} {
				later := w
				later.Now = w.Now.Add(shift)
				d := kernel.Plan(later)
				require.Empty(t, crd.problems(t, d.Status), name)
				if asText(t, without(d.Status)) == asText(t, without(w.Job.Status)) {
					require.Equal(t, asText(t, w.Job.Status), asText(t, d.Status), "%s: this is written beside others only", name)
				}
			}
			job = w.Job.DeepCopy()
			o.edit(job)
		}
	}
}

// settled is a job after as many looks at a world as change its status. Each finds one node more that is avoided, at most.
func (s statusSchema) settled(t *testing.T, name string, w kernel.World) *v1beta1.GenericJob {
	t.Helper()
	for range 20 {
		d := kernel.Plan(w)
		require.Empty(t, s.problems(t, d.Status), name)
		if asText(t, d.Status) == asText(t, w.Job.Status) {
			return w.Job
		}
		w.Job = after(w.Job, d)
		w.Job.Status = stored(t, w.Job.Status)
	}
	t.Fatalf("%s: each look writes another status", name)
	return nil
}

// without is a status without what is only written beside other news.
func without(s v1beta1.GenericJobStatus) v1beta1.GenericJobStatus {
	s.Time, s.History, s.Recovery = nil, nil, nil
	return s
}

func asText(t *testing.T, s v1beta1.GenericJobStatus) string {
	t.Helper()
	raw, err := json.MarshalIndent(s, "", " ")
	require.NoError(t, err)
	return string(raw)
}
