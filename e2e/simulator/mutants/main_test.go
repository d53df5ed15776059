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

func TestTheDocumentNamesMutantsThatThereAre(t *testing.T) {
	t.Chdir("../../..")
	for _, table := range []table{lives, deviations} {
		_, rows, _, err := table.read()
		require.NoError(t, err)
		require.NotEmpty(t, rows)
		for _, m := range mutants {
			delete(rows, m.Name)
		}
		require.Empty(t, rows, "make sim-mutants UPDATE=-update writes the table")
	}
}
