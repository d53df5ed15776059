package tools_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// mostPaths is how many files a line of a recipe names. A reader ticks off lines.
const mostPaths = 3

// recipesByHeading are the recipes of the section, by their headings.
func recipesByHeading(section string) map[string]string {
	recipes := map[string]string{}
	for _, recipe := range strings.Split(section, "\n### ")[1:] {
		heading, text, _ := strings.Cut(recipe, "\n")
		recipes[heading] = text
	}
	return recipes
}

// beginsList matches where the list of a recipe begins.
var beginsList = regexp.MustCompile(`(?m)^(\d+\.|-) `)

// listOf returns the list of a recipe, without the words before it.
func listOf(recipe string) string {
	if at := beginsList.FindStringIndex(recipe); at != nil {
		return recipe[at[0]:]
	}
	return ""
}

// mistakesOfRecipe are lines of a recipe that nobody can tick off, and marks that do not say who tells.
func mistakesOfRecipe(recipe string) (mistakes []string) {
	for line := range strings.Lines(listOf(recipe)) {
		paths := 0
		for _, match := range quoted.FindAllStringSubmatch(line, -1) {
			if isPath.MatchString(match[1]) {
				paths++
			}
		}
		isItem := regexp.MustCompile(`^(\d+\.|\s*-) `).MatchString(line)
		marked := regexp.MustCompile(`^\s*- ✓ `).MatchString(line)
		saysWho := strings.Contains(line, ". Told by ")
		if strings.TrimSpace(line) != "" && (!isItem || marked != saysWho || !marked && paths > mostPaths) {
			mistakes = append(mistakes, strings.TrimSpace(line))
		}
	}
	return mistakes
}

func TestRecipesAreListsThatSayWhoTells(t *testing.T) {
	recipes := section(t, contributing(t), "Recipes")
	list := recipesByHeading(recipes)
	require.Greater(t, len(list), 10)
	for heading, recipe := range list {
		assert.NotEmpty(t, listOf(recipe), heading)
		assert.Empty(t, mistakesOfRecipe(recipe), heading)
		assert.Contains(t, contributing(t), "](#"+anchorOf(heading)+")", "nobody finds the recipe")
	}
	require.Greater(t, strings.Count(recipes, "- ✓ "), 20)
}

func TestAStepThatIsProseIsFound(t *testing.T) {
	recipe := "See `a/b.go`.\n\n1. One:\n   - `a/b.go` and `a/c.go`.\n   - ✓ `a/b.go`. Told by `make lint`.\n"
	require.Empty(t, mistakesOfRecipe(recipe))
	for _, wrong := range []string{"- `a/b.go`, `a/c.go`, `a/d.go`, `a/e.go`.", "- ✓ `a/b.go`.", "- `a/b.go`. Told by `make lint`.", "and `a/b.go`."} {
		require.Equal(t, []string{wrong}, mistakesOfRecipe(recipe+"   "+wrong+"\n"))
	}
}

// followed are recipes that contributors have followed before. The word finds the files that know what was made then. The name stands where the
// recipe has any name. Where a recipe has to say which tests or lists know all of a sort, this finds those that it forgets. With code, the
// recipe has to name code alone: its tests and documents are those of the feature. The table of where things go may name the code of the behaviour.
var followed = []struct {
	recipe, name, word string
	code               bool
}{
	{"A gang scheduler", "kai", `\b(KAI|kai)\b|kaiGang`, false},
	{"A gang scheduler", "coscheduling", `\b[cC]oscheduling\b`, false},
	{"A Kubeflow kind", "xgboostjob", `(?i)xgboostjob`, false},
	{"A Kubeflow kind", "paddlejob", `(?i)paddlejob`, false},
	{"A rule of Plan", "successUnreachable", `[sS]uccessUnreachable`, true},
	{"A rule of Plan", "gangIsUnavailable", `GangUnavailable|gangIsUnavailable`, true},
	{"A state of a pod, or a restart reason", "exceptedCount", `[eE]xceptedCount\b|ledger\.Excepted\b`, true},
	{"A kind of cause", "DeviceOutOfMemory", `CauseDeviceOutOfMemory|\{DeviceOutOfMemory\b|\bDeviceOutOfMemory\s+=`, true},
	{"An action of the failure policy", "Restart", `FailureAction(Fail|Restart)\b`, true},
	{"A condition or an event", "Stalled", `ConditionStalled\b`, true},
	{"A condition or an event", "ReplicaFailure", `ConditionReplicaFailure\b`, true},
	{"A condition or an event", "NodeNotAvoided", `ReasonNodeNotAvoided\b`, true},
	{"A condition or an event", "RanksUnordered", `ReasonRanksUnordered\b`, true},
	{"A condition or an event", "HostNameReplaced", `ReasonHostNameReplaced\b`, true},
	{"A flag of the operator", "node-lost-after", `node-lost-after|NodeLostAfter\b`, true},
	{"A flag of the operator", "avoid-nodes-across-jobs", `avoid-nodes-across-jobs|[aA]crossJobs\b`, true},
	{"A flag of the operator", "avoid-node-conditions", `avoid-node-conditions|setNodeConditions`, true},
	{"A flag of the operator", "mpi-keys", `mpi-keys|mpiKeys`, true},
	{"A field of GenericJob", "inPlaceLimit", `[iI]nPlaceLimit\b|in_place_limit`, true},
	{"A field of the status", "recovery", `\.Recovery\b|Recovery \*Recovery`, true},
	{"A field of all training kinds", "stopTogether", `[sS]topTogether\b|stop_together`, true},
	{"A verb of kubectl gj", "sync", `gj sync\b|sync JOB|p\.sync\b`, true},
	{"A verb of kubectl gj", "wait", `gj wait\b|wait JOB|p\.wait\b`, true},
}

// madeByOthers are files that nobody edits for a recipe: generated ones, goldens, what tests read, and what tells of the past.
var madeByOthers = regexp.MustCompile(`zz_generated|^apis/README\.md$|/crd/.*_.*\.yaml$|/crd\.yaml$|/testdata/|^e2e/peers/pods/|^(CHANGELOG|CONTRIBUTING|DECISIONS)\.md$|^\.ci/tools/recipes_test\.go$`)

// noCode are tests, and documents.
var noCode = regexp.MustCompile(`_test\.go$|/tests/|\.md$`)

// knowing are the files that have a word, of those that somebody edits for a recipe.
func knowing(t *testing.T, word string, code bool) (files []string) {
	t.Helper()
	knows := regexp.MustCompile(word)
	for _, file := range tracked(t) {
		if madeByOthers.MatchString(file) || code && noCode.MatchString(file) {
			continue
		}
		if raw, err := os.ReadFile(filepath.Join(root, file)); err == nil && knows.Match(raw) { // a folder that is linked, or a file that is deleted, cannot be read
			files = append(files, file)
		}
	}
	return files
}

func TestRecipesNameEachFileThatKnowsWhatTheyMake(t *testing.T) {
	recipes, places := section(t, contributing(t), "Recipes"), section(t, contributing(t), "Where things go")
	shared, _, _ := strings.Cut(recipes, "\n### ")
	byHeading := recipesByHeading(recipes)
	for _, f := range followed {
		text := byHeading[f.recipe]
		require.NotEmpty(t, text, "no recipe %q", f.recipe)
		for _, m := range regexp.MustCompile(`[fF]ollow \[(.+?)\]\(#`).FindAllStringSubmatch(text, -1) {
			text += byHeading[m[1]] // "" if it has another name there
		}
		if f.code {
			text += shared + places
		}
		named := map[string]bool{}
		for _, match := range quoted.FindAllStringSubmatch(text, -1) {
			named[anything.ReplaceAllString(match[1], f.name)] = true
		}
		files := knowing(t, f.word, f.code)
		for _, file := range files {
			assert.True(t, named[file] || named[path.Dir(file)], "%s knows %s: the recipe %q does not name it", file, f.name, f.recipe)
		}
		assert.Greater(t, len(files), 1, f.name)
	}
}

// isConditional matches a line of a recipe that is for some cases alone, or for which a check asks. IsExample matches a file that shows how it is
// done, or that takes the place of another.
var (
	isConditional = regexp.MustCompile(`^\s*- (✓|If) `)
	isExample     = regexp.MustCompile("\\b([aA]s|or) `[^`]+`")
	isStep        = regexp.MustCompile(`(?m)^\d+\. `)
)

// unconditional are the files of the checkout that a recipe tells everybody to edit.
func unconditional(files []string, recipe string) (named []string) {
	for _, step := range isStep.Split(listOf(recipe), -1) {
		if strings.HasPrefix(step, "If ") {
			continue
		}
		for line := range strings.Lines(step) {
			if isConditional.MatchString(line) {
				continue
			}
			for _, match := range quoted.FindAllStringSubmatch(isExample.ReplaceAllString(line, ""), -1) {
				if name := match[1]; isPath.MatchString(name) && !notOfTheCheckout.MatchString(name) && !madeByOthers.MatchString(name+"/") && isThere(files, name) {
					named = append(named, name)
				}
			}
		}
	}
	return named
}

// A line that helped nobody who followed the recipe sends the next one to a file in which there is nothing to do.
func TestRecipesNameNoFileThatKnowsNothingOfWhatTheyMake(t *testing.T) {
	files, recipes := tracked(t), recipesByHeading(section(t, contributing(t), "Recipes"))
	known := map[string][]string{} // files, by recipe
	for _, f := range followed {
		if !f.code {
			known[f.recipe] = append(known[f.recipe], knowing(t, f.word, false)...)
		}
	}
	require.NotEmpty(t, known)
	for recipe, knowing := range known {
		names := unconditional(files, recipes[recipe])
		require.Greater(t, len(names), 10)
		for _, name := range names {
			assert.True(t, isThere(knowing, name), "%s knows nothing of what the recipe %q has made before: strike it, or begin its line with If", name, recipe)
		}
	}
}

func TestWhatIsForSomeCasesIsNoFileForAll(t *testing.T) {
	files := []string{"a/all.go", "a/some.go", "a/example.go", "a/told_test.go"}
	recipe := "See `a/some.go`.\n\n1. One:\n   - `a/all.go`, as `a/example.go`.\n   - If so: `a/some.go`.\n   - ✓ `a/some.go`. Told by `a/told_test.go`.\n2. If so:\n   - `a/some.go`.\n"
	require.Equal(t, []string{"a/all.go"}, unconditional(files, recipe))
}

func TestAFileThatIsGoneIsMissed(t *testing.T) {
	files := []string{"kernel/build/gang_volcano.go", "deploy/crd/a.yaml"}
	for name, want := range map[string]bool{
		"kernel/build/gang_volcano.go": true, "kernel/build": true, "kernel/build/gang_<name>.go": true, "gang_volcano.go": true, "deploy/crd/": true,
		"kernel/build/gang_kai.go": false, "build/gang_volcano.go": false, "kernel/<name>.go": false, "gang.go": false,
	} {
		require.Equal(t, want, isThere(files, name), name)
	}
}
