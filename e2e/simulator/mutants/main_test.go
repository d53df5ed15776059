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

func TestTheDocumentHasARowOfEachMutant(t *testing.T) {
	t.Chdir("../../..")
	_, rows, _, err := table()
	require.NoError(t, err)
	for _, m := range mutants {
		require.NotEmpty(t, rows[m.Name], "no row of %q: `go run ./e2e/simulator/mutants -update -run` with its name writes one", m.Name)
		delete(rows, m.Name)
	}
	require.Empty(t, rows, "there are no such mutants")
}
