package tools_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// write makes a folder of these files.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, content := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(folder, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return folder
}

// A check that finds nothing when there is something, or when it could not look, is worse than none.
func TestAKnownVulnerabilityThatIsCalledFailsTheCheck(t *testing.T) {
	const caught = `{"schema_version":"1.3.1","id":"GO-0000-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",
		"summary":"made up by a test","details":"made up by a test","affected":[{"package":{"name":"stdlib","ecosystem":"Go"},
		"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],
		"ecosystem_specific":{"imports":[{"path":"text/tabwriter","symbols":["NewWriter"]}]}}],
		"database_specific":{"url":"https://pkg.go.dev/vuln/GO-0000-0001"}}`
	const one = `{"id":"GO-0000-0001","modified":"2026-01-01T00:00:00Z"}`
	database := write(t, map[string]string{
		"index/db.json": `{"modified":"2026-01-01T00:00:00Z"}`, "index/modules.json": `[{"path":"stdlib","vulns":[` + one + `]}]`,
		"index/vulns.json": "[" + one + "]", "ID/GO-0000-0001.json": caught,
	})
	const module = "module example.com/x\n\ngo 1.26\n"
	program := func(body string) string {
		return write(t, map[string]string{"go.mod": module, "main.go": "package main\n\nimport (\n\t\"os\"\n\t\"text/tabwriter\"\n)\n\nfunc main() {" + body + "}\n"})
	}
	calls := program("_ = tabwriter.NewWriter(os.Stdout, 0, 0, 0, ' ', 0).Flush()")
	does := program("var w tabwriter.Writer; _, _ = w.Write(nil); os.Exit(0)")
	for name, tc := range map[string]struct {
		database string
		args     []string
		code     int
		says     string
	}{
		"called":                     {"file://" + database, []string{calls}, 3, "GO-0000-0001"},
		"called, may be offline":     {"file://" + database, []string{"--may-be-offline", calls}, 3, "GO-0000-0001"},
		"imported, but not called":   {"file://" + database, []string{does}, 0, "0 vulnerabilities"},
		"no database":                {"http://127.0.0.1:1", []string{does}, 1, "vulndb"},
		"no database, as was feared": {"http://127.0.0.1:1", []string{"--may-be-offline", does}, 0, "NOT CHECKED"},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), filepath.Join(root, ".ci/vulncheck"), tc.args...)
			command.Env = append(os.Environ(), "GOVULNDB="+tc.database)
			text, _ := command.CombinedOutput()
			require.Equal(t, tc.code, command.ProcessState.ExitCode(), string(text))
			require.Contains(t, string(text), tc.says)
		})
	}
}
