package simulator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var (
	scripts = flag.Int64("scripts", 200, "number of scripts of calls that a real apiserver and the simulated one answer")
	only    = flag.Int64("script", -1, "replay this one script, shrink it if the answers differ, and tell it")
)

// together runs scripts against both.
type together struct {
	t         *testing.T
	actual    *actual
	templates map[string]client.Object
}

func newTogether(t *testing.T) *together {
	both := &together{t: t, actual: newActual(t), templates: map[string]client.Object{}}
	for _, s := range subjects {
		o, err := both.actual.defaulted(t.Context(), s)
		require.NoError(t, err, s.kind)
		both.templates[s.kind] = o
	}
	return both
}

// perform runs a script to its end.
func (s *stage) perform(play script) []answer {
	var told []answer
	for _, a := range play.steps {
		told = append(told, s.play(a))
	}
	return told
}

// onReal is what a real apiserver answers, and what its watch tells.
func (b *together) onReal(play script) ([]answer, error) {
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	space, err := b.actual.space(ctx)
	if err != nil {
		return nil, err
	}
	template := b.templates[play.about.kind].DeepCopyObject().(client.Object)
	template.SetNamespace(space)
	events, err := b.actual.follow(ctx, template, play.about.list())
	if err != nil {
		return nil, err
	}
	told := (&stage{apiserver: b.actual, ctx: ctx, template: template}).perform(play)
	happened, err := events()
	return append(told, happened...), err
}

// onSimulated is what the simulated API answers, which may be broken before.
func (b *together) onSimulated(play script, broken func(*simulated)) []answer {
	s, ctx := newSimulated(b.t.Context())
	broken(s)
	template := b.templates[play.about.kind].DeepCopyObject().(client.Object)
	template.SetNamespace(namespace)
	told := (&stage{apiserver: s, ctx: ctx, template: template}).perform(play)
	return append(told, s.events(play.about.kind)...)
}

func sound(*simulated) {}

// differences compare answers in the order in which they were given. Of events that only one has told, those follow that are missing.
func differences(simulated, actual []answer) []string {
	var list []string
	for i := range max(len(simulated), len(actual)) {
		switch {
		case i >= len(simulated):
			list = append(list, fmt.Sprintf("%d: only a real apiserver tells %s", i+1, tell(actual[i])))
		case i >= len(actual):
			list = append(list, fmt.Sprintf("%d: only the simulated one tells %s", i+1, tell(simulated[i])))
		default:
			list = append(list, apart(fmt.Sprintf("%d %s", i+1, simulated[i]["step"]), map[string]any(simulated[i]), map[string]any(actual[i]))...)
		}
	}
	return list
}

func tell(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// apart tells where two values differ.
func apart(path string, simulated, actual any) []string {
	a, ok := simulated.(map[string]any)
	b, are := actual.(map[string]any)
	if ok && are {
		var list []string
		for _, name := range slices.Sorted(maps.Keys(merged(a, b))) {
			list = append(list, apart(path+": "+name, a[name], b[name])...)
		}
		return list
	}
	if reflect.DeepEqual(simulated, actual) {
		return nil
	}
	return []string{fmt.Sprintf("%s: simulated %s, real %s", path, tell(simulated), tell(actual))}
}

func merged(a, b map[string]any) map[string]any {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func TestTheSimulatedAPIAnswersAsARealOneDoes(t *testing.T) {
	both := newTogether(t)
	if *only >= 0 {
		both.replay(*only)
		return
	}
	heard := both.sweep(*scripts)
	var differ []int64
	for seed := range *scripts {
		if found := both.compare(seed, heard[seed], sound); len(found) > 0 {
			differ = append(differ, seed)
		}
	}
	if len(differ) > 0 {
		both.replay(differ[0])
	}
	require.Empty(t, differ, "scripts that differ: replay one with go test ./e2e/simulator -run TheSimulatedAPI -v -script=N")
	for _, b := range breaks {
		t.Run(b.name, func(t *testing.T) {
			seed := int64(0)
			for seed < *scripts && len(both.compare(seed, heard[seed], b.do)) == 0 {
				seed++
			}
			require.Less(t, seed, *scripts, "the simulated API is broken, and no script has told")
		})
	}
}

// compare tells where the simulated API, which may be broken before, answers a script otherwise than a real one has.
func (b *together) compare(seed int64, heard []answer, broken func(*simulated)) []string {
	return b.unlessOlder(differences(b.onSimulated(drawScript(SeedTape(seed)), broken), heard))
}

// The simulated API answers as the newest apiserver does. These are the answers of older ones, with the first minor version that gives them no more.
// The operator takes both alike: it reads again, or finds that nothing it cares for has changed.
var older = []struct {
	until int
	told  string
}{
	{34, `error: simulated "404 NotFound", real "409 Conflict"`},                // a write that names the UID of an object that is gone
	{36, "more true, .* view: is another version: simulated false, real true$"}, // a status write that brings edits along which do not count
}

// unlessOlder leaves a script out if the first difference is one of an older apiserver: what follows may differ because of it.
func (b *together) unlessOlder(differ []string) []string {
	for _, o := range older {
		if b.actual.minor < o.until && len(differ) > 0 && regexp.MustCompile(o.told).MatchString(differ[0]) {
			return nil
		}
	}
	return differ
}

// sweep runs scripts on the real apiserver, several at a time.
func (b *together) sweep(n int64) [][]answer {
	heard := make([][]answer, n)
	var wait errgroup.Group
	wait.SetLimit(8)
	for seed := range n {
		wait.Go(func() (err error) {
			heard[seed], err = b.onReal(drawScript(SeedTape(seed)))
			return err
		})
	}
	require.NoError(b.t, wait.Wait())
	return heard
}

// replay tells a script and, if the answers differ, what is left of it when it is shrunk.
func (b *together) replay(seed int64) {
	tape := SeedTape(seed)
	drawScript(tape)
	if len(b.try(tape.Drawn())) == 0 {
		b.t.Logf("script %d:%s", seed, say(drawScript(SeedTape(seed))))
		return
	}
	s := &shrinker{tape: tape.Drawn(), left: 100, fails: func(candidate []byte) bool { return len(b.try(candidate)) > 0 }}
	for s.left > 0 && (s.leaveOut() || s.zero()) {
	}
	b.t.Errorf("script %d, shrunk:%s\nThe answers differ:\n%s", seed, say(drawScript(ReplayTape(s.tape))), strings.Join(b.try(s.tape), "\n"))
}

// try runs a script on both.
func (b *together) try(tape []byte) []string {
	heard, err := b.onReal(drawScript(ReplayTape(tape)))
	require.NoError(b.t, err)
	return b.unlessOlder(differences(b.onSimulated(drawScript(ReplayTape(tape)), sound), heard))
}

func say(play script) string {
	lines := " about a " + play.about.kind
	for i, a := range play.steps {
		lines += fmt.Sprintf("\n%3d %s", i+1, a.say)
	}
	return lines
}
