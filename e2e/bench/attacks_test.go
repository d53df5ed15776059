package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// Each attack fails the run if the operator takes more than it may, and no number of seconds does.
func TestTheMemoryOfEachAttackIsAGate(t *testing.T) {
	limits, err := readThresholds()
	require.NoError(t, err)
	for _, a := range attacks() {
		l, has := limits.Rows[a.name]["above_mb"]
		require.True(t, has, a.name)
		require.NotNil(t, l.Max, a.name)
		require.LessOrEqual(t, *l.Max, float64(mostMemory), a.name)
		r := newResults(1)
		r.add(row{name: a.name}, sample{"above_mb": mostMemory + 1, "peak_mb": 1, "held_ratio": 0, "victim_s": 1000})
		require.ErrorContains(t, r.check(limits), "row "+a.name+": above_mb is 401: want at most")
		r = newResults(1)
		r.add(row{name: a.name}, sample{"above_mb": 0, "peak_mb": 1, "held_ratio": 0, "victim_s": 1000})
		require.NoError(t, r.check(limits), "%s: how long others wait is reported alone", a.name)
	}
}

// What an operator takes counts from what it takes where nobody attacks it, with the same pods of others.
func TestAnAttackIsComparedWithAnOperatorThatNobodyAttacks(t *testing.T) {
	idle := sample{"resident_mb": 100, "peak_mb": 120, "held_mb": 40, "victim_s": 0.1}
	got := beyond(idle, sample{"resident_mb": 300, "peak_mb": 450, "held_mb": 140, "stored_mb": 50, "victim_s": 0.2})
	require.InDelta(t, 350, got["above_mb"], 1e-9, "from what is resident, not from the peak of a start")
	require.InDelta(t, 100, got["idle_mb"], 1e-9)
	require.InDelta(t, 100, got["held_mb"], 1e-9)
	require.InDelta(t, 2, got["held_ratio"], 1e-9)
	require.InDelta(t, 0.1, got["idle_victim_s"], 1e-9)
	require.InDelta(t, 0.2, got["victim_s"], 1e-9)
	require.NotContains(t, beyond(idle, sample{"peak_mb": 1}), "held_ratio", "nothing is stored")
}

func TestTheMixIsOfAllAttacksOfSmallThings(t *testing.T) {
	var names []string
	parts := 0
	for _, a := range attacks() {
		names = append(names, a.name)
		if a.name == "weight-mix" {
			break
		}
		parts += len(a.parts)
	}
	require.Equal(t, []string{"weight-ports", "weight-replicas", "weight-boards", "weight-gangs", "weight-silent", "weight-services", "weight-mix"}, names)
	require.Len(t, partsOf("weight-mix"), parts)
	for _, r := range rows() {
		if slices.Contains(names, r.name) {
			require.True(t, r.long, "%s runs only if it is asked for", r.name)
		}
	}
}

// An attack that the operator does not find is none.
func TestTheOperatorFindsWhatAnAttackerStores(t *testing.T) {
	board := boardJob(0)
	board.SetUID(types.UID("u"))
	for _, pod := range podsOfBoard(board) {
		require.Equal(t, tensorboard.Labels(board), pod.GetLabels())
		require.Equal(t, board.GetNamespace(), pod.GetNamespace())
	}
	gang := gangJob(0)
	gang.SetUID("u")
	for _, o := range append(groupsOfGang(gang), largeServices(gang)...) {
		require.Equal(t, "u", o.GetLabels()[v1beta1.LabelJobUID])
		require.Equal(t, gang.GetName(), o.GetOwnerReferences()[0].Name)
		require.True(t, *o.GetOwnerReferences()[0].Controller)
	}
}

func TestACrowdIsOfLargeJobs(t *testing.T) {
	require.Equal(t, []int{500, 500, 200}, jobSizes(1200))
	require.Equal(t, []int{300}, jobSizes(300))
	require.Empty(t, jobSizes(0))
}

// The server reads a megabyte of headers before it refuses them, if it has no limit of its own.
func TestStrangersSendAMegabyteThatHasNoEnd(t *testing.T) {
	headers := megabyteOfHeaders()
	require.Greater(t, len(headers), 950_000)
	require.Less(t, len(headers), 1<<20)
	require.NotContains(t, headers, "\r\n\r\n")
}
