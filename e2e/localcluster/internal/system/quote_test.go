package system

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAShellReadsWhatWasQuoted(t *testing.T) {
	for _, text := range []string{"/root/.cache/x", "a b", "", "it's", "$HOME `date` \"x\" \\ *", "a\nb"} {
		got, err := exec.CommandContext(t.Context(), "sh", "-c", "printf %s "+Quote(text)).Output()
		require.NoError(t, err)
		require.Equal(t, text, string(got))
	}
	require.Equal(t, "/root/.cache/x", Quote("/root/.cache/x"), "what needs no quotes has none")
}
