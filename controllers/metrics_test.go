package controllers_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// told are the metrics of a registry that are not 0, as name{label values}: of a histogram the number.
func told(t *testing.T, from prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	require.NoError(t, err)
	found := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()); v != 0 {
				found[strings.TrimPrefix(f.GetName(), "genericjob_")+"{"+strings.Join(labels, " ")+"}"] = v
			}
		}
	}
	return found
}

// The GenericJob of a training job is no second job, of whatever phase.
func TestMetricsCountAJobOnceUnderItsOwnKind(t *testing.T) {
	t.Parallel()
	c, registry := newCluster(t), prometheus.NewPedanticRegistry()
	c.operate(operation{metrics: registry})
	plain := c.submit("plain", "replicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 2}}]")
	c.train("training", chiefAndTwo)
	c.train("a-name-that-makes-the-host-names-long-"+strings.Repeat("x", 8), "replicaSpecs: [{type: worker, replicas: 10000, template: POD}]") // compiles to nothing
	foreign := v1beta1.ManagedByMultiKueue
	elsewhere := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "elsewhere"}, Spec: *plain.Spec.DeepCopy()}
	elsewhere.Spec.ManagedBy = &foreign
	require.NoError(t, c.Create(c.ctx, elsewhere))
	c.train("elsewhere-too", "managedBy: kueue.x-k8s.io/multikueue\n"+chiefAndTwo)
	c.train("elsewhere-and-large", "managedBy: kueue.x-k8s.io/multikueue\n"+strings.Replace(chiefAndTwo, "POD",
		"{metadata: {annotations: {a: "+strings.Repeat("x", 20_000)+"}}, spec: {containers: [{name: tensorflow, image: i}]}}", 1))
	c.awaitPhase("plain", v1beta1.JobRunning)
	c.awaitTraining("training", v1beta1.JobRunning)
	old := c.pods(plain)["worker-0"].UID
	c.finish(plain, "worker-0", 1)
	c.until("it is replaced and runs", func() bool {
		pod := c.pods(plain)["worker-0"]
		return pod.UID != old && pod.Status.Phase == corev1.PodRunning
	})
	c.remove(c.pods(plain)["worker-1"])
	c.until("that is counted, too", func() bool { return c.job("plain").Status.DisruptionCount == 1 })
	c.await("plain", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "2/2" })
	c.finish(plain, "worker-0", 0)
	c.finish(plain, "worker-1", 0)
	c.awaitPhase("plain", v1beta1.JobSucceeded)
	want := map[string]float64{
		"jobs{GenericJob Succeeded}": 1, "jobs{TensorFlowTrainingJob Running}": 1, "jobs{TensorFlowTrainingJob Failed}": 1,
		"start_duration_seconds{GenericJob}": 1, "start_duration_seconds{TensorFlowTrainingJob}": 1,
		"completion_duration_seconds{GenericJob Succeeded}": 1, "completion_duration_seconds{TensorFlowTrainingJob Failed}": 1,
		"restarts_total{GenericJob Error}": 1, "disruptions_total{GenericJob Deleted}": 1,
		"pods_created_total{GenericJob}": 4, "pods_created_total{TensorFlowTrainingJob}": 3,
	}
	c.until("only its time is open: the other is over, or part of a training job", func() bool { // the cache may be older than the end
		has := told(t, registry)
		return has["time_open_seconds{productive TensorFlowTrainingJob}"] > 0 && has["time_open_seconds{productive GenericJob}"] == 0
	})
	c.untilEqual(want, func() any {
		has := told(t, registry)
		maps.DeleteFunc(has, func(name string, _ float64) bool {
			return strings.HasPrefix(name, "time_") || strings.HasPrefix(name, "recovery_") || strings.HasPrefix(name, "reconciles_") || strings.HasPrefix(name, "calls_") || strings.HasPrefix(name, "pods_deleted") || strings.HasSuffix(name, "{PodsNotReady GenericJob}")
		})
		return has
	})
}

func TestMetricsTellWhatJobsWaitForAndWhatIsRefused(t *testing.T) {
	t.Parallel()
	c, registry, n := newCluster(t), prometheus.NewPedanticRegistry(), &network{code: http.StatusForbidden}
	n.breakWhere(func(k call) bool { return k.verb == "POST" && strings.HasSuffix(k.path, "/pods") })
	c.operate(operation{metrics: registry, network: n})
	c.train("training", chiefAndTwo)
	require.NoError(t, c.Create(c.ctx, &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "taken"}, Spec: c.submit("denied", twoWorkers).Spec,
	}))
	c.train("taken", chiefAndTwo) // a GenericJob of its name is there already
	var has map[string]float64
	c.until("all wait", func() bool {
		has = told(t, registry)
		return has["jobs_waiting{GenericJob CreateFailed}"] == 2 && has["jobs_waiting{TensorFlowTrainingJob CreateFailed}"] == 1 &&
			has["jobs_waiting{TensorFlowTrainingJob NoGenericJob}"] == 1 && has["jobs{TensorFlowTrainingJob Pending}"] == 2
	})
	require.Positive(t, has["calls_failed_total{TensorFlowTrainingJob Pod CreateFailed}"])
	require.Zero(t, has["pods_created_total{GenericJob}"])
	require.NoError(t, c.DeleteAllOf(c.ctx, &v1beta1.GenericJob{}, client.InNamespace(c.ns)))
}

// Its GenericJob runs, and is not blocked: the alert for blocked jobs did not see an edit that waits for a pause.
func TestMetricsTellOfATrainingJobThatIsBlockedItself(t *testing.T) {
	t.Parallel()
	c, registry := newCluster(t), prometheus.NewPedanticRegistry()
	stop := c.operate(operation{})
	c.train("held", chiefAndTwo)
	c.until("all run", func() bool { return c.training("held").Status.Running == "3/3" })
	stop()
	have := c.training("held") // the view of a pause may be older than its end
	have.Status.Phase = v1beta1.JobPaused
	require.NoError(t, c.Status().Update(c.ctx, have))
	c.editTraining("held", func(j *v1beta1.TensorFlowTrainingJob) { j.Spec.ReplicaSpecs[1].Replicas = ptr.To[int32](1) })
	c.operate(operation{metrics: registry})
	c.awaitBlocked("held", v1beta1.ReasonInvalidSpec)
	c.until("it is told", func() bool {
		has := told(t, registry)
		return has["jobs_waiting{TensorFlowTrainingJob InvalidSpec}"] == 1 && has["jobs{TensorFlowTrainingJob Running}"] == 1
	})
}

func TestMetricsOfACacheOfSomeNamespaces(t *testing.T) {
	t.Parallel()
	c, registry := newCluster(t), prometheus.NewPedanticRegistry()
	c.operate(operation{metrics: registry, some: true})
	c.submit("plain", twoWorkers)
	c.train("training", chiefAndTwo)
	c.until("both are told", func() bool {
		has := told(t, registry)
		return has["jobs{GenericJob Running}"] == 1 && has["jobs{TensorFlowTrainingJob Running}"] == 1
	})
}

// Each job has its own namespace, that of a training job, too.
func TestMetricsOfTimeByNamespace(t *testing.T) {
	t.Parallel()
	c, registry := newCluster(t), prometheus.NewPedanticRegistry()
	c.operate(operation{metrics: registry, timesByNamespace: true})
	c.submit("plain", twoWorkers)
	c.train("training", chiefAndTwo)
	c.until("both are told", func() bool {
		has := told(t, registry)
		return has["time_open_seconds{productive GenericJob "+c.ns+"}"] > 0 && has["time_open_seconds{productive TensorFlowTrainingJob "+c.ns+"}"] > 0
	})
	require.NoError(t, c.Delete(c.ctx, c.job("plain")))
	c.until("its gauge goes", func() bool {
		has := told(t, registry)
		_, open := has["time_open_seconds{productive GenericJob "+c.ns+"}"]
		return !open
	})
}

// A kind that a definition serves has its metrics while it is served.
func TestMetricsOfAKindThatComesAndGoes(t *testing.T) {
	c, registry := newCluster(t), prometheus.NewPedanticRegistry()
	c.operate(operation{metrics: registry, definitions: true})
	kind := newKind("CountedJob")
	c.installKind(kind)
	c.grantKind(kind)
	f := c.define("counted", kind, "  validations:", "  validations:\n    - {expression: job.name != 'bad', message: it is bad}")
	c.awaitDefinition("counted", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.awaitJAX(c.submitJAX(kind, "one", "[]"), v1beta1.JobRunning)
	c.submitJAX(kind, "bad", "[]")
	c.until("both are told", func() bool {
		has := told(t, registry)
		return has["jobs{CountedJob Running}"] == 1 && has["jobs{CountedJob Failed}"] == 1 &&
			has["pods_created_total{CountedJob}"] == 1 && has["start_duration_seconds{CountedJob}"] == 1
	})
	require.Zero(t, told(t, registry)["jobs{GenericJob Running}"])
	c.define("rival", kind)
	c.until("one serves, and its rival is refused", func() bool {
		has := told(t, registry)
		return has["definitions{Serving}"] == 1 && has["definitions{Refused}"] == 1 && has["definitions{Waiting}"] == 0
	})
	require.NoError(t, c.Delete(c.ctx, &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: "rival"}}))

	require.NoError(t, c.Delete(c.ctx, f))
	c.until("what goes on is a GenericJob", func() bool {
		has := told(t, registry)
		return has["jobs{GenericJob Running}"] == 1 && has["jobs{CountedJob Running}"] == 0 && has["definitions{Serving}"] == 0
	})
}
