package documents

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tryMake has make say what it would do, tries the go commands in that, and looks for a script or test that runs the target.
func tryMake(t *testing.T, command string) {
	t.Helper()
	dry := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(command, "make", "make --dry-run --no-print-directory", 1))
	dry.Dir = root
	text, err := dry.CombinedOutput()
	require.NoError(t, err, "%s", text)
	for _, line := range strings.Split(string(text), "\n") {
		for _, goes := range goCommands(cd.ReplaceAllString(line, "go -C $1 ")) {
			tryGo(t, goes)
		}
	}
	target := strings.Fields(command)[1]
	if byHand[target] {
		return
	}
	runs := exec.CommandContext(t.Context(), "git", "-C", root, "grep", "--untracked", "-lwE", `(make|\$\(MAKE\))([" ,]+--silent)?[" ,]+([a-z0-9-]+ )*`+target, "--", ":!*.md")
	text, err = runs.CombinedOutput()
	require.NoError(t, err, "no script, workflow or test runs make %s: %s", target, text)
}

// byHand are the targets that people run: all but two take a quarter of an hour or more.
var byHand = map[string]bool{"help": true, "sbom": true, "bench": true, "attack": true, "demo": true, "day": true, "e2e": true, "e2e-schedulers": true, "bench-inplace": true}

var (
	// parts are the commands of a line, and words are theirs.
	parts   = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^|;&()'"])+`)
	words   = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
	cd      = regexp.MustCompile(`^cd (\S+) && go `)
	goWord  = regexp.MustCompile(`(?:^|\s)go (-C |test |run |build )`)
	verb    = regexp.MustCompile(`^[a-z]+$`)
	unquote = strings.NewReplacer(`'`, "", `"`, "", "<framework>", "pytorch")
)

// goCommands are the go commands in a line.
func goCommands(line string) (found []string) {
	line, _, _ = strings.Cut(line, " # ")
	for _, part := range parts.FindAllString(line, -1) {
		if at := goWord.FindStringIndex(part); at != nil {
			found = append(found, strings.TrimSpace(part[at[0]:]))
		}
	}
	return found
}

// goFlags are those of the go command and of all tests, and whether a value follows them as a word of its own.
var goFlags = map[string]bool{"count": false, "v": false, "race": false, "run": true, "fuzz": true, "timeout": true, "parallel": true, "trimpath": false, "ldflags": true, "o": true, "buildvcs": false}

// tryGo finds what a go command would run: the packages, and in them the tests, the flags and the verb that it names.
func tryGo(t *testing.T, command string) {
	t.Helper()
	var args []string
	for _, word := range words.FindAllString(command, -1)[1:] {
		args = append(args, unquote.Replace(word))
	}
	folder := root
	if args[0] == "-C" {
		folder, args = filepath.Join(root, args[1]), args[2:]
	}
	at := slices.IndexFunc(args, func(w string) bool { return strings.HasPrefix(w, ".") })
	require.Positive(t, at, "%s names no package", command)
	code, all := goCode(t, filepath.Join(folder, args[at])), ""
	if own := args[at+1:]; args[0] == "run" {
		if len(own) > 0 && verb.MatchString(own[0]) {
			require.Contains(t, goCode(t, folder+"/..."), `"`+own[0]+`"`, "%s: %s", command, own[0])
		}
		all, args = code, own
	}
	for i := 0; i < len(args); i++ {
		flag, value, has := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		takes, known := goFlags[flag]
		switch {
		case !strings.HasPrefix(args[i], "-"), known && all == "" && flag != "run" && flag != "fuzz":
			i += map[bool]int{true: 1}[takes && !has && known]
		case known && all == "":
			if !has {
				i++
				value = args[i]
			}
			requireTests(t, code, value, command)
		default:
			require.Contains(t, goCode(t, folder+"/..."), `"`+flag+`"`, "%s: -%s", command, flag)
		}
	}
}

// requireTests requires that there is a test for each alternative of a pattern.
func requireTests(t *testing.T, code, pattern, command string) {
	t.Helper()
	pattern, _, _ = strings.Cut(pattern, "/")
	for _, one := range strings.Split(pattern, "|") {
		require.Regexp(t, `func \w*`+strings.Trim(one, "$^")+`\w*\([tfb] `, code, command)
	}
}

// goCode is the code of a package, or of all below a folder.
func goCode(t *testing.T, pattern string) string {
	t.Helper()
	top, all := strings.CutSuffix(pattern, "...")
	top = filepath.Clean(top)
	var code strings.Builder
	require.NoError(t, filepath.WalkDir(top, func(file string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (file != top && !all || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if filepath.Ext(file) == ".go" {
			raw, err := os.ReadFile(file)
			code.Write(raw)
			return err
		}
		return nil
	}))
	require.NotEmpty(t, code.String(), "%s has no Go code", pattern)
	return code.String()
}
