package run

import (
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/kernel/output"
)

// Code may have ended, and its last steps wait in a pipe still. What was read so far is no highest step then.
func TestTheHighestStepOfCodeThatHasEndedIsToldOnceAllIsRead(t *testing.T) {
	w := watching(time.Now())
	w.beat.line = regexp.MustCompile("^step (?P<step>[0-9]+)")
	p := &pump{done: make(chan struct{}), steps: steps{highest: 5, reported: true}}
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
	w.pumps = nil
	require.False(t, w.noteStep())
	require.EqualValues(t, 7, *w.Step, "code that tells no step has done none again")
	w.pumps, p.steps.unsure = []*pump{p}, true
	require.True(t, w.noteStep())
	require.Nil(t, w.Step, "how far code had come that ended earlier says nothing")
	require.False(t, w.noteStep(), "nothing is written twice")
	w.pumps = nil
	require.Equal(t, output.NoStep, w.reportOn(question{}).Furthest, "it has not begun")
}

// A container that starts in a pod knows what the one before has noted, until code has run in it.
func TestWhatAnEarlierContainerHasNotedIsKeptUntilCodeRuns(t *testing.T) {
	w := &wrapper{memory: memory{Step: new(int64(7))}}
	require.False(t, w.noteStep())
	require.EqualValues(t, 7, *w.Step)
}
