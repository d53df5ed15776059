package podstate

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// restartable is a container as the columns of the table in inplace.go say it. They tell how often it was restarted, what it does, how it ended
// before, and what becomes of its pod.
func restartable(t *testing.T, restarts, does, before, becomes string) Pod {
	t.Helper()
	states := map[string]corev1.ContainerState{
		"-": {}, "runs": {Running: &corev1.ContainerStateRunning{}}, "failed": end(1), "killed": end(137), "backs off": waiting("CrashLoopBackOff"), "lost": lost(),
	}
	pods := map[string]func(*corev1.Pod){"lives": func(*corev1.Pod) {}, "is deleted": deleted(noon, 30), "has failed": phase(corev1.PodFailed)}
	require.Contains(t, states, does)
	require.Contains(t, states, before)
	require.Contains(t, pods, becomes)
	return wrapped(state(func(s *corev1.ContainerStatus) {
		s.State, s.LastTerminationState = states[does], *new(states[before]).DeepCopy() // two ends, even if they are alike
		_, err := fmt.Sscan(restarts, &s.RestartCount)
		require.NoError(t, err)
	}), pods[becomes])
}

// stateNames are the names of the states that stand in the table.
var stateNames = map[State]string{Alive: "Alive", Terminating: "Terminating", Failed: "Failed", FailedInPod: "FailedInPod", Stranded: "Stranded"}

// TestTheTableOfEndsIsTrue compares the table in inplace.go with what the code says of each row.
func TestTheTableOfEndsIsTrue(t *testing.T) {
	text, err := os.ReadFile("inplace.go")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "//\tRestartCount  ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n//\n")
	rows := strings.Split(table, "\n")[1:]
	require.NotEmpty(t, rows)
	for _, row := range rows {
		cells := regexp.MustCompile(` {2,}`).Split(strings.TrimPrefix(row, "//\t"), -1)
		require.Len(t, cells, 8, row)
		p := restartable(t, cells[0], cells[1], cells[2], cells[3])
		s := p.restarting()
		last := "none"
		switch p.lastExit() {
		case nil:
		case s.State.Terminated:
			last = "State"
		case s.LastTerminationState.Terminated:
			last = "LastState"
		}
		numbers, replica := Numbers{Order: NumbersOf(p.Pod).Order}, Replica{Attempt: 1, BarrierIsOpen: true}
		means := Judge{Now: noon}.Of(p, &numbers, replica)
		replica.Exits = p.Exits()
		counted := Judge{Now: noon}.Of(p, &numbers, replica)
		got := []string{fmt.Sprint(p.Exits()), last, stateNames[means], stateNames[counted]}
		require.Equal(t, strings.Join(cells[4:], " "), strings.Join(got, " "), row)
	}
}
