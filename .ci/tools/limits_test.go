package tools_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Go's own limit of ten minutes ends what is only slow: a cold build, or a busy machine. Ours end what hangs. Zero is for what its
// arguments bound.
func TestTheLimitsOfTestsAreThoseOfWhatHangs(t *testing.T) {
	runs := regexp.MustCompile(`\bgo (-C \S+ )?test .*`)
	limit := regexp.MustCompile(`-timeout (\S+)`)
	files, err := run(t, root, "git", "grep", "-lE", `\bgo (-C \S+ )?test `, "--", "Makefile", ".ci/[a-z]*", "e2e/[a-z]*", ":!*.go", ":!*.md", ":!.ci/tools", ":!e2e/*/*")
	require.NoError(t, err)
	require.Contains(t, strings.Fields(files), "Makefile")
	for _, file := range strings.Fields(files) {
		for _, line := range strings.Split(read(t, file), "\n") {
			command := runs.FindString(line)
			if command == "" || strings.HasPrefix(line, "#") {
				continue
			}
			named := limit.FindStringSubmatch(command)
			require.NotNil(t, named, "%s: %s has no -timeout", file, command)
			minutes, err := time.ParseDuration(named[1])
			require.NoError(t, err, command)
			require.True(t, minutes == 0 || minutes >= time.Hour, "%s: %s", file, command)
		}
	}
}
