package translatortest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/translators/framework"
)

// panicOver compiles a job with one part missing or senseless, for each part. It returns the first that makes Compile panic; "" if none does. The CRD
// refuses most of these. But with an older CRD, or one that somebody has relaxed, they must become an error or a program: a panic would stop all jobs.
func panicOver(t testing.TB, r framework.Registration, raw []byte) string {
	t.Helper()
	var whole map[string]any
	require.NoError(t, yaml.Unmarshal(raw, &whole))
	found := ""
	damage(whole["spec"], nil, func(path []any, what string, spec any) {
		text, err := json.Marshal(map[string]any{"metadata": whole["metadata"], "spec": spec})
		require.NoError(t, err)
		job := r.New()
		if found != "" || json.Unmarshal(text, job) != nil { // no object of the kind
			return
		}
		defer func() {
			if problem := recover(); problem != nil {
				found = fmt.Sprintf("spec%s: %s: %v", pathOf(path), what, problem)
			}
		}()
		if program, err := r.Compile(job); err == nil {
			Render(t, program, nil)
		}
	})
	return found
}

// damage visits copies of node, each with one part damaged. It leaves node as it was.
func damage(node any, path []any, visit func(path []any, what string, node any)) {
	for what, other := range substitutes(node) {
		visit(path, what, other)
	}
	switch n := node.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(n)) {
			smaller := maps.Clone(n)
			delete(smaller, key)
			here := append(slices.Clone(path), key)
			visit(here, "removed", smaller)
			damage(n[key], here, func(path []any, what string, child any) {
				other := maps.Clone(n)
				other[key] = child
				visit(path, what, other)
			})
		}
	case []any:
		for i := range n {
			here := append(slices.Clone(path), i)
			visit(here, "removed", slices.Delete(slices.Clone(n), i, i+1))
			damage(n[i], here, func(path []any, what string, child any) {
				other := slices.Clone(n)
				other[i] = child
				visit(path, what, other)
			})
		}
	}
}

// substitutes returns values to put in place of a part.
func substitutes(node any) map[string]any {
	out := map[string]any{"null": nil}
	switch n := node.(type) {
	case map[string]any:
		out["empty"] = map[string]any{}
	case []any:
		out["empty"] = []any{}
		out["doubled"] = append(slices.Clone(n), n...)
	case string:
		out["empty"] = ""
		out["a variable"] = "$(" + n
		out["in quotes"] = fmt.Sprintf("%q", n)
	case bool:
		out["inverted"] = !n
	default:
		out["negative"], out["zero"], out["huge"] = -1, 0, math.MaxInt32
	}
	return out
}

// pathOf returns a path in a document as text.
func pathOf(path []any) string {
	var b strings.Builder
	for _, p := range path {
		if i, ok := p.(int); ok {
			fmt.Fprintf(&b, "[%d]", i)
		} else {
			fmt.Fprintf(&b, ".%v", p)
		}
	}
	return b.String()
}
