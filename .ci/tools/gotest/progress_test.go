package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listener keeps what is written, and does something when it first reads certain words.
type listener struct {
	bytes.Buffer
	of   string
	then func()
}

func (l *listener) Write(text []byte) (int, error) {
	heard := strings.Contains(l.String(), l.of)
	n, err := l.Buffer.Write(text)
	if !heard && strings.Contains(l.String(), l.of) {
		l.then()
	}
	return n, err
}

func TestItIsCompilingWhenNothingElseIsToldOf(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	out := listener{of: "now compiling since", then: end}
	p := newProgress(ctx, &out, time.Millisecond, 7)
	<-ctx.Done()
	p.begin("x")
	require.Regexp(t, `: 0 of 7 done; now x since \d\d:\d\d:\d\d\n$`, p.now())
	p.end("x", "ok")
	require.Regexp(t, `^=== \d\d:\d\d:\d\d: 1 of 7 done; now compiling since \d\d:\d\d:\d\d\n$`, p.now())
}
