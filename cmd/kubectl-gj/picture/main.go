// Command picture draws what script(1) has recorded of `kubectl gj tree -w` as an SVG that moves, from nothing but the recording:
//
//	go run ./picture > tree.svg
//
// The recording in picture/testdata is made by the end-to-end test TestGJ, run with -update.
package main

import (
	"fmt"
	"os"
)

const (
	terminalFile = "picture/testdata/tree.terminal"
	timingFile   = "picture/testdata/tree.timing"
)

func main() {
	text, err := picture(terminalFile, timingFile)
	if err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

func picture(terminalFile, timingFile string) (string, error) {
	terminal, err := os.ReadFile(terminalFile)
	if err != nil {
		return "", err
	}
	timing, err := os.ReadFile(timingFile)
	if err != nil {
		return "", err
	}
	frames, err := play(terminal, timing)
	if err != nil {
		return "", err
	}
	return draw("kubectl gj tree mnist -w", shorten(frames)), nil
}
