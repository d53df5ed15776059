package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// life is a job of which a transcript is made.
type life struct {
	*space
	name, kind string // of the job; the kind is kubectl's short name
	want, got  string
}

// born applies the manifest and waits for the GenericJob that comes of it.
func (l *life) born() *v1beta1.GenericJob {
	l.t.Helper()
	l.types("apply", "-f", l.name+".yaml")
	l.until("the GenericJob "+l.name, func() bool {
		return l.Get(l.ctx, client.ObjectKey{Namespace: l.ns, Name: l.name}, &v1beta1.GenericJob{}) == nil
	})
	return l.job(l.name)
}

func (l *life) awaitRestarts(n int32) {
	l.t.Helper()
	l.await(l.name, fmt.Sprintf("%d restarts", n), func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount == n })
}

// happens writes down what the test does.
func (l *life) happens(what string) { l.got += "# " + what + "\n\n" }

// types runs a command and writes down what it answers, which may be that it is refused.
func (l *life) types(args ...string) {
	shown := strings.Join(quoted(args), " ")
	if i := len(args) - 1; args[0] == "apply" {
		args[i] = filepath.Join("testdata", "lives", args[i])
	}
	text, _ := l.kubectl(args...)
	l.got += "$ kubectl " + shown + "\n" + l.same(strings.TrimSpace(text)) + "\n\n"
}

func (l *life) pause(on bool) {
	l.t.Helper()
	l.types("patch", l.kind, l.name, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"runMode":{"pause":{"enabled":%v}}}}`, on))
}

// edit changes a field of the first container of the first type.
func (l *life) edit(field, value string) {
	l.t.Helper()
	l.types("patch", l.kind, l.name, "--type=json", "--patch", fmt.Sprintf(
		`[{"op":"replace","path":"/spec/replicaSpecs/0/template/spec/containers/0/%s","value":%q}]`, field, value))
}

func quoted(args []string) []string {
	var out []string
	for _, arg := range args {
		if strings.ContainsAny(arg, `"$`) {
			arg = "'" + arg + "'"
		}
		out = append(out, arg)
	}
	return out
}

// settled is how long a view stays as it is before it is taken for the one to show. It decides nothing if the view is as wanted.
const settled = 6 * time.Second

// look writes down what kubectl shows, once that is what the golden file has here, or does not change any more. Counts and rows may
// follow a second after what the caller has waited for. A training job follows its GenericJob.
func (l *life) look(moment string) {
	l.t.Helper()
	var page string
	since := time.Now()
	l.until("kubectl shows the same for a while: "+moment, func() bool {
		now := l.page(moment)
		if now != page {
			page, since = now, time.Now()
		}
		return strings.HasPrefix(l.want, l.got+page) || time.Since(since) > settled
	})
	l.got += page
}

// page is what kubectl shows now.
func (l *life) page(moment string) string {
	l.t.Helper()
	out := "## " + moment + "\n\n"
	for _, command := range []struct {
		view func(string) string
		args []string
	}{
		{l.list, []string{"get", "gj,pj,tj", "-o", "wide"}},
		{l.description, []string{"describe", l.kind, l.name}},
		{l.events, []string{"events"}},
	} {
		text, err := l.kubectl(command.args...)
		require.NoError(l.t, err, text)
		out += "$ kubectl " + strings.Join(command.args, " ") + "\n" + command.view(text) + "\n"
	}
	return out
}

func (l *life) file() string { return filepath.Join("testdata", "lives", l.name+".golden") }

// read reads the golden file; to rewrite it, it takes none.
func (l *life) read() {
	l.t.Helper()
	if *update {
		return
	}
	want, err := os.ReadFile(l.file())
	require.NoError(l.t, err)
	l.want = string(want)
}

func (l *life) compare() {
	l.t.Helper()
	got := strings.TrimSpace(l.got) + "\n"
	if *update {
		require.NoError(l.t, os.WriteFile(l.file(), []byte(got), 0o644))
		return
	}
	require.Equal(l.t, l.want, got)
}
