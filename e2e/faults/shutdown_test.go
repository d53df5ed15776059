package faults_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// patience bounds every wait of these tests. None depends on how fast anything is.
const patience = 10 * time.Minute

// house is a namespace with two operators, of which one leads.
type house struct {
	t      *testing.T
	c      client.WithWatch
	ns     string
	leader *manager
	heir   *manager
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, c: newClient(t)}
	h.ns = newNamespace(t, h.c)
	freeLease(t, h.c)
	flags := []string{"-leader-elect", "-leader-elect-namespace=" + operatorNamespace}
	d := newDice(1)
	h.leader = newManager(t, newProxy(t, "leader", d, nil, newRaces()), flags...)
	h.heir = newManager(t, newProxy(t, "heir", d, nil, newRaces()), flags...)
	h.leader.start()
	h.until("the first operator leads", func() bool { return h.leader.renewed.Load() > 0 })
	return h
}

func (h *house) until(what string, ask func() bool) {
	h.t.Helper()
	for end := time.Now().Add(patience); !ask(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(h.t, "this never came: "+what)
		}
	}
}

// submit creates a job of n workers.
func (h *house) submit(name string, n int) *v1beta1.GenericJob {
	h.t.Helper()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.ns}}
	spec := fmt.Sprintf("{service: {}, replicaSpecs: [{type: worker, replicas: %d, %s}]}", n, template("main"))
	require.NoError(h.t, yaml.UnmarshalStrict([]byte(spec), &job.Spec))
	require.NoError(h.t, h.c.Create(h.t.Context(), job))
	return job
}

func (h *house) pods(job *v1beta1.GenericJob) int {
	h.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	require.NoError(h.t, h.c.List(h.t.Context(), list, client.InNamespace(h.ns), client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}))
	return len(list.Items)
}

// holder is who holds the lease; "" if nobody does.
func (h *house) holder() string {
	h.t.Helper()
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: operatorNamespace, Name: "genericjob.batch.tensorstack.dev"}
	require.NoError(h.t, h.c.Get(h.t.Context(), key, lease))
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// end asks the leader to end, which it must do with exit code 0.
func (h *house) end() error {
	h.t.Helper()
	took, err := h.leader.terminate()
	h.t.Logf("SIGTERM took %s", took)
	if err != nil {
		return fmt.Errorf("it does not end with exit code 0 after SIGTERM: %w", err)
	}
	return nil
}

// endAndFree is end, after which the lease must be free.
func (h *house) endAndFree() error {
	h.t.Helper()
	if err := h.end(); err != nil {
		return err
	}
	if holder := h.holder(); holder != "" {
		return fmt.Errorf("the lease is not given back: %s holds it", holder)
	}
	return nil
}

// close ends what still runs.
func (h *house) close() {
	for _, m := range []*manager{h.leader, h.heir} {
		if m != nil && m.cmd != nil {
			m.kill()
		}
	}
}

// inTime has something succeed once in a few times. After SIGTERM the operator has seconds for the calls under way, and a fraction of one
// for each call about its lease. A machine that stands still for that long takes them away; what the operator does wrong it does each time.
func inTime(t *testing.T, try func() error) {
	t.Helper()
	err := errors.New("not tried")
	for n := 0; err != nil && n < 5; n++ {
		if err = try(); err != nil {
			t.Logf("try %d: %v", n, err)
		}
	}
	require.NoError(t, err)
}

// SIGTERM comes while a large job is created. Calls under way are finished, no other is begun; and the next
// operator need not wait for the lease to run out.
func TestTheOperatorEndsInTheMiddleOfAJob(t *testing.T) {
	inTime(t, func() error {
		h := newHouse(t)
		defer h.close()
		h.heir.start()
		job := h.submit("large", 1000)
		h.until("the first pods are there", func() bool { return h.leader.asked("create", "pods") > 100 })
		if err := h.end(); err != nil {
			return err
		}
		asked, answered := h.leader.asked("create", "pods"), h.leader.answeredOf("create", "pods")
		t.Logf("%d creates were asked for, %d answered to the operator", asked, answered)
		if asked != answered || asked >= 1000 {
			return fmt.Errorf("%d of %d calls are cut off; it came in the middle if these are less than 1000", asked-answered, asked)
		}
		h.until("the heir goes on", func() bool { return h.pods(job) == 1000 })
		require.NotEmpty(t, h.holder())
		return nil
	})
}

// The lease is free as soon as the leader has ended.
func TestTheOperatorGivesItsLeaseBack(t *testing.T) {
	inTime(t, func() error {
		h := newHouse(t)
		defer h.close()
		require.NotEmpty(t, h.holder())
		return h.endAndFree()
	})
}

// An apiserver that hangs does not hold the operator. That is so in the middle of a job, at its start, and even when the apiserver does
// not take the lease back.
func TestAHangingApiserverDoesNotHoldTheOperator(t *testing.T) {
	for name, tc := range map[string]struct {
		hangs func(call) bool
		free  bool // the lease can be given back
	}{
		"with pods":       {func(c call) bool { return c.kind == "pods" && c.writes() }, true},
		"but for leases":  {func(c call) bool { return c.kind != "leases" }, true},
		"with everything": {func(call) bool { return true }, false},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() error { return endsThoughItHangs(t, tc.hangs, tc.free) })
		})
	}
}

// endsThoughItHangs has calls hang in the middle of a job. They hang from a certain create on, for all pods of the job might be there before
// this test looks.
func endsThoughItHangs(t *testing.T, hangs func(call) bool, free bool) error {
	t.Helper()
	h := newHouse(t)
	defer h.close()
	created := 0
	h.leader.hangWhere(func(c call) bool {
		if c.verb == "create" && c.kind == "pods" {
			created++
		}
		return created > 60 && hangs(c)
	})
	job := h.submit("large", 300)
	h.until("calls hang", func() bool { return h.leader.hung.Load() > 0 })
	if !free {
		err := h.end()
		require.NotEmpty(t, h.holder(), "the lease runs out, as that of an operator that was killed")
		return err
	}
	if err := h.endAndFree(); err != nil {
		return err
	}
	h.heir.start()
	h.until("the heir goes on", func() bool { return h.pods(job) == 300 })
	require.NotEmpty(t, h.holder())
	if _, err := h.heir.terminate(); errors.Is(err, errStays) {
		return err
	}
	return nil
}

func TestAnApiserverThatHangsFromTheStart(t *testing.T) {
	for name, hangs := range map[string]func(call) bool{
		"with discovery": func(call) bool { return true },
		"with lists":     func(c call) bool { return c.verb == "list" || c.verb == "watch" },
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func() error {
				h := &house{t: t, c: newClient(t)}
				defer h.close()
				h.leader = newManager(t, newProxy(t, "leader", newDice(1), nil, newRaces()), "-leader-elect", "-leader-elect-namespace="+operatorNamespace)
				h.leader.hangWhere(hangs)
				h.leader.start()
				h.until("it hangs", func() bool { return h.leader.hung.Load() > 0 })
				return h.end()
			})
		})
	}
}
