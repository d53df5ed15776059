package operator

import (
	"crypto/tls"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// serve serves a handler as the metrics are served, and returns the address.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	listener, err := listen("127.0.0.1:0")
	require.NoError(t, err)
	server := bounded(handler)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// Who has not said who he is could take all of the operator's memory, a megabyte with each connection.
func TestStrangersCannotOpenAnyNumberOfConnections(t *testing.T) {
	var lock sync.Mutex
	now, most := 0, 0
	enter := func(by int) {
		lock.Lock()
		defer lock.Unlock()
		now += by
		most = max(most, now)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	address := serve(t, func(http.ResponseWriter, *http.Request) {
		enter(1)
		entered <- struct{}{}
		<-leave
		enter(-1)
	})
	const clients = 3 * maxConnections
	var all sync.WaitGroup
	for range clients {
		plain, err := net.Dial("tcp", address) // it is the kernel that takes it; the server does when there is room
		require.NoError(t, err)
		all.Go(func() {
			defer plain.Close()
			c := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
			if _, err := c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxConnections {
		<-entered
	}
	for range clients - maxConnections {
		leave <- struct{}{} // only now there is room for one more
		<-entered
	}
	for range maxConnections {
		leave <- struct{}{}
	}
	all.Wait()
	require.Equal(t, maxConnections, most)
}

func TestStrangersCannotSendAnyHeaders(t *testing.T) {
	address := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}, ForceAttemptHTTP2: true, DisableKeepAlives: true,
	}}
	for size, want := range map[int]int{1000: http.StatusUnauthorized, 2 * maxHeaders: http.StatusRequestHeaderFieldsTooLarge} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
		response, err := client.Do(request)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, want, response.StatusCode)
		require.Equal(t, 1, response.ProtoMajor, "many requests in one connection are not to be had")
	}
}

func TestNobodyHoldsAConnectionForEver(t *testing.T) {
	server := bounded(nil)
	require.NotZero(t, server.ReadHeaderTimeout) // which bounds the handshake, too
	require.NotZero(t, server.ReadTimeout)
	require.NotZero(t, server.WriteTimeout)
	require.NotZero(t, server.IdleTimeout)
}
