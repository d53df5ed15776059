package jobs

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
)

// awaited is a pod that was told to stop, and taking takes the port at an address; it is called with others until it does.
func awaited(t *testing.T, taking func(address net.IP) error) *corev1.Pod {
	t.Helper()
	var err error
	for n := 1; n < 255; n++ {
		address := net.IPv4(127, 2, 0, byte(n))
		if err = taking(address); err == nil {
			return &corev1.Pod{Status: corev1.PodStatus{PodIP: address.String()}, ObjectMeta: metav1.ObjectMeta{
				Name: "job-worker-0", UID: "pod", Annotations: map[string]string{inplace.Annotation: inplace.Order{Attempt: 1, JobAttempt: 1}.String()},
			}}
		}
	}
	require.NoError(t, err)
	return nil
}

// present is a pod at whose port door is.
func present(t *testing.T) (pod *corev1.Pod, door net.Listener) {
	t.Helper()
	pod = awaited(t, func(address net.IP) (err error) {
		door, err = net.Listen("tcp", net.JoinHostPort(address.String(), strconv.Itoa(inplace.Port)))
		return err
	})
	t.Cleanup(func() { _ = door.Close() })
	return pod, door
}

// queued makes questions whose answers lead to a queue.
func queued(t *testing.T) (*questions, workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	q := newQuestions(clock.RealClock{})
	require.NoError(t, q.Start(t.Context(), queue))
	return q, queue
}

var asksAbout = &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job"}}

// A pod answers when the reconcile that has asked it is over: if a reconcile waited for it, no answer would come.
func TestNoReconcileWaitsForAPod(t *testing.T) {
	pod, door := present(t)
	q, queue := queued(t)
	var rounds [subjects]*round
	over := make(chan struct{})
	go func() {
		for {
			conn, err := door.Accept()
			if err != nil {
				return
			}
			<-over
			var asked inplace.Question
			if json.NewDecoder(conn).Decode(&asked) == nil {
				_ = json.NewEncoder(conn).Encode(inplace.Report{Pod: asked.Pod, Attempt: 1})
			}
			_ = conn.Close()
		}
	}()
	pods := []*corev1.Pod{pod}
	require.Empty(t, q.ask(t.Context(), &rounds, asksAbout, Arrival, pods, true))
	close(over)
	var got map[types.UID]inplace.Report
	for end := time.Now().Add(10 * time.Minute); len(got) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got = q.ask(t.Context(), &rounds, asksAbout, Arrival, pods, true) // again, if this machine was slow
	}
	require.Equal(t, 1, got[pod.UID].Attempt)
	request, _ := queue.Get()
	require.Equal(t, types.NamespacedName{Namespace: "ns", Name: "job"}, request.NamespacedName, "an arrival leads to a reconcile")
}

// absent is a pod at whose port nobody listens, which answers so at once. Nor can another program listen there: a socket has the address,
// and shares it with nobody. So it takes no address at which a connection has just ended.
func absent(t *testing.T) *corev1.Pod {
	t.Helper()
	return awaited(t, func(address net.IP) error {
		socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = syscall.Close(socket) })
		return syscall.Bind(socket, &syscall.SockaddrInet4{Port: inplace.Port, Addr: [4]byte(address.To4())})
	})
}

func TestWhoIsSilentIsAskedLessOften(t *testing.T) {
	pod := absent(t)
	q, _ := queued(t)
	var rounds [subjects]*round
	pods := []*corev1.Pod{pod}
	state := func() (underway bool, silent int, next time.Time) {
		q.mu.Lock()
		defer q.mu.Unlock()
		r := rounds[Arrival]
		return r.underway, r.silent, r.next
	}
	began := time.Now()
	require.Empty(t, q.ask(t.Context(), &rounds, asksAbout, Arrival, pods, true))
	for end := began.Add(10 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if underway, _, _ := state(); !underway {
			break
		}
	}
	_, silent, next := state()
	require.Equal(t, 1, silent)
	require.False(t, next.Before(began.Add(silence(Arrival, 1))))

	for _, about := range []Subject{Arrival, HeldEnd, CodeProgress} {
		require.Zero(t, silence(about, 0), "who answers is asked as often as it is waited for")
		for n := 1; n < 100; n++ {
			require.LessOrEqual(t, silence(about, n), silence(about, n+1))
		}
	}
	require.Equal(t, longestSilence, silence(HeldEnd, 100))
	require.Less(t, longestSilence+barrier.HoldInterval(10_000), inplace.Hold, "a held end is still heard")

	require.Empty(t, q.ask(t.Context(), &rounds, asksAbout, Arrival, nil, true))
	require.Empty(t, rounds[Arrival], "nobody is awaited any more")
}

// Who is asked often answers often, and most answers of code that has just begun tell nothing.
func TestAnAnswerWithoutProgressIsNoNews(t *testing.T) {
	for _, r := range []inplace.Report{{}, {Attempt: 1}, {Step: "a", Loss: "b"}} {
		require.False(t, question{}.isNews(CodeProgress, r))
	}
	for _, r := range []inplace.Report{{Step: "0"}, {Loss: "nan"}} {
		require.True(t, question{}.isNews(CodeProgress, r))
	}
}

// Its node was away, and its patience ends: all others wait for it.
func TestAPodThatIsAwaitedIsAskedSoonAfterItIsBack(t *testing.T) {
	pod := absent(t)
	now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	q := newQuestions(now)
	var rounds [subjects]*round
	for n := 1; n <= 12; n++ {
		require.Empty(t, q.ask(t.Context(), &rounds, asksAbout, Arrival, []*corev1.Pod{pod}, true))
		var r round
		for end := time.Now().Add(10 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
			q.mu.Lock()
			r = *rounds[Arrival]
			q.mu.Unlock()
			if !r.underway {
				break
			}
			require.True(t, time.Now().Before(end))
		}
		require.Equal(t, n, r.silent)
		require.LessOrEqual(t, r.next.Sub(now.Now()), 2*time.Second)
		now.SetTime(r.next)
	}
}

// JSON writes a character that a terminal obeys, and a bracket, as six bytes. Whose report is cut is never heard, and is awaited for ever.
func TestTheLongestReportIsRead(t *testing.T) {
	end := &inplace.End{Attempt: 1 << 30, Code: 255, Began: time.Now().UTC(), Ended: time.Now().UTC(), Message: strings.Repeat("<", inplace.MaxMessage)}
	pod, door := present(t)
	go func() {
		for {
			c, err := door.Accept()
			if err != nil {
				return
			}
			_ = json.NewDecoder(c).Decode(&inplace.Question{})
			_ = json.NewEncoder(c).Encode(inplace.Report{Pod: "pod", Attempt: 1, Held: end, Ended: end})
			_ = c.Close()
		}
	}()
	question, late := questionFor(&v1beta1.GenericJob{}, pod, nil), time.Now().Add(10*time.Minute)
	report, err := question.ask(t.Context())
	for (errors.Is(err, net.ErrClosed) || os.IsTimeout(err)) && time.Now().Before(late) { // this machine was slow
		report, err = question.ask(t.Context())
	}
	require.NoError(t, err)
	require.Equal(t, end, report.Ended)
}
