package faults_test

import (
	"errors"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// crew are the two managers that compete, and what kills them.
type crew struct {
	w           *world
	all         []*manager
	revive      map[*manager]time.Time // when a dead one is started again
	next        time.Time              // when somebody dies next
	leads       bool                   // one of them leads, the other waits
	kills, ends int
}

func newCrew(w *world, flags []string) *crew {
	w.t.Helper()
	c := &crew{w: w, revive: map[*manager]time.Time{}, leads: len(flags) > 0, next: time.Now().Add(4 * time.Second)}
	for _, who := range []string{"a", "b"} {
		m := newManager(w.t, newProxy(w.t, who, w.dice, w.past, w.truth.races), flags...)
		m.start()
		c.all = append(c.all, m)
	}
	return c
}

func (c *crew) storm(on bool) {
	for _, m := range c.all {
		m.storm.Store(on)
	}
}

// tick does what is due: somebody dies, or lives again.
func (c *crew) tick() {
	for _, m := range c.all {
		if m.cmd != nil && m.died() {
			require.True(c.w.t, c.leads, "%s has no lease that it could lose", m.who)
			c.revive[m] = time.Now()
		}
		if m.cmd == nil && time.Now().After(c.revive[m]) {
			m.start()
		}
	}
	if time.Now().Before(c.next) {
		return
	}
	c.next = time.Now().Add(time.Duration(3000+c.w.dice.next(2000, "next kill")) * time.Millisecond)
	m := c.victim()
	if m.cmd == nil {
		return
	}
	if m.isUp() && c.graceful() {
		c.terminate(m)
	} else {
		m.kill()
		c.kills++
	}
	c.revive[m] = time.Now().Add(time.Duration(c.w.dice.next(1500, "revive")) * time.Millisecond)
}

// victim is one of them; the leader, if there is one.
func (c *crew) victim() *manager {
	if c.leads && (c.ends == 0 || c.w.dice.next(3, "victim is the leader") > 0) {
		if c.all[0].renewed.Load() > c.all[1].renewed.Load() {
			return c.all[0]
		}
		return c.all[1]
	}
	return c.all[c.w.dice.next(2, "victim")]
}

// graceful reports whether the next to die is asked to. After a leader that is not, nothing happens for the 15 seconds of the
// lease, so with a leader it is most of them.
func (c *crew) graceful() bool {
	if !c.leads {
		return c.kills > 0 && c.w.dice.next(4, "graceful") == 0
	}
	return c.ends == 0 || c.kills > 0 && c.w.dice.next(4, "graceful") > 0
}

func (c *crew) terminate(m *manager) {
	took, err := m.terminate()
	c.ends++
	c.w.t.Logf("%s ended on SIGTERM in %s: %v", m.who, took, err)
	end := m.tail(3)
	if stalled := strings.Contains(end, graceIsOver) || c.leads && strings.Contains(end, leaseIsLost); !stalled || errors.Is(err, errStays) {
		require.NoError(c.w.t, err, "the exit code after SIGTERM is 0")
	}
}

// A storm, or a machine that stands still, may hold a process for too long. At its end the log has graceIsOver if it could not end in time,
// and leaseIsLost if it could not renew its lease. Without either the exit code is 0: see the tests of SIGTERM.
const (
	graceIsOver = "within grace period"
	leaseIsLost = "leader election lost"
)

// settle leaves one manager: the one that has done less so far.
func (c *crew) settle() *manager {
	if c.all[0].wrote.Load() > c.all[1].wrote.Load() {
		c.all[0], c.all[1] = c.all[1], c.all[0]
	}
	if m := c.all[1]; m.cmd != nil && !m.died() {
		if m.isUp() {
			c.terminate(m)
		} else {
			m.kill()
		}
	}
	if c.all[0].cmd == nil || c.all[0].died() {
		c.all[0].start()
	}
	return c.all[0]
}

// died reports whether the last manager has ended, and has lost no lease. One that has is started again, as its kubelet does.
func (c *crew) died() bool {
	m := c.all[0]
	if m.cmd != nil && !m.died() {
		return false
	}
	if !c.leads || !strings.Contains(m.tail(3), leaseIsLost) {
		return true
	}
	m.start()
	return false
}

// checkFaults demands that there was something to withstand. A short run on a busy machine may lack some of it.
func (c *crew) checkFaults() {
	for _, m := range c.all {
		c.w.t.Logf("%s wrote %d times", m.who, m.wrote.Load())
	}
	require.NotZero(c.w.t, c.kills+c.ends, "nobody died")
	if *duration < time.Minute {
		return
	}
	for _, fault := range allFaults {
		require.NotZero(c.w.t, c.w.dice.times(fault), "no %s happened: run it longer", fault)
	}
	require.NotZero(c.w.t, c.kills, "nobody was killed: run it longer")
	for _, m := range c.all {
		require.NotZero(c.w.t, m.wrote.Load(), "%s did nothing", m.who)
	}
}
