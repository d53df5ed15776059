package simulator

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// place is where the simulator shows a state, as the column "simulated" names it.
var place = regexp.MustCompile("`([a-z]+\\.go): ([A-Za-z]+)`")

// The table of what a kubelet shows names functions that there are, or says why a state is left out.
func TestTheTableOfStatesNamesWhatShowsThem(t *testing.T) {
	text, err := os.ReadFile("KUBELET.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, " | ")
		if len(cells) < 5 || cells[0] == "| what it shows" || strings.HasPrefix(cells[0], "|---") {
			continue
		}
		is := place.FindStringSubmatch(cells[2])
		if is == nil {
			require.True(t, cells[2] == "" || strings.HasPrefix(cells[2], "left out: "), line)
			continue
		}
		source, err := os.ReadFile(is[1])
		require.NoError(t, err, line)
		named := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?` + is[2] + `\(|\t` + is[2] + ` )`) // a function or a field
		require.Regexp(t, named, string(source), "%s has no %s", is[1], is[2])
		rows++
	}
	require.Greater(t, rows, 50)
}
