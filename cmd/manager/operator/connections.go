package operator

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// connections are the connections that a port has at once. One more puts out a connection whose request has not come yet: of the
// address that has most, the oldest. So whoever holds connections and says nothing keeps neither the kubelet nor a scraper
// out. A connection whose request has come stays until it is answered.
type connections struct {
	net.Listener
	mu     sync.Mutex
	left   *sync.Cond    // somebody has
	taken  []*connection // the oldest first
	closed bool
}

// connection is one connection.
type connection struct {
	net.Conn
	of         *connections
	from       string // the address without its port
	hasRequest bool   // its request has come
}

func newConnections(on net.Listener) *connections {
	l := &connections{Listener: on}
	l.left = sync.NewCond(&l.mu)
	return l
}

// Accept implements net.Listener.
func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	from, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	c := &connection{Conn: conn, of: l, from: from}
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.taken) >= maxConnections && !l.closed {
		if out := l.toClose(from); out != nil {
			l.drop(out)
			_ = out.Conn.Close()
			continue
		}
		l.left.Wait()
	}
	l.taken = append(l.taken, c)
	return c, nil
}

// Close implements net.Listener.
func (l *connections) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.left.Broadcast()
	return l.Listener.Close()
}

// toClose returns the connection that makes room for one more from an address; nil if the requests of all have come.
func (l *connections) toClose(from string) *connection {
	has := map[string]int{from: 1}
	for _, c := range l.taken {
		has[c.from]++
	}
	var out *connection
	for _, c := range l.taken {
		if !c.hasRequest && (out == nil || has[c.from] > has[out.from]) {
			out = c
		}
	}
	return out
}

func (l *connections) drop(c *connection) {
	l.taken = slices.DeleteFunc(l.taken, func(other *connection) bool { return other == c })
	l.left.Broadcast()
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.drop(c)
	return c.Conn.Close()
}

// stay keeps a connection until its request is answered, and reports whether it is still open.
func (c *connection) stay() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.hasRequest = slices.Contains(c.of.taken, c)
	return c.hasRequest
}

type connectionKey struct{}

// withConnection returns a context by which requests know their connection.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	return context.WithValue(ctx, connectionKey{}, conn)
}

// staying returns a handler that passes on the requests whose connection stays. It refuses those with a body: a body that never comes would
// keep the connection. It lifts the deadline for reading, which would otherwise end the answer, too.
func staying(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			http.Error(w, "nothing here takes a body", http.StatusRequestEntityTooLarge)
			return
		}
		if c, ok := r.Context().Value(connectionKey{}).(*connection); ok && c.stay() && http.NewResponseController(w).SetReadDeadline(time.Time{}) == nil {
			next.ServeHTTP(w, r)
		}
	})
}

// inTurn returns a handler that answers at most maxAnswers requests at once. Another request waits for its turn, at most for the time most.
// After that it is refused, so that its connection is free for others.
func inTurn(next http.Handler, most time.Duration) http.Handler {
	turns := make(chan struct{}, maxAnswers)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), most)
		defer cancel()
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
			next.ServeHTTP(w, r)
		case <-ctx.Done():
			w.Header().Set("Retry-After", "1")
			http.Error(w, "others are being answered: ask again", http.StatusServiceUnavailable)
		}
	})
}
