package controllers_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
)

var withWrapper = operation{settings: kernel.Settings{WrapperImage: "operator"}}

const threeInPlace = "{restartStrategy: InPlace, restartScope: Job, backoffLimit: 1, replicaSpecs: [{type: worker, replicas: 3, " +
	"template: {spec: {containers: [{name: main, image: busybox, command: [train]}]}}}]}"

// wrapper answers as the one in a pod does, at an address of its own: 127.1.0.1 and on.
type wrapper struct {
	mu     sync.Mutex
	report inplace.Report
	asked  int
	order  string // the last that was brought
}

var (
	addresses     = 1 << 16
	addressesLock sync.Mutex
)

// wrap gives a running pod an address, at which a wrapper answers.
func (c *cluster) wrap(pod corev1.Pod) *wrapper {
	c.t.Helper()
	ip, door := c.openDoor()
	c.t.Cleanup(func() { _ = door.Close() })
	w := &wrapper{report: inplace.Report{Pod: string(pod.UID)}}
	go func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			w.talk(conn)
		}
	}()
	c.changeStatus(pod, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = ip, []corev1.PodIP{{IP: ip}} })
	return w
}

// openDoor listens at the first address at which nobody else does, of the tests of other checkouts, say.
func (c *cluster) openDoor() (ip string, door net.Listener) {
	c.t.Helper()
	addressesLock.Lock()
	defer addressesLock.Unlock()
	var err error
	for range 1000 {
		addresses++
		ip = net.IPv4(127, byte(addresses>>16), byte(addresses>>8), byte(addresses)).String()
		if door, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(inplace.Port))); err == nil {
			return ip, door
		}
	}
	require.NoError(c.t, err, "no address has port %d free", inplace.Port)
	return ip, door
}

func (w *wrapper) talk(conn net.Conn) {
	defer conn.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	var q inplace.Question
	if json.NewDecoder(conn).Decode(&q) == nil && q.Pod == w.report.Pod {
		w.asked++
		w.order = q.Order
		_ = json.NewEncoder(conn).Encode(w.report)
	}
}

func (w *wrapper) arrives(at, exits int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Attempt, w.report.Exits, w.report.Held = at, exits, nil
}

// holds has code fail whose wrapper stays.
func (w *wrapper) holds(code int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Held = &inplace.End{Attempt: w.report.Attempt, Code: code, Began: time.Now(), Ended: time.Now(), Message: "out of luck"}
}

func (w *wrapper) wasTold() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.order
}

func (w *wrapper) timesAsked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

// changeStatus is the kubelet's.
func (c *cluster) changeStatus(pod corev1.Pod, change func(*corev1.PodStatus)) {
	c.t.Helper()
	c.until("the status of pod "+pod.Name, func() bool {
		now := &corev1.Pod{}
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(&pod), now))
		change(&now.Status)
		return c.Status().Update(c.ctx, now) == nil
	})
}

// failInPlace has the container of a pod fail, and started again by its kubelet.
func (c *cluster) failInPlace(pod corev1.Pod, code int32) {
	c.t.Helper()
	c.changeStatus(pod, func(s *corev1.PodStatus) {
		s.ContainerStatuses[0].RestartCount++
		s.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: metav1.Now()}
	})
}

// awaitOrders waits until pods are told so.
func (c *cluster) awaitOrders(job *v1beta1.GenericJob, want string) {
	c.t.Helper()
	c.until("the pods are told "+want, func() bool {
		for _, pod := range c.pods(job) {
			if pod.Annotations[inplace.Annotation] != want {
				return false
			}
		}
		return true
	})
}

func TestReplicasGoOnTogetherInTheirPods(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(withWrapper)
	job := c.submit("world", threeInPlace)
	c.await("world", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
	before := c.pods(job)
	wrappers := map[string]*wrapper{}
	for name, pod := range before {
		wrappers[name] = c.wrap(pod)
	}

	c.failInPlace(before["worker-1"], 3)
	c.awaitOrders(job, "attempt=1 go=0 jobAttempt=1")
	wrappers["worker-0"].arrives(1, 0)
	wrappers["worker-1"].arrives(1, 1)
	late := wrappers["worker-2"]
	stop() // the next operator goes on
	asked := late.timesAsked()
	c.operate(withWrapper)
	c.until("the last is asked", func() bool { return late.timesAsked() > asked+2 })
	require.Zero(t, c.job("world").Status.InPlace.StartedJobAttempt)
	require.Contains(t, c.pods(job)["worker-0"].Annotations[inplace.Annotation], "go=0")
	late.arrives(1, 0)
	c.awaitOrders(job, "attempt=1 go=1 jobAttempt=1")
	c.until("the order is brought, too", func() bool { return late.wasTold() == "attempt=1 go=1 jobAttempt=1" })

	have := c.await("world", func(j *v1beta1.GenericJob) bool { return j.Status.InPlace.StartedJobAttempt == 1 })
	require.EqualValues(t, 1, have.Status.BackoffCount)
	require.NotNil(t, have.Status.InPlace.RestartTime)
	for name, pod := range c.pods(job) {
		require.Equal(t, before[name].UID, pod.UID)
	}

	c.failInPlace(before["worker-0"], 4)
	have = c.awaitPhase("world", v1beta1.JobFailed)
	require.EqualValues(t, 1, have.Status.BackoffCount)
	c.until("who waits is ended", func() bool {
		deadline := c.pods(job)["worker-0"].Spec.ActiveDeadlineSeconds
		return deadline != nil && *deadline == 1
	})
}

func TestASecondFailureIsHeardWhileItsContainerStays(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(withWrapper)
	job := c.submit("again", strings.Replace(threeInPlace, "backoffLimit: 1", "backoffLimit: 2", 1))
	c.await("again", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
	pods, wrappers := c.pods(job), map[string]*wrapper{}
	for name, pod := range pods {
		wrappers[name] = c.wrap(pod)
	}
	goOn := func(attempt int) {
		for _, w := range wrappers {
			w.arrives(attempt, 0)
		}
		c.awaitOrders(job, fmt.Sprintf("attempt=%d go=%d jobAttempt=%d", attempt, attempt, attempt))
	}
	c.failInPlace(pods["worker-1"], 3)
	c.awaitOrders(job, "attempt=1 go=0 jobAttempt=1")
	goOn(1)

	wrappers["worker-2"].holds(7)
	c.awaitOrders(job, "attempt=2 go=0 jobAttempt=2")
	asked := wrappers["worker-0"].timesAsked()
	wrappers["worker-0"].holds(9) // its code fails once it is told to stop
	c.until("worker-0 has said so", func() bool { return wrappers["worker-0"].timesAsked() > asked+1 })
	goOn(2)
	have := c.await("again", func(j *v1beta1.GenericJob) bool { return j.Status.InPlace.StartedJobAttempt == 2 })
	require.EqualValues(t, 2, have.Status.BackoffCount, "one restart is all replicas'")
	last := have.Status.Failures[len(have.Status.Failures)-1]
	require.Equal(t, pods["worker-2"].Name, last.Pod, "what failed after the order is no failure of its own")
	require.EqualValues(t, 7, *last.ExitCode)
	require.Contains(t, last.Message, "out of luck")

	wrappers["worker-2"].holds(7)
	have = c.awaitPhase("again", v1beta1.JobFailed)
	require.EqualValues(t, 2, have.Status.BackoffCount)
	c.until("who holds is ended", func() bool {
		pod := c.pods(job)["worker-2"]
		require.Equal(t, pods["worker-2"].UID, pod.UID, "it stays, with its logs")
		return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds == 1
	})
}

func TestOneThatFailsAloneGoesOnInItsPod(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(withWrapper)
	job := c.awaitGenericJob(c.train("alone", `{runPolicy: {restartStrategy: InPlace, restartScope: Replica, backoffLimit: 5},
  replicaSpecs: [{type: worker, replicas: 2, restartPolicy: OnFailure, template: {spec: {containers: [{name: tensorflow, image: busybox, command: [train]}]}}}]}`))
	c.until("both run", func() bool { return c.job("alone").Status.Running == "2/2" })
	failed := c.pods(job)["worker-1"]
	for n := 1; n <= 3; n++ {
		c.failInPlace(failed, 3)
		c.until("it goes on", func() bool {
			return c.pods(job)["worker-1"].Annotations[inplace.Annotation] == fmt.Sprintf("attempt=%d go=%d jobAttempt=0", n, n)
		})
		require.Equal(t, "attempt=0 go=0 jobAttempt=0", c.pods(job)["worker-0"].Annotations[inplace.Annotation])
		require.Equal(t, failed.UID, c.pods(job)["worker-1"].UID)
	}
	c.failInPlace(failed, 3)
	c.until("it is replaced", func() bool {
		pod, is := c.pods(job)["worker-1"]
		return is && pod.UID != failed.UID
	})
	require.EqualValues(t, 4, c.job("alone").Status.BackoffCount)
}

func TestRestartStrategyIsFixedWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(withWrapper)
	c.submit("fixed", threeInPlace)
	c.await("fixed", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
	err := c.tryEdit("fixed", func(s *v1beta1.GenericJobSpec) { s.RestartStrategy = v1beta1.RestartRecreate })
	require.ErrorContains(t, err, "restartStrategy is immutable unless the job is paused: set spec.runMode.pause.enabled")
	_, err = c.try("other", "{restartStrategy: InPlaces, replicaSpecs: [{type: worker, template: POD}]}")
	require.ErrorContains(t, err, `supported values: "Recreate", "InPlace"`)
	torch := c.trainTorch("torch", "{runPolicy: {restartStrategy: InPlace}, replicaSpecs: [{type: worker, template: POD}]}")
	c.awaitEvent(torch, "Warning FieldIgnored", "spec.runPolicy.restartStrategy is InPlace, but pods of type worker are replaced: container python has no command")
	told := c.submit("image", "{restartStrategy: InPlace, replicaSpecs: [{type: worker, template: POD}]}")
	c.awaitEvent(told, "Warning FieldIgnored", "spec.restartStrategy is InPlace, but pods of type worker are replaced: container main has no command")
}
