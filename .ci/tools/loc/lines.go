package main

import (
	"bytes"
	"go/scanner"
	"go/token"
	"strings"
)

// goLines is how many lines of a Go file have a token that is no comment. A raw string of several lines counts with those that are not blank.
func goLines(text []byte) (lines int) {
	places := token.NewFileSet()
	file := places.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, 0)
	last := 0
	for {
		at, is, literal := s.Scan()
		if is == token.EOF {
			return lines
		}
		if is == token.SEMICOLON && literal == "\n" {
			continue // the scanner's own
		}
		for i, part := range strings.Split(literal, "\n") {
			if line := file.Line(at) + i; line > last && (i == 0 || strings.TrimSpace(part) != "") {
				last = line
				lines++
			}
		}
	}
}

// textLines is how many lines are neither blank nor begin with what begins a comment, if there are comments.
func textLines(text []byte, comment string) (lines int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (comment == "" || !bytes.HasPrefix(line, []byte(comment))) {
			lines++
		}
	}
	return lines
}
