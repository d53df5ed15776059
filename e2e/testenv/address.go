package testenv

import (
	"crypto/rand"
	"net"
	"testing"
)

// FreeAddress is one at which a program can listen that is told its address before it starts. It is on a loopback address of its own,
// which Linux has 16 million of: what other tests listen at, or are given in the meantime, is at others.
func FreeAddress(t *testing.T) string {
	t.Helper()
	var drawn [3]byte
	_, _ = rand.Read(drawn[:]) // it never fails
	ip := net.IPv4(127, drawn[0]|1, drawn[1], drawn[2]|1)
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil { // not Linux
		l, err = net.Listen("tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
