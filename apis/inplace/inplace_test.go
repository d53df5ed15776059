package inplace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnOrderIsReadAsItWasWritten(t *testing.T) {
	for _, o := range []Order{{}, {Attempt: 3, Go: 2, JobAttempt: 1}, {Attempt: 1 << 30, Go: 1 << 30, JobAttempt: 7}} {
		got, err := Parse(o.String())
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	for _, text := range []string{"", "attempt=1 go=1", "attempt=1 go=1 jobAttempt=1 ", "attempt=01 go=1 jobAttempt=1", "attempt=-1 go=1 jobAttempt=1", "attempt=1 go=1 jobAttempt=1\nattempt=2 go=2 jobAttempt=2"} {
		_, err := Parse(text)
		require.Error(t, err, text)
	}
}

func TestOrdersOfAPodFollowEachOther(t *testing.T) {
	line := []Order{{}, {Attempt: 1}, {Attempt: 1, Go: 1}, {Attempt: 3, JobAttempt: 1}, {Attempt: 3, Go: 3, JobAttempt: 1}}
	for i, o := range line {
		for j, other := range line {
			require.Equal(t, i > j, o.After(other), "%v after %v", o, other)
		}
	}
}

// What the code of a pod tells goes into a status.
func TestOnlyNumbersAreTaken(t *testing.T) {
	step, loss := Report{Step: "812", Loss: "1.25e-3"}.Progress()
	require.EqualValues(t, 812, *step)
	require.Equal(t, "1.25e-3", loss)
	for _, r := range []Report{{Step: "-1", Loss: "a text"}, {Step: "1.5", Loss: strings.Repeat("1", 25)}, {Step: strings.Repeat("9", 30), Loss: "0x"}} {
		step, loss := r.Progress()
		require.Nil(t, step)
		require.Empty(t, loss)
	}
}
