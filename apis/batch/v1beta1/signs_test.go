package v1beta1_test

import (
	"strings"
	"testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func beats(h v1beta1.Heartbeat) edit {
	return spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &h })
}

func TestHeartbeat(t *testing.T) {
	line := func(text string) edit { return beats(v1beta1.Heartbeat{Stdout: text}) }
	file := func(name string) edit { return beats(v1beta1.Heartbeat{File: name}) }
	after := func(startup, steady int32) edit {
		return beats(v1beta1.Heartbeat{File: "/beat", StartupSeconds: &startup, SteadySeconds: &steady})
	}
	together := func(scope v1beta1.RestartScope) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.StopTogether, s.RestartScope = true, scope })
	}
	tryRules(t, job, map[string]ruleCase{
		"it is of one kind":          {line("x"), beats(v1beta1.Heartbeat{Stdout: "x", File: "/x"}), []string{"spec.heartbeat", "both file and stdout are set"}},
		"it is of some kind":         {file("/x"), beats(v1beta1.Heartbeat{}), []string{"spec.heartbeat", "neither file nor stdout is set"}},
		"a file has a path":          {file("/tmp/beat"), file("beat"), []string{"spec.heartbeat.file"}},
		"a line is a regexp":         {line(`step (?P<step>\d+) loss=(?P<loss>\S+)$`), line("step ("), []string{"spec.heartbeat.stdout", "RE2"}},
		"a regexp is RE2's":          {line("(?i)step"), line("(?=step)"), []string{"spec.heartbeat.stdout", "RE2"}},
		"a regexp is short":          {line(strings.Repeat("x", 256)), line(strings.Repeat("x", 257)), []string{"spec.heartbeat.stdout", "256"}},
		"a start takes time":         {after(1, 1), after(0, 1), atLeast("spec.heartbeat.startupSeconds", 1)},
		"a step takes time":          {after(1, 1), after(1, 0), atLeast("spec.heartbeat.steadySeconds", 1)},
		"all stop who start at once": {together("Job"), together("Replica"), []string{"spec.stopTogether", "set restartScope to Job, or remove stopTogether"}},
		"... by default they do not": {together("Job"), together(""), []string{"spec.stopTogether"}},
	})
}

func TestEditsOfSigns(t *testing.T) {
	tryWaiting(t, job, map[string]waiting[*v1beta1.GenericJob]{
		"a heartbeat": {beats(v1beta1.Heartbeat{File: "/x"}), "heartbeat is immutable unless the job is paused: set spec.runMode.pause.enabled"},
	})
	all := func(edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
		return job(append(edits, spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = v1beta1.RestartScopeJob }))...)
	}
	tryFree(t, all, map[string]edit{"stopping together": spec(func(s *v1beta1.GenericJobSpec) { s.StopTogether = true })})
}
