package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// strangers is how many connections are held to the operator's ports at once, half of them to that of its probes.
const strangers = 150

// doors are the addresses at which an operator that is attacked serves its metrics and its probes.
type doors struct{ metrics, probes string }

// freeDoors are addresses at which nobody listens.
func freeDoors() (d doors, err error) {
	for _, address := range []*string{&d.metrics, &d.probes} {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return d, err
		}
		defer free.Close()
		*address = free.Addr().String()
	}
	return d, nil
}

// flood sends a megabyte of headers over each of many connections to the operator's ports, again and again until the row is over.
func flood(ctx context.Context, a *target) error {
	headers := megabyteOfHeaders()
	for i := range strangers {
		go func() {
			for pause(ctx, time.Second) == nil {
				if i%2 == 0 {
					_ = sendHeaders(ctx, a.doors.probes, nil, headers)
				} else {
					_ = sendHeaders(ctx, a.doors.metrics, &tls.Config{InsecureSkipVerify: true}, headers) //nolint:gosec // a stranger does not care
				}
			}
		}()
	}
	return nil
}

// megabyteOfHeaders is the beginning of a request, to the size at which Go's own servers stop reading.
func megabyteOfHeaders() string {
	var text strings.Builder
	text.WriteString("GET /healthz HTTP/1.1\r\nHost: operator\r\n")
	for i := 0; text.Len() < 990_000; i++ {
		fmt.Fprintf(&text, "X-%d: %s\r\n", i, strings.Repeat("x", 4000))
	}
	return text.String()
}

// sendHeaders is one stranger's connection. The request has no end, so that it is held for as long as the server lets it be.
func sendHeaders(ctx context.Context, address string, encrypted *tls.Config, headers string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	if encrypted != nil {
		c = tls.Client(c, encrypted)
	}
	if _, err := io.WriteString(c, headers); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, c)
	return err
}
