package operator

import (
	"flag"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestALeaseIsLongEnoughForItsDeadline(t *testing.T) {
	for _, tc := range []struct {
		args []string
		want string // "" is right
	}{
		{nil, ""},
		{[]string{"-leader-elect-lease-duration=29s"}, ""},
		{[]string{"-leader-elect-lease-duration=28s"}, "--leader-elect-lease-duration is 28s: allowed is 29s or more, which is --leader-elect-retry-period (2s) and one and a half times --leader-elect-renew-deadline (18s). Otherwise another operator works before this one has ended"},
		{[]string{"-leader-elect-lease-duration=30500ms"}, "--leader-elect-lease-duration is 30.5s: allowed are whole seconds, at most 1h"},
		{[]string{"-leader-elect-lease-duration=2h"}, "--leader-elect-lease-duration is 2h0m0s: allowed are whole seconds, at most 1h"},
		{[]string{"-leader-elect-renew-deadline=1m"}, "--leader-elect-lease-duration is 30s: allowed is 1m32s or more, which is --leader-elect-retry-period (2s) and one and a half times --leader-elect-renew-deadline (1m0s). Otherwise another operator works before this one has ended"},
		{[]string{"-leader-elect-renew-deadline=3s"}, "--leader-elect-renew-deadline is 3s: allowed is twice --leader-elect-retry-period (2s) or more, so that one failed call does not end the operator"},
		{[]string{"-leader-elect-retry-period=500ms"}, "--leader-elect-retry-period is 500ms: allowed are 1s to 1m"},
		{[]string{"-leader-elect-retry-period=61s"}, "--leader-elect-retry-period is 1m1s: allowed are 1s to 1m"},
		{[]string{"-leader-elect-renew-deadline=-5s"}, "--leader-elect-renew-deadline is -5s: allowed is twice --leader-elect-retry-period (2s) or more, so that one failed call does not end the operator"},
		{[]string{"-leader-elect-lease-duration=6s", "-leader-elect-renew-deadline=3s", "-leader-elect-retry-period=1s"}, ""},
		{[]string{"-leader-elect-lease-duration=5s", "-leader-elect-renew-deadline=3s", "-leader-elect-retry-period=1s"}, "--leader-elect-lease-duration is 5s: allowed is 6s or more, which is --leader-elect-retry-period (1s) and one and a half times --leader-elect-renew-deadline (3s). Otherwise another operator works before this one has ended"},
	} {
		var l lease
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		l.flags(flags)
		require.NoError(t, flags.Parse(tc.args))
		if tc.want == "" {
			require.NoError(t, l.check(), tc.args)
		} else {
			require.EqualError(t, l.check(), tc.want)
		}
	}
	require.GreaterOrEqual(t, standardLease.renewDeadline, 14*time.Second+2*standardLease.retryPeriod, "an apiserver that is silent for 14 s")
}
