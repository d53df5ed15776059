package faults_test

import (
	"context"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv/played"
)

// After all faults everything must come to rest. A busy machine may take long for it, so what is bounded is how long nothing changes.
// Restart delays and the lease of a dead leader are much shorter. The other bound is for what never rests.
const (
	standstill = 5 * time.Minute
	calm       = 30 * time.Minute
)

// world is a namespace with jobs, and all who act in it but the operator.
type world struct {
	t     *testing.T
	c     client.WithWatch
	ns    string
	dice  *dice
	truth *truth
	past  *history
}

func newWorld(t *testing.T, d *dice) *world {
	t.Helper()
	w := &world{t: t, c: newClient(t), dice: d, truth: newTruth(), past: &history{}}
	w.ns = newNamespace(t, w.c)
	nodes := &played.Kubelet{Client: w.c, Namespace: w.ns, Node: "node", ExitCode: 143}
	k := &kubelet{Kubelet: nodes, dice: d, truth: w.truth}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { k.Play(ctx, k.look) })
	all.Go(func() { played.Collect(ctx, w.c, w.ns, owned) })
	all.Go(func() { w.witness(ctx, &v1beta1.GenericJobList{}, w.truth.sawJob) })
	all.Go(func() { w.witness(ctx, &corev1.PodList{}, w.truth.sawPod) })
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	return w
}

// submit creates a job, and deletes it later if that is its fate.
func (w *world) submit(f *fate) {
	o, err := f.object(w.ns)
	require.NoError(w.t, err)
	w.truth.expect(f)
	require.NoError(w.t, w.c.Create(w.t.Context(), o), f.spec)
	if f.leaves {
		after := time.Duration(500+w.dice.of(6000, "leaves", f.name)) * time.Millisecond
		time.AfterFunc(after, func() { w.leave(o) })
	}
}

// leave deletes a job, and asks again where the apiserver has no time.
func (w *world) leave(o client.Object) {
	for ctx, n := context.WithoutCancel(w.t.Context()), 0; n < 100 && client.IgnoreNotFound(w.c.Delete(ctx, o)) != nil; n++ {
		time.Sleep(time.Second)
	}
}

// The variants: with a leader, as deploy has it, and with two that both believe to lead. The second is what a lease cannot
// exclude: a leader that was cut off does not know yet that it has been replaced.
func TestFaults(t *testing.T) {
	for name, flags := range map[string][]string{
		"two leaders": nil,
		"one leader":  {"-leader-elect", "-leader-elect-namespace=" + operatorNamespace},
	} {
		t.Run(name, func(t *testing.T) { storm(t, flags) })
	}
}

func storm(t *testing.T, flags []string) {
	s := *seed
	if s == 0 {
		s = rand.Int63()
	}
	t.Logf("repeat it with -run '%s' -seed=%d -jobs=%d -duration=%s", t.Name(), s, *jobs, *duration)
	d := newDice(s)
	w := newWorld(t, d)
	freeLease(t, w.c)
	crew := newCrew(w, flags)
	crew.storm(true)
	end := time.Now().Add(*duration)
	for i := 0; time.Now().Before(end) || crew.kills+crew.ends == 0; { // the whole machine may stand still until the end
		for due := int(float64(*jobs) * 1.5 * (1 - time.Until(end).Seconds()/duration.Seconds())); i < min(*jobs, due+1); i++ {
			w.submit(newFate(d, i))
		}
		crew.tick()
		time.Sleep(100 * time.Millisecond)
	}
	crew.storm(false)
	last := crew.settle()
	t.Logf("the storm is over: %s; kills %d, ends on SIGTERM %d", d, crew.kills, crew.ends)
	begin := time.Now()
	problems := w.settle(crew)
	wrongs, lost := w.truth.wrongs()
	t.Logf("it took %s more until all was at rest; %d pods lost a race", time.Since(begin).Round(time.Second), lost)
	if problems = append(wrongs, problems...); len(problems) > 0 {
		t.Fatalf("%d problems, the first of which are:\n%s", len(problems), strings.Join(problems[:min(20, len(problems))], "\n"))
	}
	crew.checkFaults()
	if len(flags) > 0 {
		inTime(t, func() error { return crew.checkLease(last) })
	}
}

// settle waits until there are no problems any more, or until nothing changes any more, and returns the problems.
func (w *world) settle(c *crew) []string {
	begin, change, before := time.Now(), time.Now(), ""
	for {
		problems := w.problems(w.t.Context())
		if now := strings.Join(problems, "\n"); now != before {
			before, change = now, time.Now()
		}
		if len(problems) == 0 || time.Since(change) > standstill || time.Since(begin) > calm || c.died() {
			return problems
		}
		time.Sleep(2 * time.Second)
	}
}

// freeLease removes the lease that the operator of another test has left.
func freeLease(t *testing.T, c client.Client) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "genericjob.batch.tensorstack.dev"}}
	require.NoError(t, client.IgnoreNotFound(c.Delete(t.Context(), lease)))
}

// checkLease ends the operator that is left, and says what is wrong if that does not give back the lease that it holds. If the operator
// has ended before, checkLease starts it again.
func (c *crew) checkLease(last *manager) error {
	c.w.t.Helper()
	h := &house{t: c.w.t, c: c.w.c, leader: last}
	if last.cmd == nil {
		freeLease(c.w.t, c.w.c)
		last.start()
	}
	h.until("the operator leads", last.leads)
	require.NotEmpty(c.w.t, h.holder())
	return h.endAndFree()
}
