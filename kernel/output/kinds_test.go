package output

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A signature that an earlier one hides would never be found.
func TestEachKindSignatureCanBeFound(t *testing.T) {
	for i, s := range kindSignatures {
		line := strings.Join(s.words, " ")
		require.Equal(t, strings.ToLower(line), line, "lines are compared in lower case")
		require.Contains(t, Kinds, s.kind)
		require.True(t, strings.HasPrefix(s.source, "https://"), line)
		first := slices.IndexFunc(kindSignatures, func(other kindSignature) bool { return isIn(other.words, line) })
		require.Equal(t, i, first, "%q is found as %q", line, kindSignatures[first].words)
	}
	for _, s := range signatures {
		require.Contains(t, Kinds, s.kind)
		require.Equal(t, s.kind, kindOfFollowing(s.follows), "%q has two kinds", s.follows)
	}
}

// What Text writes is read again with kind and codes.
func TestKindIsReadAgain(t *testing.T) {
	said := Read("NVRM: Xid (PCI:0000:1a:00): 79, pid=1\nNVRM: Xid (PCI:0000:1a:00): 45, caused by previous Xid 79\n" +
		"Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\nRuntimeError: CUDA error: unspecified launch failure\n")
	said.Classify()
	require.Equal(t, Hardware, said.Kind)
	require.Equal(t, []string{"Xid 79", "Xid 45"}, said.CodeList())
	again := Read(said.Text(200))
	require.Equal(t, said.Kind, again.Kind)
	require.Equal(t, said.CodeList(), again.CodeList())
	require.Empty(t, Read("kind: Anything\noutput:\n").Kind, "code may print what Text writes")
}

// What another process printed tells nothing of the one that failed.
func TestKindIsOfTheProcessThatFailed(t *testing.T) {
	const refused = "RuntimeError: Connection refused\n"
	for name, tc := range map[string]struct{ text, want string }{
		"another's line, and a signal":       {"[rank4]: " + refused + block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"), ""},
		"nobody's line, and a signal":        {"step 3: connection refused, trying again\n" + block("5", "-9", "Signal 9 (SIGKILL) received by PID 29"), ""},
		"its own line, and a code":           {"[rank5]: CUDA out of memory\n" + block("5", "3", noRecord), DeviceOutOfMemory},
		"another's line below its exception": {"[rank5]: RuntimeError: x\n[rank4]: " + refused + block("5", "1", noRecord), ""},
		"the line below its exception":       {"RuntimeError: NCCL error\nDuplicate GPU detected : rank 2 and rank 0\n", Config},
		"a mistake in the syntax":            {"  File \"/train.py\", line 3\n    x = = 1\nSyntaxError: invalid syntax\n", Config},
	} {
		said := Read(tc.text)
		said.Classify()
		require.Equal(t, tc.want, said.Kind, name)
	}
}

func BenchmarkClassify(b *testing.B) {
	text := strings.Repeat("step 1234 loss 0.123 and some more words of a line in a log of training\n", 28)
	for b.Loop() {
		said := Read(text)
		said.Classify()
	}
}
