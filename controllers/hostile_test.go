package controllers_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/hostile"
)

var (
	hostileObjects = flag.Int("hostile.objects", 150, "how many odd objects are sent to the apiserver")
	hostileSeed    = flag.Int("hostile.seed", 0, "the first of their seeds")
)

const oddTrainer = `{metadata: {labels: {a: b}}, spec: {containers: [{name: tensorflow, image: i, args: ["$(rank)"], env: [{name: X, value: "$(type)"}],
ports: [{name: p, containerPort: 2222}], resources: {limits: {cpu: 1}}, livenessProbe: {httpGet: {port: 80}}}, {name: pytorch, image: i, args: [x]}]}}`

// usual are good jobs of each kind.
var usual = map[string]string{
	"batch.tensorstack.dev/v1beta1 GenericJob": `{service: {ports: [{name: p, port: 2222}]}, successRules: [{worker: [0, "1"]}], failureRules: [{worker: []}],
runMode: {debug: {enabled: false, replicaSpecs: [{type: ps}]}, pause: {resumeSpecs: [{type: worker, args: [x]}]}}, cleanUpPolicy: All, activeDeadlineSeconds: 3600,
replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {policy: ExitCode, limit: 2, exitCodes: [1]}, template: T}, {type: ps, template: T}]}`,
	"batch.tensorstack.dev/v1beta1 TensorFlowTrainingJob": `{runPolicy: {backoffLimit: 1}, tensorboardSpec: {image: i, trainingLogFilesets: ["t9k://pvc/a/b"]},
replicaSpecs: [{type: chief, template: T}, {type: worker, replicas: 2, template: T}]}`,
	"batch.tensorstack.dev/v1beta1 PyTorchTrainingJob": `{torchrunConfig: {enabled: true, procPerNode: "2", maxRestarts: 1, extraOptions: ["--log_dir=/x"]},
elastic: {enabled: true, minReplicas: 1, maxReplicas: 3, expectedReplicas: 2}, replicaSpecs: [{type: master, template: T}, {type: worker, template: T}]}`,
	"kubeflow.org/v1 TFJob":      `{runPolicy: {cleanPodPolicy: Running}, tfReplicaSpecs: {Chief: {template: T}, Worker: {replicas: 2, restartPolicy: ExitCode, template: T}}}`,
	"kubeflow.org/v1 PyTorchJob": `{elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvId: x}, pytorchReplicaSpecs: {Master: {template: T}, Worker: {replicas: 2, template: T}}}`,
}

// hostileObject is an object of any kind that was good before it was changed at some places.
func (c *cluster) hostileObject(seed int) *unstructured.Unstructured {
	c.t.Helper()
	s := hostile.FromSeed(seed)
	kind := hostile.Pick(s, slices.Sorted(maps.Keys(usual))...)
	version, name, _ := strings.Cut(kind, " ")
	text := strings.ReplaceAll(usual[kind], "template: T", "template: "+oddTrainer)
	var spec any
	require.NoError(c.t, yaml.Unmarshal([]byte(text), &spec))
	for range 1 + s.N(3) {
		spec = damage(s, spec)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetAPIVersion(version)
	u.SetKind(name)
	u.SetNamespace(c.ns)
	u.SetName(fmt.Sprintf("odd-%d", seed))
	if s.OneIn(15) {
		u.SetName(s.Word() + fmt.Sprint(seed))
	}
	// As JSON, in which numbers are what the apiserver reads.
	raw, err := json.Marshal(u.Object)
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(raw, &u.Object))
	return u
}

// damage changes one place of a document.
func damage(s *hostile.Source, node any) any {
	switch n := node.(type) {
	case map[string]any:
		key := hostile.Pick(s, slices.Sorted(maps.Keys(n))...)
		switch {
		case s.OneIn(8):
			delete(n, key)
		case s.OneIn(12):
			n[s.Word()] = odd(s)
		default:
			n[key] = damage(s, n[key])
		}
		if len(n) == 0 {
			return odd(s)
		}
		return n
	case []any:
		switch {
		case len(n) == 0 || s.OneIn(8):
			return odd(s)
		case s.OneIn(6):
			return append(n, n[s.N(len(n))])
		case s.OneIn(8):
			return append(n, odd(s))
		}
		i := s.N(len(n))
		n[i] = damage(s, n[i])
		return n
	}
	return odd(s)
}

// odd is a value of any type. Numbers of replicas stay small: thousands of pods are another test's.
func odd(s *hostile.Source) any {
	switch s.N(8) {
	case 0:
		return nil
	case 1:
		return hostile.Pick[any](s, 0, 1, 2, -1, 3, 65536, 20000, 2147483647, 4294967296, -4294967296, int64(1)<<62, 1.5)
	case 2:
		return hostile.Pick[any](s, map[string]any{}, []any{}, []any{nil}, map[string]any{"": nil}, []any{map[string]any{}})
	case 3:
		return s.OneIn(2)
	default:
		return s.Word()
	}
}

// TestHostileObjects sends odd objects of all kinds. Each is refused with a word on the field, or it gets an answer and then rest.
// Meanwhile the operator runs a good job next to them.
func TestHostileObjects(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	var accepted []*unstructured.Unstructured
	refused := 0
	for seed := *hostileSeed; seed < *hostileSeed+*hostileObjects; seed++ {
		u := c.hostileObject(seed)
		sent, err := json.Marshal(u)
		require.NoError(t, err)
		if err := c.Create(c.ctx, u); err != nil {
			requireRefusal(t, err, string(sent))
			refused++
			continue
		}
		accepted = append(accepted, u)
	}
	t.Logf("%d refused, %d accepted", refused, len(accepted))
	require.Greater(t, refused, *hostileObjects/10)
	require.Greater(t, len(accepted), *hostileObjects/10)
	c.finishes("healthy")
	for _, u := range accepted {
		c.awaitAnswer(u)
	}
	c.awaitRest(accepted)
	c.finishes("healthy-still")
}

func requireRefusal(t *testing.T, err error, sent string) {
	t.Helper()
	require.True(t, apierrors.IsInvalid(err) || apierrors.IsBadRequest(err), "%v\nof %s", err, sent)
	require.Regexp(t, `spec|metadata`, err.Error(), sent)
	require.NotRegexp(t, `no such key|index out of bounds|internal error|cost|no such overload|evaluation error`, err.Error(), sent)
}

// awaitAnswer waits until an object's status says something.
func (c *cluster) awaitAnswer(u *unstructured.Unstructured) {
	c.t.Helper()
	said := false
	for end := time.Now().Add(patience); !said && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err := c.Get(c.ctx, client.ObjectKeyFromObject(u), u)
		if apierrors.IsNotFound(err) {
			return // ttlSecondsAfterFinished
		}
		require.NoError(c.t, err)
		phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
		conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
		said = len(conditions) > 0 && (phase != "" || strings.HasPrefix(u.GetAPIVersion(), "kubeflow.org"))
		for _, condition := range conditions {
			message, _, _ := unstructured.NestedString(condition.(map[string]any), "message")
			said = said && message != ""
		}
	}
	text, err := yaml.Marshal(u.Object)
	require.NoError(c.t, err)
	require.True(c.t, said, "no answer: %s", text)
}

// awaitRest waits until nobody writes to objects or makes and deletes pods.
func (c *cluster) awaitRest(objects []*unstructured.Unstructured) {
	c.t.Helper()
	before, since := "", time.Now()
	c.until("all come to rest", func() bool {
		var now strings.Builder
		for _, o := range objects {
			have := &unstructured.Unstructured{}
			have.SetGroupVersionKind(o.GroupVersionKind())
			if c.Get(c.ctx, client.ObjectKeyFromObject(o), have) == nil {
				fmt.Fprintln(&now, have.GetName(), have.GetResourceVersion())
			}
		}
		pods := &corev1.PodList{}
		require.NoError(c.t, c.List(c.ctx, pods, client.InNamespace(c.ns)))
		for _, pod := range pods.Items {
			fmt.Fprintln(&now, pod.Name, pod.ResourceVersion)
		}
		if now.String() != before {
			before, since = now.String(), time.Now()
		}
		return time.Since(since) > 4*time.Second
	})
}
