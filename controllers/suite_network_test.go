package controllers_test

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strings"
	"sync"
)

// few are fewer creates than there are at once where none is refused, which is 50. Where all are, a reconcile makes three, and waits twice as
// long as it has waited so far. On the slowest machine it takes minutes until they are so many.
const few = 45

// call is one request of the operator's.
type call struct{ verb, path, body string }

// network lies between the operator and the apiserver: it writes down what changes something, and fails what it is told
// to fail.
type network struct {
	mu    sync.Mutex
	calls []call
	fail  func(call) bool
	code  int // of failures; 0 means 500
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (n *network) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet {
			return next.RoundTrip(r)
		}
		c := call{verb: r.Method, path: r.URL.Path}
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			c.body = string(body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		if n.note(c) {
			return &http.Response{
				StatusCode: cmp.Or(n.code, http.StatusInternalServerError), Request: r, Header: http.Header{"Content-Type": {"text/plain"}},
				Body: io.NopCloser(strings.NewReader("the test's network is down")),
			}, nil
		}
		return next.RoundTrip(r)
	})
}

func (n *network) note(c call) (fail bool) {
	n.mu.Lock()
	n.calls = append(n.calls, c)
	ask := n.fail
	n.mu.Unlock() // it may take its time
	return ask != nil && ask(c)
}

// breakWhere makes calls fail for which the function says so.
func (n *network) breakWhere(fail func(call) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail = fail
}

// forget forgets the calls so far.
func (n *network) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.calls = nil
}

// seen are the calls of a verb whose path holds a word, so far.
func (n *network) seen(verb, word string) []call {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []call
	for _, c := range n.calls {
		if (verb == "" || c.verb == verb) && strings.Contains(c.path, word) {
			out = append(out, c)
		}
	}
	return out
}
