package operator

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds what hangs. The times of the operator's own ports end what a machine that stalls has not got to.
const patience = 30 * time.Minute

// serving serves a handler at every path of a port with patience, and returns the address and the connections.
func serving(t *testing.T, encrypted bool, handler http.HandlerFunc) (address string, now *counted) {
	t.Helper()
	return servingWithin(t, times{patience, patience, patience}, encrypted, handler)
}

func servingWithin(t *testing.T, limits times, encrypted bool, handler http.HandlerFunc) (address string, now *counted) {
	t.Helper()
	p := port{address: "127.0.0.1:0", encrypted: encrypted, answerTime: patience, times: limits, paths: map[string]http.Handler{"/": handler}}
	listener, err := p.listen()
	require.NoError(t, err)
	now = &counted{Listener: listener}
	server := p.server()
	go func() { _ = server.Serve(now) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), now
}

// counted counts the bytes that a server has read, of all connections. The kernel may take more.
type counted struct {
	net.Listener
	bytes atomic.Int64
}

// Accept implements net.Listener.
func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if p, ok := c.(*connection); ok {
		p.Conn = &countedConn{Conn: p.Conn, of: l}
	}
	return c, err
}

type countedConn struct {
	net.Conn
	of *counted
	// deadline of the reading. The server sets it before it calls the handler.
	deadline time.Time
}

// SetReadDeadline implements net.Conn.
func (c *countedConn) SetReadDeadline(t time.Time) error {
	c.deadline = t
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.of.bytes.Add(int64(n))
	return n, err
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// answer returns what the server has said when it closes the connection, "" if nothing.
func answer(c net.Conn) string {
	line, _ := bufio.NewReader(c).ReadString('\n')
	return strings.TrimSpace(line)
}

// Who has not said who he is could take all of the operator's memory, a megabyte with each connection.
func TestStrangersHaveNoMoreAnswersUnderWayThanThereArePlaces(t *testing.T) {
	var lock sync.Mutex
	now, most := 0, 0
	enter := func(by int) {
		lock.Lock()
		defer lock.Unlock()
		now += by
		most = max(most, now)
	}
	entered, leave := make(chan struct{}), make(chan struct{})
	address, _ := serving(t, true, func(http.ResponseWriter, *http.Request) {
		enter(1)
		entered <- struct{}{}
		<-leave
		enter(-1)
	})
	var all sync.WaitGroup
	ask := func() {
		plain := dial(t, address)
		all.Go(func() {
			c := tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
			if _, err := c.Write([]byte("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
				t.Error(err)
			}
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Error(err)
			}
		})
	}
	for range maxAnswers {
		ask()
		<-entered
	}
	for range maxAnswers {
		ask() // it is the kernel that takes it; the server does when there is room
		leave <- struct{}{}
		<-entered
	}
	for range maxAnswers {
		leave <- struct{}{}
	}
	all.Wait()
	require.Equal(t, maxAnswers, most)
}

// More than sixteen scrapers at once reset each other's connections. One had to make room that had sent its request, while nobody had
// read that yet.
func TestFortyScrapersAtOnceAreAllAnswered(t *testing.T) {
	const scrapers = 40
	leave := make(chan struct{})
	limits := times{header: patience, request: patience, turn: shortTimes().turn}
	address, _ := servingWithin(t, limits, true, func(w http.ResponseWriter, _ *http.Request) {
		<-leave
		_, _ = io.WriteString(w, "ok")
	})
	codes := make(chan int, scrapers)
	for range scrapers {
		go func() {
			client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
			response, err := client.Get("https://" + address + "/metrics")
			if err != nil {
				t.Error(err)
				codes <- 0
				return
			}
			_ = response.Body.Close()
			codes <- response.StatusCode
		}()
	}
	for range scrapers - maxAnswers {
		require.Equal(t, http.StatusServiceUnavailable, <-codes, "who has no turn is told so")
	}
	close(leave)
	for range maxAnswers {
		require.Equal(t, http.StatusOK, <-codes, "nobody's answer is cut off")
	}
}

// 150 connections with a megabyte of headers each took the manager from 57 to 1,231 MiB, through the port of its probes.
func TestStrangersCannotHaveAMegabyteOfHeadersReadWithEachConnection(t *testing.T) {
	address, now := serving(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	const strangers = 150
	var all sync.WaitGroup
	for range strangers {
		c := dial(t, address)
		all.Go(func() {
			_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 990_000)+"\r\n\r\n")
		})
		all.Go(func() { require.NotContains(t, answer(c), "200") })
	}
	all.Wait()
	require.NotZero(t, now.bytes.Load())
	require.Less(t, now.bytes.Load(), int64(strangers*2*maxHeaders))
}

// Whoever holds connections, and asks for nothing, could keep the kubelet out, which then ends the operator.
func TestWhoHoldsConnectionsKeepsNobodyOut(t *testing.T) {
	for name, begun := range map[string]string{
		"says nothing":        "",
		"never ends":          "GET /healthz HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 10_000),
		"promises a body":     "GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
		"asks without an end": strings.Repeat("GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := serving(t, false, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
			for range 3 * maxConnections {
				_, _ = io.WriteString(dial(t, address), begun) // who is put out may not write all
			}
			c := dial(t, address)
			_, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
			require.NoError(t, err)
			require.Equal(t, "HTTP/1.1 200 OK", answer(c))
		})
	}
}

func TestTheAddressWithMostConnectionsMakesRoom(t *testing.T) {
	l := newConnections(nil)
	take := func(from string, asked bool) *connection {
		p := &connection{of: l, from: from, hasRequest: asked}
		l.taken = append(l.taken, p)
		return p
	}
	kubelet, busy, first := take("node", false), take("pod", true), take("pod", false)
	take("pod", false)
	require.Same(t, first, l.toClose("other"), "not the kubelet's, which is older, nor one whose request has come")
	l.drop(first)
	require.NotSame(t, kubelet, l.toClose("pod"), "the one that comes counts too")
	require.True(t, busy.stay())
	require.False(t, first.stay(), "who was put out is not answered")
	for _, p := range l.taken {
		p.hasRequest = true
	}
	require.Nil(t, l.toClose("other"))
}

func TestStrangersCannotSendAnyHeaders(t *testing.T) {
	for _, encrypted := range []bool{false, true} {
		address, _ := serving(t, encrypted, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
		client := &http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}}, ForceAttemptHTTP2: true,
		}}
		for size, want := range map[int]int{1000: http.StatusUnauthorized, 2 * maxHeaders: http.StatusRequestHeaderFieldsTooLarge} {
			scheme := map[bool]string{false: "http", true: "https"}[encrypted]
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s://%s/metrics", scheme, address), nil)
			require.NoError(t, err)
			request.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
			response, err := client.Do(request)
			for range 10 {
				if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) { // who has not read an answer half a second later misses it
					response, err = client.Do(request)
				}
			}
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, want, response.StatusCode)
			require.Equal(t, 1, response.ProtoMajor, "many requests in one connection are not to be had")
			require.True(t, response.Close, "nor one after the other")
		}
	}
}

func TestNobodyHoldsAConnectionForEver(t *testing.T) {
	server := port{answerTime: maxProbeTime, times: shortTimes()}.server()
	require.NotZero(t, server.ReadHeaderTimeout) // which bounds the handshake, too
	require.NotZero(t, server.ReadTimeout)
	require.NotZero(t, server.WriteTimeout)
}

// A profile takes 30 s unless it is told otherwise. It was cut off after 10: what bounds the reading of a request ended its answer.
func TestAnAnswerMayTakeLongerThanARequest(t *testing.T) {
	deadlines := make(chan time.Time, 1)
	address, _ := serving(t, false, func(_ http.ResponseWriter, r *http.Request) {
		deadlines <- r.Context().Value(connectionKey{}).(*connection).Conn.(*countedConn).deadline
	})
	_, err := io.WriteString(dial(t, address), "GET /debug/pprof/profile HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	require.Zero(t, <-deadlines, "of the reading, which goes on while it is answered")
}
