package translators_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/hostile"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// FuzzTranslators compiles odd jobs of all frameworks, and shows them odd states.
func FuzzTranslators(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		s := hostile.FromBytes(data)
		all := append(translators.All(), kubeflow.All("", true)...)
		requireCompiles(t, s, hostile.Pick(s, all...))
	})
}

func TestHostileJobsOfAllFrameworks(t *testing.T) {
	t.Parallel()
	for _, r := range append(translators.All(), kubeflow.All("", true)...) {
		t.Run(reflect.TypeOf(r.New()).Elem().Name(), func(t *testing.T) {
			compiled := 0
			for seed := range 1500 {
				if requireCompiles(t, hostile.FromSeed(seed), r) {
					compiled++
				}
				require.False(t, t.Failed(), "seed %d", seed)
			}
			require.Greater(t, compiled, 200, "most jobs must get far")
			require.Less(t, compiled, 1450, "some must be refused")
		})
	}
}

// good are jobs that use most of what their kinds have.
var good = map[string]string{
	"TensorFlowTrainingJob": `{runPolicy: {backoffLimit: 1}, runMode: {debug: {enabled: false}}, tensorboardSpec: {trainingLogFilesets: ["t9k://pvc/a/b"]},
replicaSpecs: [{type: chief, template: T}, {type: worker, replicas: 3, template: T}, {type: ps, template: T}]}`,
	"PyTorchTrainingJob": `{torchrunConfig: {enabled: true, procPerNode: "2", maxRestarts: 1, extraOptions: ["--log_dir=/x"]}, tensorboardSpec: {logDir: {pvc: [{name: a, subPath: [b]}]}},
elastic: {enabled: true, minReplicas: 1, maxReplicas: 4, expectedReplicas: 2}, replicaSpecs: [{type: master, scalingWeight: 1, template: T}, {type: worker, replicas: 2, scalingWeight: 3, template: T}]}`,
	"TFJob":      `{runPolicy: {cleanPodPolicy: Running, ttlSecondsAfterFinished: 5}, tfReplicaSpecs: {Chief: {template: T}, Worker: {replicas: 2, restartPolicy: ExitCode, template: T}, PS: {template: T}}}`,
	"XGBoostJob": `{runPolicy: {backoffLimit: 2}, xgbReplicaSpecs: {Master: {template: T}, Worker: {replicas: 2, restartPolicy: ExitCode, template: T}}}`,
	"PaddleJob":  `{elasticPolicy: {minReplicas: 1, maxReplicas: 3}, paddleReplicaSpecs: {Master: {template: T}, Worker: {replicas: 2, template: T}}}`,
	"JAXJob":     `{runPolicy: {suspend: true}, jaxReplicaSpecs: {Worker: {replicas: 2, template: T}}}`,
	"MPIJob":     `{slotsPerWorker: 2, mpiImplementation: Intel, mpiReplicaSpecs: {Launcher: {template: T}, Worker: {replicas: 2, template: T}}}`,
	"PyTorchJob": `{elasticPolicy: {minReplicas: 1, maxReplicas: 3, rdzvId: x, rdzvConf: [{key: a, value: b}]}, pytorchReplicaSpecs: {Master: {template: T}, Worker: {replicas: 2, template: T}}}`,
}

const trainers = `{metadata: {labels: {a: b}}, spec: {containers: [{name: tensorflow, image: i, args: ["$(rank)"], env: [{name: X, value: "$(service.worker[0].host)"}], ports: [{name: p, containerPort: 2222}]}, {name: pytorch, image: i, args: [x]},
  {name: xgboost, image: i}, {name: paddle, image: i}, {name: jax, image: i}]}}`

// requireCompiles checks that a job becomes a program, or an error that says where, and reports whether it is a program.
func requireCompiles(t *testing.T, s *hostile.Source, r framework.Registration) bool {
	t.Helper()
	job := r.New()
	kind := reflect.TypeOf(job).Elem().Name()
	var template map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(trainers), &template))
	text := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(good[kind]), &text))
	raw, err := yaml.Marshal(map[string]any{"spec": withTemplate(text, template)})
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(raw, job))
	job.SetName("job")
	job.SetNamespace("ns")
	s.Mutate(reflect.ValueOf(job).Elem().FieldByName("Spec").Addr().Interface(), s.N(6))

	before := job.DeepCopyObject()
	program, err := r.Compile(job)
	require.True(t, equality.Semantic.DeepEqual(before, job), "Compile changed the job")
	again, errAgain := r.Compile(job)
	require.Equal(t, fmt.Sprint(err), fmt.Sprint(errAgain))
	if err != nil {
		require.Contains(t, err.Error(), "spec.", "the field")
		requireMirrors(t, s, r, job) // what is refused is shown as well
		return false
	}
	require.True(t, equality.Semantic.DeepEqual(program, again), "Compile gives another program")
	if board := program.TensorBoard; board != nil {
		if _, err := tensorboard.Build(job, schema.GroupVersionKind{Kind: kind}, board); err != nil {
			require.Contains(t, err.Error(), "spec.tensorboardSpec")
		}
	}
	requireMirrors(t, s, r, job)
	return !program.Foreign
}

// withTemplate puts a template wherever T stands.
func withTemplate(node, template any) any {
	switch n := node.(type) {
	case string:
		if n == "T" {
			return template
		}
	case map[string]any:
		for key, child := range n {
			n[key] = withTemplate(child, template)
		}
	case []any:
		for i, child := range n {
			n[i] = withTemplate(child, template)
		}
	}
	return node
}

// requireMirrors shows a job a state that makes no sense, twice: the second time nothing is new.
func requireMirrors(t *testing.T, s *hostile.Source, r framework.Registration, job client.Object) {
	t.Helper()
	from := v1beta1.GenericJobStatus{
		Phase: v1beta1.JobRunning, Tasks: []v1beta1.TaskStatus{{Type: "worker", Replicas: []v1beta1.ReplicaStatus{{Name: "job-worker-0"}}}},
		Conditions: []v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue}, {Type: v1beta1.ConditionFailed, Status: metav1.ConditionFalse}},
	}
	s.Mutate(&from, s.N(6))
	seen := map[v1beta1.JobConditionType]bool{}
	from.Conditions = slices.DeleteFunc(from.Conditions, func(c v1beta1.JobCondition) bool { // the CRD allows each once
		twice := seen[c.Type]
		seen[c.Type] = true
		return twice
	})
	source := from.DeepCopy()
	require.NoError(t, r.Mirror(job, from))
	require.True(t, equality.Semantic.DeepEqual(*source, from), "Mirror changed the GenericJob's status")
	shown := job.DeepCopyObject()
	require.NoError(t, r.Mirror(job, from))
	require.True(t, equality.Semantic.DeepEqual(shown, job), "Mirror shows another state the second time")
}
