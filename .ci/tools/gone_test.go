package tools_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gone are words that are said no more, since they stood for two things, or beside another word for one thing.
var gone = []struct {
	words   *regexp.Regexp
	instead string
	folder  string // where they would come back
	example string
}{
	{regexp.MustCompile(`\b(a|the|this|each|next|first|one|every|same) pass(es)?\b|status\.Pass\b|_passes_`), "reconcile", "", "what a pass has found"},
	{regexp.MustCompile(`[eE]poch`), "job attempt or mode generation", "kernel", "modeEpoch"},
	{regexp.MustCompile(`[eE]poch`), "job attempt or mode generation", "controllers", "the epoch"},
	{regexp.MustCompile(`(is|are|was|no) garbage\b|(Is|Has|podstate\.)Garbage`), "superseded", "kernel", "its pod is garbage"},
	{regexp.MustCompile(`(?i)\bhold\(|verdict\.Hold`), "block or reserve; a wrapper holds an end", "controllers", "r.hold(have)"},
	{regexp.MustCompile(`\b[Vv]erdicts?\b`), "judgement or result; a verdict is the kernel's", "e2e/suite", "type verdict struct"},
	{regexp.MustCompile(`\b[Vv]erdicts?\b`), "judgement", "controllers", "type verdict struct"},
	{regexp.MustCompile(`(a|each|the) break\b`), "mutant", "e2e/simulator/mutants", "each break is found"},
	{regexp.MustCompile(`(status|verdict)\.Wait\b`), "status.PostponedFor or verdict.Queue; replicas wait at the barrier", "kernel", "v.Course == verdict.Wait"},
	{regexp.MustCompile(`ledger\.Cause\b|\b[re]\.cause\b`), "countsAs; a cause is what a failure follows from", "kernel", "r.cause = ledger.Disruption"},
	{regexp.MustCompile(`\bUntold\b`), "AwaitingPhase", "kernel", "podstate.Untold"},
	{regexp.MustCompile(`\bMarksOf\b|podstate\.Marks\b`), "Numbers; a mark is an annotation", "kernel", "podstate.MarksOf(pod)"},
	{regexp.MustCompile(`\.Place\b|queue\.Places\b|\bplacesOf\b`), "index, quota or request; a pod is placed on a node", "kernel", "a.Place >= 0"},
	{regexp.MustCompile(`(told|asked) to go\b|askedToGo`), "told to stop; an order lets code go", "kernel/podstate", "code that is told to go"},
	{regexp.MustCompile(`(told|asked) to go( [^o]|[^ ]|$)|askedToGo`), "told to stop; an order lets code go", "controllers", "it was told to go."},
	{regexp.MustCompile(`\bending\.[A-Z]|package ending\b|\bEnding\b`), "podstate; what a pod means is its state", "kernel", "ending.Alive"},
	{regexp.MustCompile(`\b(ledger|kernel|w)\.Faults?\b|type Fault\b`), "NodeProblem; tests inject faults", "kernel", "w.Faults"},
	{regexp.MustCompile(`\bcalls\.Fault\b|type Fault|\bFaultError\b`), "RefusalTimer or DefinitionError; tests inject faults", "controllers", "calls.Fault"},
	{regexp.MustCompile(`func (\([^)]*\) )?[tT]ell[A-Z]\w*\(`), "report, print, log or signal", "kernel", "func (p *writer) tellEnd()"},
	{regexp.MustCompile(`func (\([^)]*\) )?[tT]ell([A-Z]\w*)?\(`), "report, print, log or signal", "controllers", "func tell(o Options)"},
	{regexp.MustCompile(`\b(Unb|B|b)lame\w*\(|chronicle`), "AddNodeFailure; a history is written as a historyDraft", "kernel", "draft.Blame(b)"},
	{regexp.MustCompile(`type consequence\b|\*consequence\b`), "ruling; a consequence is a failure that follows from another", "kernel", "c *consequence"},
	{regexp.MustCompile(`[vV]erdict`), "disagreement; a verdict is the kernel's", "e2e/drawn", "type verdict struct"},
	{regexp.MustCompile(`\bcourses?\b`), "schedule; a verdict has a course", "e2e/simulator", "the course of a life"},
	{regexp.MustCompile(`type obstacle\b|\*?obstacle\{`), "whyNot; an obstacle is what a job waits for", "controllers/definitions", "return &obstacle{}"},
	{regexp.MustCompile(`package report\b|kubectl-gj/report\b`), "page; a wrapper reports", "cmd/kubectl-gj", "package report"},
	{regexp.MustCompile(`\b(is|in|inAny|requireOut|Out)(In|Of)?Order\b`), "sorted, shuffled or misplaced; an order is what a pod is told", "kernel", "isInOrder(list)"},
	{regexp.MustCompile(`\br\.(observe|act)\(|\bobserve[A-Z]\w*\(|\.Act\(`), "gather, read or execute; Plan observes and acts", "controllers", "r.observe(ctx, job)"},
	{regexp.MustCompile(`kernel\.Gang\b`), "kernel.GangObjects; ledger.Gang is a group", "", "kernel.Gang{}"},
	{regexp.MustCompile(`\bScopes?\b|\b(a|the|each|in|all) scopes?\b`), "miniature; a restart has a scope", "e2e/simulator", "all lives of a scope"},
	{regexp.MustCompile(`refusal is silent`), "not told; who is silent does not answer", "e2e/simulator", "a refusal is silent"},
	{regexp.MustCompile(`// .*\bsays whether\b`), "reports whether", "", "// Ends says whether the job ends"},
}

// mayHave are files in which a word stands that is gone elsewhere. They read what earlier builds have stored or what training programs
// print, or they list the words.
var mayHave = []string{"kernel/earlier_test.go", "kernel/spec/progress.go", ".ci/tools/gone_test.go"}

func TestWordsThatAreGoneDoNotComeBack(t *testing.T) {
	files := map[string]string{}
	for _, file := range tracked(t) {
		if text, err := os.ReadFile(filepath.Join(root, file)); err == nil && (filepath.Ext(file) == ".go" || filepath.Ext(file) == ".md") {
			files[file] = string(text)
		}
	}
	for _, g := range gone {
		require.Regexp(t, g.words, g.example)
		require.DirExists(t, filepath.Join(root, g.folder))
		for file, text := range files {
			if strings.HasPrefix(file, g.folder) && !slices.Contains(mayHave, file) {
				assert.Empty(t, g.words.FindString(text), "%s: write %s", file, g.instead)
			}
		}
	}
}
