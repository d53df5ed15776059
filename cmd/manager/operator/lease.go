package operator

import (
	"flag"
	"fmt"
	"strings"
	"time"
)

// lease is how the operator holds the lease by which one of several works.
type lease struct{ duration, renewDeadline, retryPeriod time.Duration }

// An apiserver may be silent for 14 s, as while etcd elects a leader, and nobody should have to start anew for that. A call about the lease is given
// up after half of the deadline. So a deadline of 18 s leaves time for a second one, with 4 s to spare. The lease lasts for a retry, the deadline and
// one more call that gives it back. So whoever lost it has ended before another takes it.
var standardLease = lease{duration: 30 * time.Second, renewDeadline: 18 * time.Second, retryPeriod: 2 * time.Second}

const (
	leaseFlag = "leader-elect-lease-duration"
	renewFlag = "leader-elect-renew-deadline"
	retryFlag = "leader-elect-retry-period"
)

// flags adds those that set the lease.
func (l *lease) flags(to *flag.FlagSet) {
	to.DurationVar(&l.duration, leaseFlag, standardLease.duration,
		"how long others wait for an operator that is silent before one of them works in its place, in whole seconds: so long nothing is done once a node is lost")
	to.DurationVar(&l.renewDeadline, renewFlag, standardLease.renewDeadline,
		"how long the operator tries to renew its lease before it ends: so long an apiserver may be silent, less a call")
	to.DurationVar(&l.retryPeriod, retryFlag, standardLease.retryPeriod, "how often the operator renews its lease, or tries to get it")
}

// leaseFlagsIn returns the flags about the lease that have another value than their default, as "--leader-elect-namespace=a".
func leaseFlagsIn(all *flag.FlagSet) (list []string) {
	all.VisitAll(func(f *flag.Flag) {
		if value := f.Value.String(); strings.HasPrefix(f.Name, "leader-elect-") && value != f.DefValue {
			list = append(list, "--"+f.Name+"="+value)
		}
	})
	return list
}

// check says what is wrong with the three together.
func (l lease) check() error {
	switch {
	case l.retryPeriod < time.Second || l.retryPeriod > time.Minute:
		return fmt.Errorf("--%s is %s: allowed are 1s to 1m", retryFlag, l.retryPeriod)
	case l.renewDeadline < 2*l.retryPeriod:
		return fmt.Errorf("--%s is %s: allowed is twice --%s (%s) or more, so that one failed call does not end the operator",
			renewFlag, l.renewDeadline, retryFlag, l.retryPeriod)
	case l.duration%time.Second != 0 || l.duration > time.Hour:
		return fmt.Errorf("--%s is %s: allowed are whole seconds, at most 1h", leaseFlag, l.duration)
	case l.duration < l.leastDuration():
		return fmt.Errorf("--%s is %s: allowed is %s or more, which is --%s (%s) and one and a half times --%s (%s). Otherwise another operator works before this one has ended",
			leaseFlag, l.duration, l.leastDuration(), retryFlag, l.retryPeriod, renewFlag, l.renewDeadline)
	}
	return nil
}

// leastDuration returns how long an operator that cannot renew its lease goes on, from the last time that it could. It ends after the next try, the
// deadline, and a last call that gives the lease back.
func (l lease) leastDuration() time.Duration {
	return (l.retryPeriod + l.renewDeadline + l.renewDeadline/2 + time.Second - 1).Truncate(time.Second)
}
