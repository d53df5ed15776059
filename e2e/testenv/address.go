package testenv

import (
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress is one at which a program can listen that is told its address before it starts. It is on a loopback address of its own,
// which Linux has 16 million of: what other tests listen at, or are given in the meantime, is at others.
func FreeAddress(t *testing.T) string {
	t.Helper()
	ip := net.IPv4(127, byte(1+rand.IntN(254)), byte(rand.IntN(256)), byte(1+rand.IntN(254)))
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
