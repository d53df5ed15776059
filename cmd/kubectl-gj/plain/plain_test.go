package plain_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plain"
)

func TestATerminalIsToldNothing(t *testing.T) {
	for in, want := range map[string]string{
		"Pod w-0 fails.\n\tsee ä €":     "Pod w-0 fails.\n\tsee ä €",
		"\x1b[2J\x1b]0;title\a":         `\u001b[2J\u001b]0;title\u0007`,
		"all is well\rit is not":        `all is well\u000dit is not`,
		"\u009b31m, \x7f, a\u202eb":     `\u009b31m, \u007f, a\u202eb`,
		"a byte that is none: \x9b31m.": "a byte that is none: \ufffd31m.",
	} {
		var out bytes.Buffer
		n, err := fmt.Fprint(plain.Writer(&out), in)
		require.NoError(t, err)
		require.Equal(t, len(in), n)
		require.Equal(t, want, out.String())
		require.Equal(t, want, plain.Text(want), "once is enough")
	}
}
