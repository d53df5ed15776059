package controllers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A mutating webhook that comes later may make pods invalid in a field that the user never wrote.
func TestAFieldThatBecomesInvalidLaterFailsNoJob(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("later", "replicaSpecs: [{type: worker, replicas: 2, template: POD}]")
	c.settle("later")
	v := c.look("later")
	// The cache has no pods, the template is broken, and the replica's own pod is gone: only a live look finds the other.
	v.pods = nil
	v.job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Name = "Not_A_Name"
	v.now = v.job.Status.LastUpdateTime.Time // the view is fresh: a write would bring the apiserver's template back
	c.unlock(c.pods(job)["worker-0"])
	p := c.reconcile("later", v)
	require.NoError(t, p.err)
	told := condition(c.job("later"), v1beta1.ConditionBlocked)
	require.Equal(t, v1beta1.ReasonCreateFailed, told.Reason)
	require.Contains(t, told.Message, "spec.containers[0].name")
	require.Contains(t, told.Message, "pause the job, correct the field, and resume it")
}

func TestARefusedReplicaTypeHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	c.operate(operation{network: n})
	job := c.submit("mixed", `replicaSpecs:
- {type: urgent, replicas: 50, template: {spec: {priorityClassName: very-high, containers: [{name: main, image: busybox}]}}}
- {type: worker, replicas: 3, template: POD}`)
	_, told := c.awaitCondition("mixed", v1beta1.ConditionBlocked, v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "very-high")
	c.until("the workers", func() bool { return len(c.pods(job)) == 3 })
	require.Less(t, len(n.seen("POST", "/namespaces/"+c.ns+"/pods")), few, "what is refused is not asked for 50 times")
}

// The release of one pod is refused by a webhook, or by who knows whom: the others' lives go on, and it is told.
func TestARefusedReleaseHoldsUpNoOtherReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{code: http.StatusForbidden}
	c.operate(operation{network: n})
	job := c.submit("held", "replicaSpecs: [{type: worker, replicas: 3, template: POD, restartPolicy: {limit: 1}}]")
	c.awaitPhase("held", v1beta1.JobRunning)
	n.breakWhere(func(k call) bool { return k.verb == "PATCH" && strings.Contains(k.path, "worker-0") })
	first := c.pods(job)
	c.finish(job, "worker-0", 1)
	c.finish(job, "worker-1", 1)
	c.until("worker 1 is replaced", func() bool {
		pod, there := c.pods(job)["worker-1"]
		return there && pod.UID != first["worker-1"].UID
	})
	job, told := c.awaitCondition("held", v1beta1.ConditionBlocked, v1beta1.ReasonRefused)
	require.Contains(t, told.Message, "The apiserver refuses to take the finalizer off Pod "+first["worker-0"].Name)
	c.awaitEvent(job, "Warning Refused", "take the finalizer off Pod")
	n.breakWhere(nil)
	c.until("worker 0 is replaced, and nothing is told any more", func() bool {
		pod, there := c.pods(job)["worker-0"]
		return there && pod.UID != first["worker-0"].UID && condition(c.job("held"), v1beta1.ConditionBlocked).Type == ""
	})
}

// An injector that fails says 500. Once that is what it says again and again, it is no passing fault.
func TestAnInjectorThatFailsForGoodIsTold(t *testing.T) {
	t.Parallel()
	for verb, tc := range map[string]struct {
		words, reason string
	}{
		"POST":   {"create Pod", v1beta1.ReasonCreateFailed},
		"DELETE": {"delete Pod", v1beta1.ReasonRefused},
		"PATCH":  {"take the finalizer off Pod", v1beta1.ReasonRefused},
	} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			n := &network{}
			c.operate(operation{network: n})
			spec := "cleanUpPolicy: All\nreplicaSpecs: [{type: worker, replicas: 2, template: POD, restartPolicy: {limit: 1}}]"
			job := c.submit("injected", spec)
			c.awaitPhase("injected", v1beta1.JobRunning)
			n.breakWhere(func(k call) bool { return k.verb == verb && strings.Contains(k.path, "/pods") })
			c.finish(job, "worker-0", 1)
			job, told := c.awaitCondition("injected", v1beta1.ConditionBlocked, tc.reason)
			require.Contains(t, told.Message, "The apiserver refuses to "+tc.words)
			require.NotContains(t, told.Message, "attempt")
			c.awaitEvent(job, "Warning "+tc.reason, tc.words)
			version := c.job("injected").ResourceVersion
			asked := len(n.seen(verb, "/pods"))
			c.until("it is asked for again", func() bool { return len(n.seen(verb, "/pods")) > asked })
			require.Equal(t, version, c.job("injected").ResourceVersion, "it is told once")
			n.breakWhere(nil)
			c.until("nothing is told any more", func() bool { return condition(c.job("injected"), v1beta1.ConditionBlocked).Type == "" })
		})
	}
}

func TestAPassingFaultIsNotTold(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{"one 500": http.StatusInternalServerError, "a conflict": http.StatusConflict, "a timeout": http.StatusGatewayTimeout} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			n := &network{code: code}
			failed := map[string]bool{}
			n.breakWhere(func(k call) bool {
				if !strings.Contains(k.path, "/pods") || strings.Contains(k.path, "/status") {
					return false
				}
				id := k.verb + k.path
				n.mu.Lock()
				defer n.mu.Unlock()
				first := !failed[id]
				failed[id] = true
				return first
			})
			c.operate(operation{network: n})
			job := c.submit("hiccup", twoWorkers)
			c.awaitPhase("hiccup", v1beta1.JobRunning)
			c.finish(job, "worker-0", 0)
			c.finish(job, "worker-1", 0)
			c.awaitPhase("hiccup", v1beta1.JobSucceeded)
			c.until("nothing is held", func() bool { return free(c, job) })
			for _, event := range c.told(job) {
				require.NotContains(t, event, "Warning")
			}
		})
	}
}

func TestATrainingJobTellsOfAFaultThatLasts(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	n := &network{}
	n.breakWhere(func(k call) bool { return k.verb == "POST" && strings.HasSuffix(k.path, "/genericjobs") })
	c.operate(operation{network: n})
	job := c.train("faulty", chiefAndTwo)
	told := c.awaitBlocked("faulty", v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "create GenericJob "+c.ns+"/faulty")
	c.awaitEvent(job, "Warning CreateFailed", "create GenericJob")
	n.breakWhere(nil)
	c.awaitTraining("faulty", v1beta1.JobRunning)
}

// A reconcile that may not carry out all leaves the rest to one that queues behind those of other jobs.
func TestALargeJobIsMadeInManyReconciles(t *testing.T) {
	t.Parallel()
	c := newStill(t)
	job := c.submit("large", fmt.Sprintf("replicaSpecs: [{type: worker, replicas: %d, template: POD}]", 450))
	for _, want := range []int{200, 400, 450} {
		v := c.look("large")
		p := c.reconcile("large", v)
		require.NoError(t, p.err)
		have := len(c.pods(job))
		require.LessOrEqual(t, have, want)
		require.Positive(t, have)
		if have < 450 {
			require.LessOrEqual(t, p.result.RequeueAfter, 10*time.Millisecond, "the rest follows at once")
			require.Positive(t, p.result.RequeueAfter)
		}
	}
	c.settle("large")
	require.Len(t, c.pods(job), 450)

	// So are its pods deleted.
	c.edit("large", func(s *v1beta1.GenericJobSpec) {
		s.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
		s.Service = nil
		s.CleanUpPolicy = v1beta1.CleanUpAll
		s.ActiveDeadlineSeconds = ptr.To[int64](1 << 30)
	})
	p := c.reconcile("large", c.look("large"))
	require.NoError(t, p.err)
	deleted := 0
	for _, k := range p.calls {
		if k.verb == http.MethodDelete {
			deleted++
		}
	}
	require.Positive(t, deleted)
	require.LessOrEqual(t, deleted, 200)
	require.LessOrEqual(t, p.result.RequeueAfter, 10*time.Millisecond)
	c.settle("large")
	require.Empty(t, c.pods(job))
}
