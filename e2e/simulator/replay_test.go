package simulator

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALifeRepeatsItself(t *testing.T) {
	for seed := range int64(12) {
		tape := SeedTape(seed)
		story := Live(t.Context(), tape, true).Story()
		require.NotEmpty(t, story)
		require.Equal(t, story, Live(t.Context(), SeedTape(seed), true).Story(), "seed %d", seed)
		require.Equal(t, story, Live(t.Context(), ReplayTape(tape.Drawn()), true).Story(), "the tape of seed %d", seed)
	}
}

func TestShrinkingKeepsWhatFails(t *testing.T) {
	tape := bytes.Repeat([]byte{9, 1, 2, 5, 4, 3, 7, 8}, 50)
	lives := 0
	s := &shrinker{tape: tape, left: 2000, fails: func(b []byte) bool {
		lives++
		five := bytes.IndexByte(b, 5)
		return five >= 0 && bytes.IndexByte(b[five:], 7) >= 2 // a 5, and a 7 after at least one other choice
	}}
	for s.leaveOut() || s.zero() {
		require.LessOrEqual(t, lives, 2000)
	}
	require.Equal(t, []byte{5, 0, 7}, s.tape)
}
