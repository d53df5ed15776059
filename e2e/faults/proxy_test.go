package faults_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// call is what a request asks for.
type call struct{ verb, kind, name, sub string }

func (c call) writes() bool { return c.verb != "get" && c.verb != "list" && c.verb != "watch" }

// callOf reads a request.
func callOf(r *http.Request) call {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) > 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		parts = parts[3:]
	default:
		return call{verb: "get"} // discovery
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		parts = parts[2:]
	}
	parts = append(parts, "", "")
	c := call{kind: parts[0], name: parts[1], sub: parts[2]}
	c.verb = map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	switch {
	case c.verb != "":
	case r.URL.Query().Get("watch") != "":
		c.verb = "watch"
	case c.name == "":
		c.verb = "list"
	default:
		c.verb = "get"
	}
	return c
}

// proxy lies between one manager and the apiserver.
type proxy struct {
	*httptest.Server
	who     string
	dice    *dice
	history *history
	races   *races
	storm   atomic.Bool  // faults happen
	wrote   atomic.Int64 // writes that were carried out
	renewed atomic.Int64 // when it last wrote the lease

	hung atomic.Int64 // calls that got no answer
	met  atomic.Int64 // calls, of any kind

	mu       sync.Mutex
	hang     func(call) bool // calls that get no answer, ever
	calls    map[string]int  // by verb and kind
	answered map[string]int  // those whose caller was there for the answer
	late     sync.WaitGroup  // what goes on though the caller is gone
}

func newProxy(t *testing.T, who string, d *dice, h *history, races *races) *proxy {
	t.Helper()
	p := &proxy{who: who, dice: d, history: h, races: races, calls: map[string]int{}, answered: map[string]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.CloseClientConnections()
		p.Close()
		p.late.Wait()
	})
	return p
}

// hangWhere makes calls hang for which the function says so.
func (p *proxy) hangWhere(hang func(call) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = hang
}

// hangs notes a call and reports whether it is to hang.
func (p *proxy) hangs(c call) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls[c.verb+" "+c.kind]++
	if p.hang == nil || !p.hang(c) {
		return false
	}
	p.hung.Add(1)
	return true
}

// asked is how many calls of a verb and a kind there were.
func (p *proxy) asked(verb, kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[verb+" "+kind]
}

// answeredOf is how many of them were answered while their caller waited for it.
func (p *proxy) answeredOf(verb, kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.answered[verb+" "+kind]
}

// ServeHTTP passes a call on, or does not.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := callOf(r)
	p.met.Add(1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if p.hangs(c) {
		<-r.Context().Done()
		return
	}
	ctx := r.Context()
	fenced := p.races.fenceOf(p.who)
	fault := none
	if p.storm.Load() && c.kind != "" && c.kind != "events" {
		fault = p.dice.fault(p.who, c)
		p.alter(c, r)
		if c.verb == "watch" && r.URL.Query().Get("sendInitialEvents") != "" && p.dice.next(10, "watch-list "+c.kind) < 7 {
			fault = unsupported
		}
	}
	if fault != none {
		p.dice.happened(fault)
	}
	switch fault {
	case conflict:
		refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
		return
	case tooMany:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests)
		return
	case internal:
		refuse(w, http.StatusInternalServerError, metav1.StatusReasonInternalError)
		return
	case unsupported:
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
		return
	case gone:
		refuse(w, http.StatusGone, metav1.StatusReasonExpired)
		return
	case swallowed:
		sleep(ctx, p.dice.pause(fault))
		panic(http.ErrAbortHandler)
	case late:
		ctx = context.WithoutCancel(ctx)
		p.late.Add(1)
		defer p.late.Done()
		time.Sleep(p.dice.pause(fault))
	}
	asked := time.Now()
	answer, err := p.forward(ctx, r, c, body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer answer.Body.Close()
	p.races.happened(p.who, c, r.URL.Path, asked, answer, fenced)
	switch fault {
	case lost:
		panic(http.ErrAbortHandler)
	case slow:
		sleep(ctx, p.dice.pause(fault))
	}
	p.answer(w, r, c, answer)
}

// alter makes the list of a cache old, and the watch that follows begins where the list was. An apiserver that lags behind etcd
// answers so where resourceVersion=0 is asked for. The operator asks for the present, page by page, but nothing may depend on
// that.
func (p *proxy) alter(c call, r *http.Request) {
	q := r.URL.Query()
	ofCache := q.Get("limit") != "" && q.Get("continue") == ""
	if c.verb != "list" || !ofCache || p.history == nil {
		return
	}
	age := []time.Duration{0, 1, 3, 6}[p.dice.next(4, "age "+p.who+" "+c.kind)] * time.Second
	old := p.history.before(age)
	if old == "" {
		return
	}
	q.Set("resourceVersion", old)
	q.Set("resourceVersionMatch", "Exact")
	q.Del("limit")
	r.URL.RawQuery = q.Encode()
	p.dice.happened(stale)
}

func (p *proxy) forward(ctx context.Context, r *http.Request, c call, body []byte) (*http.Response, error) {
	to := r.Clone(ctx)
	to.RequestURI = ""
	to.URL.Scheme, to.URL.Host, to.Host = upstream.Scheme, upstream.Host, ""
	to.Body, to.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
	answer, err := transport.RoundTrip(to)
	if err == nil && c.writes() && answer.StatusCode < 300 {
		switch c.kind {
		case "leases":
			p.renewed.Store(time.Now().UnixNano())
		case "events":
		default:
			p.wrote.Add(1)
		}
	}
	return answer, err
}

func (p *proxy) answer(w http.ResponseWriter, r *http.Request, c call, answer *http.Response) {
	for key, values := range answer.Header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.StatusCode)
	if c.verb == "watch" && answer.StatusCode == http.StatusOK {
		p.stream(w, r, c, answer.Body)
		return
	}
	if _, err := io.Copy(w, answer.Body); err == nil && r.Context().Err() == nil {
		p.mu.Lock()
		p.answered[c.verb+" "+c.kind]++
		p.mu.Unlock()
	}
}

// refuse answers as an apiserver does that does not do what it is asked.
func refuse(w http.ResponseWriter, code int, reason metav1.StatusReason) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: int32(code), Reason: reason,
		Message: "the test's proxy says so",
	})
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
