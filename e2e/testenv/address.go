package testenv

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Ports that are drawn. Linux gives ports from 32768 on to connections. Any of these could have taken one at which a program was told to
// listen. Kubernetes gives those from 30000 on to Services.
const (
	firstPort = 20_000
	ports     = 10_000
)

// FreeAddress is one at which a program can listen that is told its address before it starts. It is on a loopback address of its own, of
// which Linux has 16 million. What other tests listen at, or are given in the meantime, is at others.
func FreeAddress(t *testing.T) string {
	t.Helper()
	free, err := freeAddresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return free[0]
}

// freeAddresses are so many of one loopback address.
func freeAddresses(n int) (found []string, err error) {
	drawn := rand.Uint32() // #nosec G404 -- an address is no secret
	ip := net.IPv4(127, byte(drawn)|1, byte(drawn>>8), byte(drawn>>16)|1).String()
	if l, err := net.Listen("tcp", net.JoinHostPort(ip, "0")); err != nil {
		ip = "127.0.0.1" // not Linux
	} else {
		defer l.Close()
	}
	for tries := 0; len(found) < n; tries++ {
		if tries == 100*n {
			return nil, errors.Join(errors.New("there is no free port at "+ip), err)
		}
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(firstPort+rand.IntN(ports)))); err == nil { // #nosec G404 -- as above
			defer func() { _ = l.Close() }() // all stay taken until all are found
			found = append(found, l.Addr().String())
		}
	}
	return found, nil
}
