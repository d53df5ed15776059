package simulator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is drawn from bytes does not depend on the outcomes that a choice names.
func TestATapeOfBytesTakesOneForEachChoice(t *testing.T) {
	tape := ReplayTape([]byte{7, 2, 2, 9, 5, 11})
	require.Equal(t, 7, tape.choose(30, 9, 0))
	require.True(t, tape.Chance(3))
	require.True(t, tape.DueIf(false, 3))
	require.Equal(t, "b", pickOf(tape, "a", "b", "b", "c"))
	require.Equal(t, 9, tape.choose(0, 9, 1), "only a schedule draws")
	require.Equal(t, 1, tape.Pick(4))
	require.Equal(t, 1, tape.choose(2, ifDiffers(false, 0, 1)...))
	require.Len(t, tape.Drawn(), 6)
}

func TestAScheduleTakesTheHealthyOutcomesAndItsDeviations(t *testing.T) {
	choices := func(deviations ...Deviation) (got []any, trace []int) {
		s := &schedule{deviations: deviations}
		tape := &Tape{schedule: s}
		got = []any{tape.choose(30, 9, 0), tape.Chance(3), tape.Due(3), tape.ChanceIf(false, 3), pickOf(tape, "a", "b", "a", "c"), tape.choose(0, 9, 1)}
		tape.calmDown()
		return append(got, tape.Due(2)), s.trace
	}
	got, trace := choices()
	require.Equal(t, []any{9, false, true, false, "a", 9, true}, got)
	require.Equal(t, []int{2, 2, 2, 3, 2}, trace, "what cannot differ is no choice, nor is the calm")
	got, _ = choices(Deviation{0, 1}, Deviation{2, 1}, Deviation{3, 2}, Deviation{4, 1})
	require.Equal(t, []any{0, false, false, false, "c", 1, true}, got)
	got, _ = choices(Deviation{1, 1})
	require.Equal(t, []any{9, true, true, false, "a", 9, true}, got)
}
