package inplace_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

func TestNumbersInALineOfProgress(t *testing.T) {
	progress := regexp.MustCompile(`step (?P<step>\S+)(?: loss (?P<loss>\S+))?`)
	for line, want := range map[string][2]string{
		"step 12 loss 0.5":     {"12", "0.5"},
		"step 12,000 loss NaN": {"12000", "NaN"},
		"step 12,00 loss none": {"", ""},
		"step 1":               {"1", ""},
		"\x1b[32mstep \x1b[1m12\x1b[0m loss 1\x08": {"12", "1"},
	} {
		plain := inplace.WithoutColour([]byte(line))
		found := progress.FindSubmatchIndex(plain)
		require.NotNil(t, found, line)
		require.Equal(t, want, [2]string{inplace.NumberIn(plain, progress, found, "step"), inplace.NumberIn(plain, progress, found, "loss")}, line)
		require.Empty(t, inplace.NumberIn(plain, progress, found, "epoch"), line)
	}
}
