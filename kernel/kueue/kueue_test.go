package kueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func workload(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	w := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload, metadata: {name: w}, "+text+"}"), w))
	return w
}

const (
	sets       = "spec: {podSets: [{name: worker, count: 3}]}"
	assignment = "admission: {podSetAssignments: [{name: worker, count: 3, flavors: {cpu: spot, memory: spot}}]}"
	isAdmitted = "{type: QuotaReserved, status: 'True'}, {type: Admitted, status: 'True'}"
)

func TestRead(t *testing.T) {
	tests := map[string]struct {
		text string
		want State
	}{
		"new":      {sets, State{Exists: true}},
		"it waits": {sets + ", status: {conditions: [{type: QuotaReserved, status: 'False', message: no quota}]}", State{Exists: true, Message: "no quota"}},
		"quota, and a check that is not ready": {
			sets + ", status: {" + assignment + ", conditions: [{type: QuotaReserved, status: 'True'}], admissionChecks: [{name: nodes, state: Pending, message: soon}]}",
			State{Exists: true, Reserves: true, Message: "admission check nodes is Pending: soon"},
		},
		"quota, and all checks are ready": {
			sets + ", status: {" + assignment + ", conditions: [{type: QuotaReserved, status: 'True'}], admissionChecks: [{name: nodes, state: Ready, message: soon}]}",
			State{Exists: true, Reserves: true, Message: "its quota is reserved"},
		},
		"admitted": {sets + ", status: {" + assignment + ", conditions: [" + isAdmitted + "]}", State{Exists: true, Reserves: true, Admitted: true}},
		"evicted": {
			sets + ", status: {" + assignment + ", conditions: [" + isAdmitted + ", {type: Evicted, status: 'True', reason: Preempted, message: by x}]}",
			State{Exists: true, Reserves: true, Evicted: true, Reason: "Preempted", Message: "by x"},
		},
		"switched off": {"spec: {active: false}", State{Exists: true, Inactive: true}},
		"over":         {sets + ", status: {conditions: [{type: Finished, status: 'True'}]}", State{Exists: true, Finished: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := Read(workload(t, tc.text))
			got.Counts, got.Flavors = nil, nil
			require.Equal(t, tc.want, got)
		})
	}
	s := Read(workload(t, sets+", status: {"+assignment+", conditions: ["+isAdmitted+"]}"))
	require.Equal(t, map[string]int{"worker": 3}, s.Counts)
	require.Equal(t, map[string][]string{"worker": {"spot"}}, s.Flavors, "a flavor of two resources is one")
	require.False(t, Read(nil).Exists)
}

func TestStatusSaysOnlyWhatIsNew(t *testing.T) {
	w := workload(t, sets+", status: {"+assignment+", conditions: ["+isAdmitted+"]}")
	running := Update{Left: map[string]int{"worker": 2}, Ready: true}
	first := Status(w, running, noon)
	require.Equal(t, []any{map[string]any{"name": "worker", "count": int64(1)}}, first["reclaimablePods"])
	w.Object["status"] = first
	require.Nil(t, Status(w, running, noon.Add(time.Hour)))
	require.Nil(t, Status(w, Update{Left: map[string]int{"worker": 3}, Ready: true}, noon), "what was given back stays so")
	require.Equal(t, 2, Free(w, "worker"))

	again := Status(w, Update{Left: map[string]int{"worker": 2}}, noon)
	w.Object["status"] = again
	require.Equal(t, "WaitForRecovery", conditionsOf(w).reason(podsReady))
	w.Object["status"] = Status(w, running, noon)
	require.Equal(t, "Recovered", conditionsOf(w).reason(podsReady))
	w.Object["status"] = Status(w, Update{Over: true, Failed: true, Message: "no"}, noon)
	require.Equal(t, "Failed", conditionsOf(w).reason(finished))
	require.Nil(t, Status(w, Update{Over: true}, noon))

	untouched := workload(t, sets)
	untouched.Object["status"] = Status(untouched, Update{Over: true}, noon)
	require.Equal(t, "Succeeded", conditionsOf(untouched).reason(finished), "a Workload that Kueue has not looked at")
}

func TestWhatGoesBackIsQueuedAgainAsKueueWantsIt(t *testing.T) {
	for reason, want := range map[string]bool{"Preempted": true, "NodeFailures": true, "PodsReadyTimeout": false, "Deactivated": false} {
		w := workload(t, sets+", status: {"+assignment+", conditions: ["+isAdmitted+", {type: Evicted, status: 'True', reason: "+reason+"}]}")
		w.Object["status"] = Status(w, Update{GiveBack: true}, noon)
		s := Read(w)
		require.False(t, s.Reserves)
		require.True(t, s.Evicted, "Kueue says when that is over")
		require.Equal(t, want, conditionsOf(w).isTrue(requeued), reason)
	}
}

func TestPlacement(t *testing.T) {
	w := workload(t, sets+", status: {admissionChecks: [{podSetUpdates: [{name: worker, labels: {a: b}, annotations: {c: d}, nodeSelector: {e: f}, tolerations: [{key: k}]}, "+
		"{name: ps, labels: {x: y}}]}], admission: {podSetAssignments: [{name: worker, count: 3, flavors: {cpu: spot}, topologyAssignment: {levels: [host]}}]}}")
	flavor := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: kueue.x-k8s.io/v1beta2, kind: ResourceFlavor, spec: {nodeLabels: {pool: spot}, tolerations: [{key: spot}]}}"), flavor))
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeSelector: map[string]string{"own": "1"}, Tolerations: []corev1.Toleration{{Key: "spot"}}}}
	PlacementOf(w, "worker", map[string]*unstructured.Unstructured{"spot": flavor}).Apply(pod)
	require.Equal(t, map[string]string{"own": "1", "pool": "spot", "e": "f"}, pod.Spec.NodeSelector)
	require.Equal(t, map[string]string{"kueue.x-k8s.io/podset": "worker", "a": "b"}, pod.Labels)
	require.Equal(t, map[string]string{"c": "d", "kueue.x-k8s.io/workload": "w", "kueue.x-k8s.io/podset-unconstrained-topology": "true"}, pod.Annotations)
	require.Equal(t, []corev1.Toleration{{Key: "spot"}, {Key: "k"}}, pod.Spec.Tolerations, "each once")
	require.Equal(t, []corev1.PodSchedulingGate{{Name: "kueue.x-k8s.io/topology"}}, pod.Spec.SchedulingGates)
}

func TestSame(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main"}}}}
	in := v1beta1.KueueScheduler{QueueName: "team"}
	of := func(left int, in v1beta1.KueueScheduler, template *corev1.PodTemplateSpec) *unstructured.Unstructured {
		return Workload(job, in, []Request{{Type: "worker", Left: left, Template: template}, {Type: "done", Left: 0, Template: template}}, new(int32(1)))
	}
	have := of(3, in, template)
	require.Len(t, setsOf(have), 1, "a type of which all have finished needs no quota")
	require.True(t, Same(have, of(3, in, template)))
	require.False(t, Same(have, of(2, in, template)))
	require.False(t, Same(have, of(3, v1beta1.KueueScheduler{QueueName: "other"}, template)))
	require.False(t, Same(have, of(3, v1beta1.KueueScheduler{QueueName: "team", PriorityClass: "high"}, template)))
	high := v1beta1.KueueScheduler{QueueName: "team", PriorityClass: "high"}
	require.True(t, Same(of(3, high, template), Workload(job, high, []Request{{Type: "worker", Left: 3, Template: template}}, nil)), "its class is deleted")
	elsewhere := template.DeepCopy()
	elsewhere.Spec.NodeSelector = map[string]string{"pool": "a"}
	require.False(t, Same(have, of(3, in, elsewhere)))
	another := template.DeepCopy()
	another.Spec.Containers = append(another.Spec.Containers, corev1.Container{Name: "logger"})
	require.False(t, Same(have, of(3, in, another)))
	require.False(t, Same(of(3, in, another), have))
	unreadable := of(3, in, template)
	unreadable.Object["spec"].(map[string]any)["podSets"].([]any)[0].(map[string]any)["template"].(map[string]any)["spec"] = "none"
	require.False(t, Same(unreadable, have))
	together := template.DeepCopy()
	together.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}
	require.False(t, Same(have, of(3, in, together)))
	defaulted := template.DeepCopy()
	defaulted.Spec.DNSPolicy, defaulted.Spec.Containers[0].ImagePullPolicy = corev1.DNSClusterFirst, corev1.PullAlways
	require.True(t, Same(of(3, in, defaulted), have), "what the apiserver fills in is no difference")

	have.Object["status"] = map[string]any{"reclaimablePods": []any{map[string]any{"name": "worker", "count": int64(1)}}}
	require.True(t, Same(have, of(2, in, template)), "what was given back is not asked for")
}

// Each version of Kueue counts in its own way what a Workload itself asks for. So we fill in what a pod asks for as a whole, as the
// apiserver does it for the pod.
func TestAWorkloadAsksForWhatItsPodsAskForAsAWhole(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	cpu := func(n string) corev1.ResourceList { return corev1.ResourceList{"cpu": resource.MustParse(n)} }
	of := func(containers corev1.ResourceList, whole *corev1.ResourceRequirements) *unstructured.Unstructured {
		template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Resources: whole,
			Containers: []corev1.Container{{Name: "main", Resources: corev1.ResourceRequirements{Requests: containers}}}}}
		return Workload(job, v1beta1.KueueScheduler{QueueName: "team"}, []Request{{Type: "worker", Left: 3, Template: template}}, nil)
	}
	asks := func(w *unstructured.Unstructured) string {
		text, _, err := unstructured.NestedString(setOf(w, "worker").template, "spec", "resources", "requests", "cpu")
		require.NoError(t, err)
		return text
	}
	require.Equal(t, "8", asks(of(nil, &corev1.ResourceRequirements{Requests: cpu("8")})))
	require.Equal(t, "8", asks(of(nil, &corev1.ResourceRequirements{Limits: cpu("8")})))
	require.Equal(t, "1", asks(of(cpu("1"), &corev1.ResourceRequirements{Limits: cpu("8")})), "not the limit, as Kueue 0.18 has it")
	require.Empty(t, asks(of(cpu("1"), nil)))

	eight := of(nil, &corev1.ResourceRequirements{Requests: cpu("8")})
	require.True(t, Same(eight, of(nil, &corev1.ResourceRequirements{Requests: cpu("8000m")})))
	require.False(t, Same(eight, of(nil, &corev1.ResourceRequirements{Requests: cpu("9")})), "an edit in a pause")
	require.False(t, Same(eight, of(nil, nil)))
	require.False(t, Same(of(nil, nil), eight))
}

func TestTopologyRequest(t *testing.T) {
	ranks := "batch.tensorstack.dev/replica-rank"
	slices := map[string]string{"kueue.x-k8s.io/podset-slice-required-topology": "rack", "kueue.x-k8s.io/podset-slice-size": "2"}
	for name, c := range map[string]struct {
		annotations map[string]string
		want        map[string]any
	}{
		"none":          {nil, map[string]any{"podIndexLabel": ranks}},
		"required":      {map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}, map[string]any{"podIndexLabel": ranks, "required": "rack"}},
		"preferred":     {map[string]string{"kueue.x-k8s.io/podset-preferred-topology": "rack"}, map[string]any{"podIndexLabel": ranks, "preferred": "rack"}},
		"unconstrained": {map[string]string{"kueue.x-k8s.io/podset-unconstrained-topology": "true"}, map[string]any{"podIndexLabel": ranks, "unconstrained": true}},
		"slices":        {slices, map[string]any{"podIndexLabel": ranks, "podSetSliceRequiredTopology": "rack", "podSetSliceSize": int64(2)}},
	} {
		require.Equal(t, c.want, topologyRequest(c.annotations, 4, member{}), name)
	}
	require.Equal(t, map[string]any{"podIndexLabel": ranks}, topologyRequest(slices, 3, member{}), "three pods are not slices of two")
}
