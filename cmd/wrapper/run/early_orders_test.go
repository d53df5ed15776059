package run_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// A kubelet may be down for long, while code trains by an order that the volume has never shown. Who waits by the next one waits anew.
func TestTheTimeInWhichCodeTrainsIsNotWaitedByAnOrder(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-confirm-within=10s"}, "sh", "-c", runsForEver, "$(genericjob/attempt)"))
	p.awaitLog("begins 0")
	p.ask(push(1, 1, 0))
	p.awaitLog("begins 0; told; begins 1")
	time.Sleep(11 * time.Second)
	p.ask(push(2, 1, 0))
	p.awaitReport(2, 0)
	p.ask(push(2, 2, 0))
	p.awaitLog("begins 0; told; begins 1; told; begins 2")
}

// One such order, of anybody who knew the pod's UID, and the pod obeyed no other for the rest of its life.
func TestAnOrderFarAheadOfTheVolumeIsNotBelieved(t *testing.T) {
	p := newPod(t)
	p.order(3, 3, 0)
	p.start(runsForEver)
	p.awaitLog("begins 3")
	for _, q := range []inplace.Question{push(math.MaxInt32, math.MaxInt32, 0), push(math.MaxInt32, 0, 0), push(20, 0, 0), push(4, 5, 0)} {
		require.Equal(t, inplace.Report{Pod: "uid", Attempt: 3}, p.ask(q), "%+v", q)
	}
	require.Equal(t, "begins 3", p.logged())
	p.ask(push(19, 0, 0)) // the next restarts may come faster than the volume
	p.awaitReport(19, 0)
	p.order(40, 40, 0) // the volume is believed whatever it shows
	p.awaitLog("begins 3; told; begins 40")
}

func TestNobodyWaitsForEverByAnOrderThatTheVolumeDoesNotShow(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	wrapped := func() []string { return []string{"sh", "-c", runsForEver, "$(genericjob/attempt)"} }
	c := p.wrap([]string{"-confirm-within=300ms"}, wrapped()...)
	p.run(c)
	p.awaitLog("begins 0")
	p.until("the order is heard", func() bool {
		p.askOnce(push(1, 0, 0))
		return p.logged() == "begins 0; told"
	})
	require.Equal(t, 1, code(t, c), "the operator sees a failure, and orders a new attempt")
	require.Equal(t, "begins 0; told", p.logged())

	c = p.wrap([]string{"-confirm-within=300ms"}, wrapped()...)
	p.run(c)
	p.awaitReport(0, 1)
	p.order(1, 0, 0)
	p.ask(push(1, 0, 0))
	for range 50 {
		require.Equal(t, inplace.Report{Pod: "uid", Attempt: 1, Exits: 1}, p.report(), "who waits as the volume says waits")
		time.Sleep(20 * time.Millisecond)
	}
	p.ask(push(1, 1, 0)) // its volume is late
	p.awaitLog("begins 0; told; begins 1")
	for range 50 {
		require.Equal(t, inplace.Report{Pod: "uid", Attempt: 1, Exits: 1}, p.report(), "who trains is not touched")
		time.Sleep(20 * time.Millisecond)
	}
}
