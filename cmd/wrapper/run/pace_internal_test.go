package run

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

func TestPaceIsTheMedianOfSteps(t *testing.T) {
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	before := int64(60)
	type told struct {
		step int64
		at   float64
	}
	for name, c := range map[string]struct {
		told []told
		want *inplace.Pace
	}{
		"nothing":                           {nil, nil},
		"one step":                          {[]told{{51, 0}}, &inplace.Pace{First: 51, Each: true, Before: &before}},
		"each step":                         {[]told{{51, 0}, {52, 2}, {53, 4}, {54, 64}}, &inplace.Pace{First: 51, Each: true, Seconds: 2, Before: &before}},
		"each tenth":                        {[]told{{60, 0}, {70, 20}, {80, 40}}, &inplace.Pace{First: 60, Seconds: 2, Before: &before}},
		"processes that tell the same step": {[]told{{1, 0}, {1, 1}, {2, 3}, {2, 3.5}, {3, 6}}, &inplace.Pace{First: 1, Each: true, Seconds: 3, Before: &before}},
		"steps that begin anew":             {[]told{{9, 0}, {10, 1}, {1, 2}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var p pace
			for _, s := range c.told {
				p.see(s.step, noon.Add(time.Duration(s.at*float64(time.Second))))
			}
			require.Equal(t, c.want, p.report(&before))
		})
	}
}

func TestOldStepsAreForgotten(t *testing.T) {
	var p pace
	at := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for step := range int64(1000) {
		p.see(step, at)
		if at = at.Add(time.Second); step > 900 {
			at = at.Add(time.Second)
		}
	}
	require.Len(t, p.gaps, mostGaps)
	require.Equal(t, 2*time.Second, p.median())
}

func TestStepsOfOutputAreTold(t *testing.T) {
	s, want := &signs{}, &heartbeat{progress: regexp.MustCompile(`step (?P<step>[0-9.]+)`)}
	for _, step := range []string{"7", "8", "8.5", "9"} {
		s.read(fmt.Appendf(nil, "step %s", step), want, &steps{})
	}
	require.True(t, s.paceReport(nil).Each)
	require.EqualValues(t, 7, s.paceReport(nil).First)
	var none *signs
	require.Nil(t, none.paceReport(nil))
}
