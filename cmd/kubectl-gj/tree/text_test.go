package tree

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What no limit counts is known by its reason of a job, and not of a replica.
func TestCountsOfABranch(t *testing.T) {
	for want, b := range map[string]Branch{
		"0":                                      {},
		"1 (+2 with the job)":                    {Restarts: 1, WithJob: 2},
		"0 (+3 not counted)":                     {Uncounted: 3},
		"1 (+2 more)":                            {Restarts: 1, More: 2},
		"1 (+2 or more)":                         {Restarts: 1, More: 2, PerhapsMore: true},
		"1 (+2 with the job) (perhaps more)":     {Restarts: 1, WithJob: 2, PerhapsMore: true},
		"2 (+1 with the job) (+1 not counted)":   {Restarts: 2, WithJob: 1, Uncounted: 1},
		"0 (+1 disrupted)":                       {Disruptions: 1},
		"4 (+2 excepted by rules)":               {Restarts: 4, Excepted: 2},
		"4 (+1 disrupted, +2 excepted by rules)": {Restarts: 4, Disruptions: 1, Excepted: 2},
	} {
		require.Equal(t, want, b.counts())
	}
}
