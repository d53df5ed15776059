package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/image"
)

func TestCacheFolder(t *testing.T) {
	for name, tc := range map[string]struct{ chosen, home, want, problem string }{
		"the default is in the home folder":  {home: "/home/a", want: "/home/a/.cache/genericjob"},
		"the choice wins":                    {chosen: "/data/x/", home: "/home/a", want: "/data/x"},
		"a relative choice would move about": {chosen: "x", home: "/home/a", problem: "absolute"},
		"without any home":                   {problem: "GENERICJOB_CACHE"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cacheFolder(tc.chosen, tc.home)
			require.Equal(t, tc.want, got)
			if tc.problem != "" {
				require.ErrorContains(t, err, tc.problem)
				return
			}
			require.NoError(t, err)
		})
	}
}

func TestImageFlags(t *testing.T) {
	spec, binaries, out, err := imageFlags([]string{"-ref", "localhost/x:dev", "-out", "x.tar", "-add", "a:/b", "-add", "c:/d", "bin/x"})
	require.NoError(t, err)
	require.Equal(t, "x.tar", out)
	require.Equal(t, []string{"bin/x"}, binaries)
	require.Equal(t, image.Spec{
		Ref: "localhost/x:dev", Binary: "bin/x", Entrypoint: "/x", User: "65532:65532",
		Add: []image.Addition{{Source: "a", Target: "/b"}, {Source: "c", Target: "/d"}},
	}, spec)

	_, _, _, err = imageFlags([]string{"-ref", "localhost/x:dev", "bin/x"})
	require.ErrorContains(t, err, "-out")
}

func TestUnknownVerbShowsTheUsage(t *testing.T) {
	require.ErrorContains(t, dispatch(t.Context(), "start", nil), "usage:")
	require.ErrorContains(t, dispatch(t.Context(), "down", []string{"now"}), "takes no arguments")
	require.ErrorContains(t, dispatch(t.Context(), "up", []string{"now"}), "want nothing, or flags")
	require.ErrorContains(t, dispatch(t.Context(), "assets", []string{"-version", "1.20"}), "want one of [1.30")
}
