package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePictureIsThatOfTheRecording(t *testing.T) {
	t.Chdir("..")
	want, err := picture(terminalFile, timingFile)
	require.NoError(t, err)
	have, err := os.ReadFile("tree.svg")
	require.NoError(t, err)
	require.Equal(t, want, string(have), "draw it again: go run ./picture > tree.svg")
}

func TestScreen(t *testing.T) {
	frames, err := play([]byte("Script started\none\r\n\x1b[32mtwo\x1b[0m\r\n\x1b[2A\x1b[2Kthree\r\n\x1b[J"), []byte("0.5 17\n1.5 20\n"))
	require.NoError(t, err)
	require.Len(t, frames, 2)
	require.Equal(t, []cell{{'t', 32}, {'w', 32}, {'o', 32}}, frames[0].lines[1])
	require.InDelta(t, 2, frames[1].at, 1e-9)
	require.Len(t, frames[1].lines, 1, "what is below was erased")
	require.Equal(t, cell{'t', 0}, frames[1].lines[0][0])

	require.Error(t, new(screen).write("\x1b[5H"), "a sequence that is not known")
	_, err = play([]byte("Script started\none"), []byte("0.5 17\n"))
	require.Error(t, err)
}
