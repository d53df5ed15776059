package run

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel/words"
)

// Code may have ended, and its last steps wait in a pipe still. What was read so far is no highest step then.
func TestTheHighestStepOfCodeThatHasEndedIsToldOnceAllIsRead(t *testing.T) {
	w := watching(time.Now())
	w.beat.line = regexp.MustCompile("^step (?P<step>[0-9]+)")
	p := &pump{done: make(chan struct{}), steps: steps{highest: 5, told: true}}
	w.pumps = []*pump{p}
	require.Equal(t, "5", w.reportOn(question{}).Furthest, "it runs")
	for _, draining := range []bool{false, true} {
		w.child, w.draining = 0, draining
		require.Empty(t, w.reportOn(question{}).Furthest)
	}
	p.steps.highest = 7
	close(p.done)
	require.Equal(t, "7", w.reportOn(question{}).Furthest)
	require.True(t, w.noteStep())
	require.EqualValues(t, 7, *w.Step, "the container that comes next is told the same")
	p.steps.unsure = true
	require.False(t, w.noteStep())
	w.pumps = nil
	require.Equal(t, words.NoStep, w.reportOn(question{}).Furthest, "it has not begun")
}
