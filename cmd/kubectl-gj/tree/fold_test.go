package tree

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// scaledAway returns the lines of pods that are on their way out, in the order of their names.
func scaledAway(ranks ...int) (list []Branch) {
	for _, rank := range ranks {
		list = append(list, Branch{Name: fmt.Sprintf("Pod/job-worker-%d", rank), Replica: fmt.Sprintf("worker-%d", rank), Phase: "Terminating", Why: "scaled away"})
	}
	return list
}

func TestALineOfNeighboursNamesNoRankThatIsElsewhere(t *testing.T) {
	pods := scaledAway(12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 6, 7, 8, 9)
	lines := Fold(Branch{Branches: pods}).Branches
	require.Len(t, lines, 1)
	require.Equal(t, "Pod/job-worker-[6-9,12-29]", lines[0].Name)
	require.Equal(t, "worker-[6-9,12-29]", lines[0].Replica)
	require.Equal(t, "22", lines[0].Running)
}

func TestRanksAreSetsAsOneReadsThem(t *testing.T) {
	for want, ranks := range map[string][]int{
		"[0-3]":                  {0, 1, 2, 3},
		"[7]":                    {7},
		"[1,3-4,6,8]":            {8, 6, 4, 3, 1},
		"[1,3,5,7 and 3 more]":   {1, 3, 5, 7, 9, 10, 12},
		"[0,2,4,6-7 and 1 more]": {0, 2, 4, 6, 7, 9},
	} {
		require.Equal(t, want, Ranks(ranks))
	}
}
