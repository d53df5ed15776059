package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tests that e2e/suite/schedulers.md names by a letter: in which list of which file their names stand, as that begins.
var schedulerTests = map[string]struct {
	file, list string
	name       *regexp.Regexp
}{
	"T/*": {"e2e/suite/schedulers_test.go", "var gangSchedulers ", regexp.MustCompile(`^\t\{"([a-z]+)", "`)},
	"T//": {"e2e/suite/schedulers_test.go", "var gangTests ", regexp.MustCompile(`^\t\{"([a-z]+)", [a-z]`)},
	"K/":  {"e2e/suite/kueue_test.go", "var kueueTests ", regexp.MustCompile(`^\t\{"([a-z ]+)", `)},
	"P/":  {"controllers/gang_providers_test.go", "var providers ", regexp.MustCompile(`^\t"([a-z]+)": \{$`)},
}

// beside are tests that stand in no list, by the words that run them.
var beside = map[string]string{"T/none/deadlock": `t.Run("none/deadlock", `, "K/document": `t.Run("document", `}

// TestWhatWorksWithWhichSchedulerIsTested finds each test that the table of schedulers names, and each test in the table.
func TestWhatWorksWithWhichSchedulerIsTested(t *testing.T) {
	var want []string
	for _, scheduler := range namesOf(t, "T/*") {
		want = append(want, "T/"+scheduler)
		for _, test := range namesOf(t, "T//") {
			want = append(want, "T/"+scheduler+"/"+test)
		}
	}
	for _, letter := range []string{"K/", "P/"} {
		for _, name := range namesOf(t, letter) {
			want = append(want, letter+strings.ReplaceAll(name, " ", "_"))
		}
	}
	suite, err := os.ReadFile(filepath.Join(root, "e2e/suite/schedulers_test.go"))
	require.NoError(t, err)
	kueue, err := os.ReadFile(filepath.Join(root, "e2e/suite/kueue_test.go"))
	require.NoError(t, err)
	for name, words := range beside {
		require.Contains(t, string(suite)+string(kueue), words)
		want = append(want, name)
	}
	document, err := os.ReadFile(filepath.Join(root, "e2e/suite/schedulers.md"))
	require.NoError(t, err)
	var have []string
	for _, named := range regexp.MustCompile("`([TKP]/[a-z_/]+)`").FindAllStringSubmatch(string(document), -1) {
		have = append(have, named[1])
	}
	slices.Sort(have)
	slices.Sort(want)
	require.Equal(t, want, slices.Compact(have))
}

// namesOf are the names in a list of tests.
func namesOf(t *testing.T, key string) (names []string) {
	t.Helper()
	of := schedulerTests[key]
	raw, err := os.ReadFile(filepath.Join(root, of.file))
	require.NoError(t, err)
	_, list, found := strings.Cut(string(raw), "\n"+of.list)
	require.True(t, found, "%s has no %s", of.file, of.list)
	list, _, _ = strings.Cut(list, "\n}\n")
	for line := range strings.SplitSeq(list, "\n") {
		if m := of.name.FindStringSubmatch(line); m != nil {
			names = append(names, m[1])
		}
	}
	require.NotEmpty(t, names, "%s in %s", of.list, of.file)
	return names
}
