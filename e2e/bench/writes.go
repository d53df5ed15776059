package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// callCounter counts the writes of the bench itself, by verb and resource.
type callCounter struct {
	mu     sync.Mutex
	counts map[string]int64
}

func (c *callCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return &countingTransport{c, next}
}

type countingTransport struct {
	*callCounter
	next http.RoundTripper
}

func (t *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		t.mu.Lock()
		t.counts[r.Method+" "+resourceOf(r.URL.Path)]++
		t.mu.Unlock()
	}
	return t.next.RoundTrip(r)
}

// resourceOf is what a path of the API in a namespace is about, as resource or resource/subresource.
func resourceOf(path string) string {
	_, rest, namespaced := strings.Cut(path, "/namespaces/")
	parts := strings.Split(rest, "/")
	switch {
	case !namespaced || len(parts) < 2:
		return "-"
	case len(parts) > 3:
		return parts[1] + "/" + parts[3]
	default:
		return parts[1]
	}
}

// operated are the resources of whose writes the bench keeps count. Nobody but the operator and the bench writes them.
var operated = regexp.MustCompile(`^(pods|services|configmaps|events|[a-z]+jobs)$`)

var requestTotal = regexp.MustCompile(`^apiserver_request_total\{(.*)\} (\S+)$`)

var label = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// writes are the writes that the operator has made since the apiserver started, by verb and resource. They are all
// that the apiserver has counted, without the bench's own.
func (p *plane) writes(ctx context.Context) (map[string]int64, error) {
	text, err := p.pods.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the apiserver's metrics: %w", err)
	}
	out := map[string]int64{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := requestTotal.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		l := map[string]string{}
		for _, pair := range label.FindAllStringSubmatch(m[1], -1) {
			l[pair[1]] = pair[2]
		}
		n, err := strconv.ParseFloat(m[2], 64)
		if err != nil || !operated.MatchString(l["resource"]) || !isWrite(l["verb"]) {
			continue
		}
		key := l["verb"] + " " + l["resource"]
		if l["subresource"] != "" {
			key += "/" + l["subresource"]
		}
		out[key] += int64(n)
	}
	p.calls.mu.Lock()
	defer p.calls.mu.Unlock()
	for key, n := range p.calls.counts {
		if _, counted := out[key]; counted {
			out[key] -= n
		}
	}
	return out, lines.Err()
}

func isWrite(verb string) bool {
	switch verb {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return true
	default:
		return false
	}
}

// since returns what has been added to before, and its sum.
func since(before, after map[string]int64) (map[string]int64, int64) {
	out, sum := map[string]int64{}, int64(0)
	for key, n := range after {
		if n -= before[key]; n != 0 {
			out[key] = n
			sum += n
		}
	}
	return out, sum
}
