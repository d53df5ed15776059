package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The test binary is the program itself where a test starts it, and a busy loop where the program does.
func TestMain(m *testing.M) {
	if os.Getenv("AS_GOTEST") != "" || len(os.Args) == 2 && os.Args[1] == busyLoop {
		main()
		return
	}
	os.Exit(m.Run())
}

// patience is ten times what a busy machine needs.
const patience = 10 * time.Minute

// checkoutOf makes modules in a folder with a space. A test is named by its file, module/package, and given by its body.
func checkoutOf(t *testing.T, tests map[string]string) string {
	t.Helper()
	t.Setenv(assetsVariable, "")
	folder := filepath.Join(t.TempDir(), "a checkout")
	for name, body := range tests {
		module, pack := filepath.Dir(name), filepath.Base(name)
		last := strings.ReplaceAll(filepath.Base(module), ".", "root")
		put(t, filepath.Join(folder, module, "go.mod"), "module example.com/"+last+"\n\ngo 1.26\n")
		put(t, filepath.Join(folder, module, pack, "code.go"), "package "+pack+"\n")
		if body != "" {
			text := "package " + pack + "\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n\t\"syscall\"\n\t\"testing\"\n)\n\n" +
				"var _, _, _ = os.Exit, exec.Command, syscall.Kill\n\n" + body + "\n"
			put(t, filepath.Join(folder, module, pack, "code_test.go"), text)
		}
	}
	return folder
}

func put(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

const (
	passes = `func TestGood(t *testing.T) { t.Log("of no interest") }`
	fails  = `func TestBad(t *testing.T) { t.Run("one", func(t *testing.T) { t.Error("this is why") }) }`
	panics = `func TestPanics(t *testing.T) { go panic("in a goroutine"); select {} }`
	hangs  = `func TestHangs(t *testing.T) { select {} }`
)

// within are the options of a tiny checkout.
func within(checkout string) options {
	return options{checkout: checkout, timeout: patience, every: patience}
}

func TestWhatFailedIsToldInWholeAndNamedAtTheEnd(t *testing.T) {
	o := within(checkoutOf(t, map[string]string{
		"m/ok": passes, "m/bad": fails, "m/broken": `func TestNone(*testing.T) { undefined() }`, "m/none": "", "m/panics": panics,
		"m/dies": `func TestMain(*testing.M) { os.Exit(3) }`, "later/ok": passes,
	}))
	var out bytes.Buffer
	err := run(t.Context(), &out, o, []module{{folder: "m"}, {folder: "later"}})
	require.ErrorIs(t, err, errFailed)
	text := out.String()
	require.True(t, strings.HasPrefix(text, "This runs the tests of 7 packages in 2 modules, one module after another.\n"), text)
	require.Regexp(t, `(?m)^ok  \texample.com/m/ok\t\S+\t\(\d of 7\)$`, text)
	require.Regexp(t, `(?m)^\?   \texample.com/m/none\t\[no test files\]\t\(\d of 7\)$`, text)
	require.Regexp(t, `(?m)^FAIL\texample.com/m/broken \[build failed\]\t\(\d of 7\)$`, text)
	require.Regexp(t, `(?m)^ok  \texample.com/later/ok\t\S+\t\(7 of 7\)$`, text, "a failure ends nothing")
	require.NotContains(t, text, "of no interest")
	for _, why := range []string{"this is why", "undefined: undefined", "panic: in a goroutine"} {
		require.Contains(t, text, why)
	}
	_, summary, found := strings.Cut(text, "\nFAILED (module, package, tests), after 7 of 7 packages, ")
	require.True(t, found, text)
	for _, line := range []string{
		"  m\texample.com/m/bad\tTestBad/one\n", "  m\texample.com/m/broken\t(does not compile)\n", "  m\texample.com/m/dies\t(outside its tests)\n",
		"  m\texample.com/m/panics\tTestPanics (did not end)\n",
	} {
		require.Contains(t, summary, line)
	}
	require.Len(t, strings.Split(summary, "\n"), 6)
}

// The time ends all packages that have not ended: here there is no other, which might stall for as long.
func TestWhatHangsIsEndedAndNamed(t *testing.T) {
	o := within(checkoutOf(t, map[string]string{"m/hangs": hangs}))
	o.timeout = 3 * time.Second
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), &out, o, []module{{folder: "m"}}), errFailed)
	require.Contains(t, out.String(), "test timed out after 3s")
	require.Contains(t, out.String(), "\n  m\texample.com/m/hangs\tTestHangs (did not end)\n")
}

// tiny is a checkout with all modules of the real one. Its localcluster builds what its tests want.
func tiny(t *testing.T) string {
	t.Helper()
	wants := func(assets string) string {
		return fmt.Sprintf(`func TestAssets(t *testing.T) { if got := os.Getenv("%s"); got != "%s" { t.Fatal(got) } }`, assetsVariable, assets)
	}
	files := map[string]string{}
	for _, m := range modules {
		assets := ""
		if m.apiserver {
			assets = "/of programs"
		}
		files[m.folder+"/x"] = wants(assets)
	}
	folder := checkoutOf(t, files)
	put(t, filepath.Join(folder, "e2e/localcluster/main.go"), `package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	log, _ := os.OpenFile("built.txt", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	fmt.Fprintln(log, os.Args[1])
	for wait := os.Getenv("BUILD_UNTIL"); wait != ""; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(wait); err == nil {
			break
		}
	}
	fmt.Println("/of programs")
}
`)
	return folder
}

func TestAllModulesAreTestedInTheirOrderAndTheAssetsAreBuiltOnce(t *testing.T) {
	o := within(tiny(t))
	o.every = time.Millisecond
	told := filepath.Join(t.TempDir(), "told")
	t.Setenv("BUILD_UNTIL", told)
	out := listener{of: "now building etcd and kube-apiserver", then: func() { put(t, told, "") }}
	require.NoError(t, run(t.Context(), &out, o, modules), "%s", &out)
	text := out.String()
	at := 0
	for _, line := range []string{"/localcluster/x\t", "/extension/x\t", "/gitops/x\t", "/tools/x\t", "now building etcd and kube-apiserver", "/integrations/x\t", "/kubectl-gj/x\t", "/documents/x\t", "/root/x\t", "\nAll tests passed: 9 packages, "} {
		next := strings.Index(text[at:], line)
		require.GreaterOrEqual(t, next, 0, "%s\n%s", line, text)
		at += next
	}
	built, err := os.ReadFile(filepath.Join(o.checkout, "e2e/localcluster/built.txt"))
	require.NoError(t, err)
	require.Equal(t, "assets\n", string(built))
}

func TestWithoutAssetsTheModulesThatNeedThemFail(t *testing.T) {
	o := within(tiny(t))
	put(t, filepath.Join(o.checkout, "e2e/localcluster/main.go"), "package main\n\nfunc main() { panic(1) }\n")
	var out bytes.Buffer
	require.ErrorIs(t, run(t.Context(), &out, o, modules), errFailed)
	require.Contains(t, out.String(), "ok  \texample.com/tools/x\t")
	_, summary, found := strings.Cut(out.String(), "\nFAILED ")
	require.True(t, found)
	for _, folder := range []string{"cmd/kubectl-gj", "e2e/documents", "."} {
		require.Contains(t, summary, "\n  "+folder+"\t\tbuild etcd and kube-apiserver: exit status ")
	}
}

func TestWhatCannotBeRunIsRefused(t *testing.T) {
	o := within(checkoutOf(t, map[string]string{"m/ok": passes}))
	o.packages = "nowhere"
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, o, []module{{folder: "m"}}), `-packages: no package of 1 modules matches "nowhere"`)
	o.packages = "("
	require.ErrorContains(t, run(t.Context(), &bytes.Buffer{}, o, []module{{folder: "m"}}), "-packages: ")
	o.packages = ""
	put(t, filepath.Join(o.checkout, "m/go.mod"), "modul")
	err := run(t.Context(), &bytes.Buffer{}, o, []module{{folder: "m"}})
	require.ErrorContains(t, err, "list the packages of module m")
	require.ErrorContains(t, err, "unknown directive: modul")
}

// A newcomer's machine has none of the modules.
func TestTheListNeedsNoDownload(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("GOMODCACHE", cache)
	found, err := list(t.Context(), "../../..", modules, regexp.MustCompile(""))
	require.NoError(t, err)
	require.Len(t, found, len(modules))
	left, err := filepath.Glob(filepath.Join(cache, "*.*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// A module that is not in the list is one whose tests nobody runs.
func TestEveryModuleWithTestsIsInTheList(t *testing.T) {
	text, err := exec.CommandContext(t.Context(), "git", "-C", "../../..", "ls-files", "--cached", "--others", "--exclude-standard", "*_test.go").Output()
	require.NoError(t, err)
	var want, have []string
	for file := range strings.Lines(string(text)) {
		folder := filepath.Dir(strings.TrimSpace(file))
		for folder != "." && !exists(filepath.Join("../../..", folder, "go.mod")) {
			folder = filepath.Dir(folder)
		}
		want = append(want, folder)
	}
	slices.Sort(want)
	for _, m := range modules {
		have = append(have, m.folder)
	}
	require.ElementsMatch(t, slices.Compact(want), have)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
