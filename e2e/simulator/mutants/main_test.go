package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryMutantStillBreaksATextThatIsThere(t *testing.T) {
	t.Chdir("../../..")
	require.GreaterOrEqual(t, len(mutants), 15)
	for _, m := range mutants {
		text, err := m.broken()
		require.NoError(t, err, m.Name)
		require.Contains(t, string(text), m.New, m.Name)
	}
}
