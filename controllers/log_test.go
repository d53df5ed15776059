package controllers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
)

// logbook holds the lines of a log at level info.
type logbook struct {
	mu    sync.Mutex
	lines []map[string]any
}

func (b *logbook) logger() logr.Logger {
	return funcr.NewJSON(func(line string) {
		parsed := map[string]any{}
		if err := json.Unmarshal([]byte(line), &parsed); err != nil {
			panic(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, parsed)
	}, funcr.Options{})
}

// about are the lines about a job of a kind, each as its message and the values of some keys.
func (b *logbook) about(kind, job string, keys ...string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := []string{}
	for _, l := range b.lines {
		if l["kind"] != kind || l["job"] != job {
			continue
		}
		line := fmt.Sprint(l["msg"])
		for _, k := range keys {
			if v := l[k]; v != nil && v != "" {
				line += fmt.Sprintf(" %s=%v", k, v)
			}
		}
		out = append(out, line)
	}
	return out
}

// errors are the lines that tell of errors, but for those about events.
func (b *logbook) errors() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, l := range b.lines {
		if l["error"] != nil && l["logger"] != "events" {
			out = append(out, fmt.Sprint(l))
		}
	}
	return out
}

func TestTheLogHasALineForWhatHappensToAJob(t *testing.T) {
	t.Parallel()
	c, b := newCluster(t), &logbook{}
	c.operate(operation{log: b.logger()})
	job := c.submit("told", "replicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 1}}]")
	c.awaitPhase("told", v1beta1.JobRunning)
	replaced := func(replica string, end func()) {
		old := c.pods(job)[replica].UID
		end()
		c.until(replica+" is replaced", func() bool {
			pod := c.pods(job)[replica]
			return pod.UID != old && pod.Status.Phase == corev1.PodRunning
		})
	}
	replaced("worker-0", func() { c.finish(job, "worker-0", 1) })
	replaced("worker-1", func() { c.remove(c.pods(job)["worker-1"]) })
	pause := func(on bool) {
		c.edit("told", func(s *v1beta1.GenericJobSpec) { s.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: on}} })
	}
	pause(true)
	c.awaitPhase("told", v1beta1.JobPaused)
	pause(false)
	c.awaitPhase("told", v1beta1.JobRunning)
	c.finish(job, "worker-0", 0)
	c.finish(job, "worker-1", 0)
	c.awaitPhase("told", v1beta1.JobSucceeded)
	c.until("the end is logged, after the write of the status", func() bool {
		return slices.Contains(b.about("GenericJob", c.ns+"/told", "phase", "reason"), "new phase phase=Succeeded reason=Succeeded")
	})
	lines := slices.DeleteFunc(b.about("GenericJob", c.ns+"/told", "replica", "phase", "reason"), func(line string) bool {
		return strings.Contains(line, "phase=Pending") // it goes without saying if all run soon
	})
	require.ElementsMatch(t, []string{
		"new phase phase=Running reason=-",
		"replica replaced replica=worker-0 reason=Restarted",
		"pod deleted replica=worker-0 reason=its time is over",
		"replica replaced replica=worker-1 reason=Disrupted",
		"pod deleted replica=worker-0 reason=the run mode is now Paused",
		"pod deleted replica=worker-1 reason=the run mode is now Paused",
		"new phase phase=Paused reason=Paused",
		"new phase phase=Resuming reason=PodsNotReady",
		"new phase phase=Running reason=-",
		"new phase phase=Succeeded reason=Succeeded",
	}, lines)
	require.Regexp(t, `replica replaced node=\S+ message=.*exited with error code 1; it is replaced \(restart 1 of 1\); this pod was on node \S+`,
		strings.Join(b.about("GenericJob", c.ns+"/told", "node", "message"), "\n"))
	require.Empty(t, b.errors())
}

func TestTheLogTellsOfATrainingJob(t *testing.T) {
	t.Parallel()
	c, b := newCluster(t), &logbook{}
	c.operate(operation{log: b.logger()})
	c.train("told", chiefAndTwo)
	c.awaitTraining("told", v1beta1.JobRunning)
	c.until("it is logged", func() bool {
		lines := b.about("TensorFlowTrainingJob", c.ns+"/told", "phase")
		return slices.Contains(lines, "new phase phase=Running") && len(lines) <= 2
	})
}

func TestARefusalThatRepeatsIsOneLineInTheLog(t *testing.T) {
	t.Parallel()
	c, b := newCluster(t), &logbook{}
	n := &network{code: http.StatusForbidden}
	n.breakWhere(func(k call) bool { return k.verb == "POST" && strings.HasSuffix(k.path, "/pods") })
	c.operate(operation{network: n, log: b.logger()})
	c.submit("denied", "replicaSpecs: [{type: worker, replicas: 9, template: POD}]")
	c.until("it is tried again", func() bool { return len(n.seen("POST", "/pods")) > 12 })
	refused := 0
	for _, line := range b.about("GenericJob", c.ns+"/denied", "reason", "call") {
		require.NotContains(t, line, "blocked")
		if strings.HasPrefix(line, "refused reason=CreateFailed call=create Pod") {
			refused++
		}
	}
	require.Equal(t, 1, refused)
	require.Empty(t, b.errors())
}

// Nor does a reconcile whose write meets a conflict say what has not happened.
func TestAJobAtRestHasNoLineInTheLog(t *testing.T) {
	t.Parallel()
	c, b := newStill(t), &logbook{}
	job := c.submit("quiet", "replicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 1}}]")
	c.settle("quiet")
	c.ctx = log.IntoContext(c.ctx, b.logger())
	c.now(job, "worker-0", 1)
	v := c.look("quiet")
	c.edit("quiet", func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = v1beta1.CleanUpAll })
	p := c.reconcile("quiet", v)
	require.NoError(t, p.err)
	require.Len(t, p.calls, 1, "a conflict")
	require.Empty(t, b.lines)
	c.reconcile("quiet", c.look("quiet"))
	require.NotEmpty(t, b.lines)
	c.settle("quiet")
	told := len(b.lines)
	for range 3 {
		c.reconcile("quiet", c.look("quiet"))
	}
	require.Len(t, b.lines, told)
}

// Whoever deletes a namespace means it: the operator does not complain that it cannot create there any more.
func TestANamespaceThatIsDeletedUnderAJobIsNoErrorInTheLog(t *testing.T) {
	t.Parallel()
	c, b, n := newCluster(t), &logbook{}, &network{}
	c.operate(operation{log: b.logger(), network: n})
	job := c.submit("running", "service: {}\n"+twoWorkers)
	c.train("training", chiefAndTwo)
	c.awaitPhase("running", v1beta1.JobRunning)
	c.awaitTraining("training", v1beta1.JobRunning)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: c.ns}}
	require.NoError(t, c.Delete(c.ctx, namespace))
	pod := func() *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "late", Namespace: c.ns}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
	}
	require.True(t, calls.NamespaceEnds(c.Create(c.ctx, pod())))
	n.forget()
	c.remove(c.pods(job)["worker-0"])
	c.until("its pod is asked for", func() bool { return len(n.seen("POST", "/pods")) > 0 })
	require.NoError(t, c.Delete(c.ctx, c.job("training")))
	c.until("the GenericJob is asked for", func() bool { return len(n.seen("POST", "/genericjobs")) > 0 })
	for _, kind := range []client.Object{&v1beta1.TensorFlowTrainingJob{}, &v1beta1.GenericJob{}, &corev1.Service{}, &corev1.Pod{}} {
		require.NoError(t, c.DeleteAllOf(c.ctx, kind, client.InNamespace(c.ns)))
	}
	c.until("nothing is left", func() bool { return c.gone(job) && len(c.pods(job)) == 0 })
	require.NoError(t, c.Get(c.ctx, client.ObjectKey{Name: c.ns}, namespace))
	namespace.Spec.Finalizers = nil
	require.NoError(t, c.SubResource("finalize").Update(c.ctx, namespace))
	require.True(t, calls.NamespaceEnds(c.Create(c.ctx, pod())))
	require.Empty(t, b.errors())
}
