package calls

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func TestTheVersionTellsWhetherRestartRulesAreTaken(t *testing.T) {
	for version, want := range map[string]bool{
		"v1.29.15": false, "v1.33.9": false, "v1.33.9-eks-1a2b3c": false, "v1.33.2-gke.1240000": false, "v1.34.0": true, "v1.34.0-alpha.1": true,
		"v1.36.3+k3s1": true, "v2.0.0": true, "": true, "main": true,
	} {
		r := &RestartRules{Version: func(context.Context) (string, error) { return version, nil }}
		require.Equal(t, want, r.accepted(t.Context(), noon), version)
	}
	nobody := &RestartRules{Version: func(context.Context) (string, error) { return "v1.30.0", errors.New("no") }}
	require.True(t, nobody.accepted(t.Context(), noon), "it is tried")
	require.True(t, (&RestartRules{}).accepted(t.Context(), noon))
}

func TestARefusalOfRestartRulesIsRememberedForItsVersion(t *testing.T) {
	version, asked := "v1.34.0", 0
	r := &RestartRules{Version: func(context.Context) (string, error) { asked++; return version, nil }}
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	require.True(t, r.accepted(t.Context(), noon))
	r.refuse(t.Context(), at(4))
	require.False(t, r.accepted(t.Context(), at(4)))
	require.Equal(t, 1, asked)

	version = "v1.34.1"
	require.True(t, r.accepted(t.Context(), at(5)), "another version has refused nothing")
	require.Equal(t, 2, asked)
	version = "v1.34.0"
	require.False(t, r.accepted(t.Context(), at(10)), "the one that refused answers again: there are two")
	require.True(t, r.accepted(t.Context(), at(15)), "by now the upgrade may be over")
}

func TestAClockThatIsSetBackForgetsRefusals(t *testing.T) {
	version := "v1.33.0"
	r := &RestartRules{Version: func(context.Context) (string, error) { return version, nil }}
	require.False(t, r.accepted(t.Context(), noon))
	version = "v1.34.0"
	require.True(t, r.accepted(t.Context(), noon.Add(-time.Hour)))
	r.refuse(t.Context(), noon)
	require.True(t, r.accepted(t.Context(), noon.Add(-time.Hour)))
}

func TestAVersionThatIsNotToldAgainStays(t *testing.T) {
	var err error
	r := &RestartRules{Version: func(context.Context) (string, error) { return "v1.33.0", err }}
	require.False(t, r.accepted(t.Context(), noon))
	err = errors.New("the apiserver is away")
	require.False(t, r.accepted(t.Context(), noon.Add(time.Hour)))
}
