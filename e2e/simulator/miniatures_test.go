package simulator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The job of a healthy life succeeds before the calm, which would heal much.
func TestHealthyLivesSucceed(t *testing.T) {
	names := map[string]bool{}
	for _, s := range Miniatures {
		require.False(t, names[s.Name], s.Name)
		names[s.Name] = true
		l, trace := LiveIn(t.Context(), s, nil, true)
		require.Empty(t, l.Violations(), s.Name)
		trouble, _, _ := strings.Cut(l.Story(), "calm: no more trouble")
		require.Contains(t, trouble, "event Succeeded of ", s.Name)
		require.Less(t, len(l.states), miniatureSteps, s.Name)
		require.Greater(t, len(trace), 50, s.Name)
	}
}

// A life is what its deviations make of it: else nobody could repeat it, or say that all have been lived.
func TestALifeOfAMiniatureRepeatsItself(t *testing.T) {
	for _, s := range Miniatures {
		_, trace := LiveIn(t.Context(), s, nil, false)
		all := deviationsAfter(-1, trace)
		for i := 0; i < len(all); i += len(all) / 7 {
			_, later := LiveIn(t.Context(), s, all[i:i+1], false)
			next := deviationsAfter(all[i].At, later)
			if len(next) == 0 { // it is the last choice of that life
				continue
			}
			deviations := []Deviation{all[i], next[len(next)/2]}
			once, first := LiveIn(t.Context(), s, deviations, true)
			again, second := LiveIn(t.Context(), s, deviations, true)
			require.Equal(t, once.Story(), again.Story())
			require.Equal(t, first, second)
			require.Equal(t, once.states, again.states)
			require.Equal(t, later[:deviations[1].At+1], first[:deviations[1].At+1], "what was before a deviation is as it was")
		}
	}
}

func TestDeviationsAreTakenOnce(t *testing.T) {
	trace := []int{2, 3, 2}
	require.Equal(t, []Deviation{{0, 1}, {1, 1}, {1, 2}, {2, 1}}, deviationsAfter(-1, trace))
	require.Equal(t, []Deviation{{2, 1}}, deviationsAfter(1, trace))
	require.Empty(t, deviationsAfter(2, trace))
}

func TestAnExplorationGoesOnWhereItStopped(t *testing.T) {
	s, folder := Miniatures[0], t.TempDir()
	explored := func(limit int) *Exploration {
		k, err := openKeeper(folder, s, 1)
		require.NoError(t, err)
		e := NewExploration(s, 1, k.before)
		e.Limit = limit
		e.Run(t.Context(), 2, k.keep)
		require.NoError(t, k.close())
		return e
	}
	part := explored(20)
	require.Positive(t, part.Left)
	require.GreaterOrEqual(t, part.Lives, 20)
	name := filepath.Join(folder, "one-replica-1.jsonl")
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(name, text[:len(text)-3], 0o600)) // it was killed while it wrote
	whole := explored(0)
	require.Zero(t, whole.Left)

	again := NewExploration(s, 1, nil)
	lived := 0
	again.Run(t.Context(), 2, func(*Part) { lived++ })
	require.Equal(t, again.Lives, lived)
	require.Equal(t, again.Lives, whole.Lives)
	require.Equal(t, again.States, whole.States)
	explored(0).Run(t.Context(), 2, func(*Part) { t.Fatal("all has been done") })
}
