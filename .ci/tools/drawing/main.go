// Command drawing makes an SVG of a drawing in plain text, as `make generate` does with those of the documents.
//
// Usage: drawing < FILE.txt > FILE.svg
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/bep/goat"
)

// paper is the ground of a drawing, so that it can be read where the page is dark.
const paper = "<rect width='100%' height='100%' fill='white'/>\n"

func main() {
	svg := goat.BuildSVG(os.Stdin)
	svg.Body = paper + svg.Body
	if _, err := fmt.Fprintln(os.Stdout, strings.TrimSpace(svg.String())); err != nil {
		fmt.Fprintln(os.Stderr, "drawing:", err)
		os.Exit(1)
	}
}
