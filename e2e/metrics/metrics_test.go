package metrics

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

func (r *run) monitoring(name string) string {
	return filepath.Join(r.root, "deploy", "monitoring", name)
}

// leaders are those that lead and live.
const leaders = `sum(leader_election_master_status{name="genericjob.batch.tensorstack.dev"} and on (instance) up == 1)`

// tell is how many tell of jobs.
const tell = "count(count by (instance) (genericjob_jobs))"

func TestMonitoring(t *testing.T) {
	r := newRun(t)
	r.do(exec.Command(r.promtool, "check", "rules", "--lint=all", "--lint-fatal", r.monitoring("rules.yaml")))
	r.do(exec.Command(r.promtool, "test", "rules", r.monitoring("rules_test.yaml")))
	first, second := r.operate("first"), r.operate("second")
	r.scrape(first, second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go r.playKubelets(ctx)
	r.forbidPods()
	r.until("one leads", func() bool { return r.value(leaders) == 1 })
	r.live("a")
	r.agrees()
	require.InDelta(t, 1, r.value(tell), 0, "who leads tells of jobs, and nobody else")

	leader, other := first, second
	if r.value(`leader_election_master_status{instance="`+second.address+`"}`) == 1 {
		leader, other = second, first
	}
	leader.kill()
	r.until("the other leads", func() bool {
		return r.value("up{instance=\""+leader.address+"\"}") == 0 && r.value(leaders) == 1 && r.value(tell) == 1
	})
	r.live("b")
	r.agrees()

	r.lint(other)
	r.jobByJob()
	r.dashboard()
	r.alerts()
	r.quiet(other)
}

// lint has promtool look at what the operator tells of its own.
func (r *run) lint(o *process) {
	r.t.Helper()
	var ours []string
	for _, line := range strings.Split(r.text(o), "\n") {
		if strings.Contains(line, "genericjob_") {
			ours = append(ours, line)
		}
	}
	require.NotEmpty(r.t, ours)
	check := exec.Command(r.promtool, "check", "metrics", "--extended")
	check.Stdin = strings.NewReader(strings.Join(ours, "\n") + "\n")
	r.t.Logf("promtool check metrics:\n%s", r.do(check))
}

// dashboard asks each query of each panel, of which all must have data, and draws them if that is wanted.
func (r *run) dashboard() {
	r.t.Helper()
	text, err := os.ReadFile(r.monitoring("dashboard.json"))
	require.NoError(r.t, err)
	var d struct{ Panels []panel }
	require.NoError(r.t, json.Unmarshal(text, &d))
	require.NotEmpty(r.t, d.Panels)
	for i := range d.Panels {
		p := &d.Panels[i]
		for j := range p.Targets {
			target := &p.Targets[j]
			query := strings.NewReplacer("$__rate_interval", "10s", "$kind", ".*").Replace(target.Expr)
			target.found, err = r.over(query)
			require.NoError(r.t, err, "%s: %s", p.Title, query)
			require.True(r.t, slices.ContainsFunc(target.found, hasData), "%s: %s finds nothing", p.Title, query)
		}
	}
	if *update {
		require.NoError(r.t, os.WriteFile(r.monitoring("dashboard.svg"), draw(d.Panels), 0o644))
	}
}

func hasData(s series) bool {
	return slices.ContainsFunc(s.Values, func(v [2]any) bool { return !math.IsNaN(number(v[1])) })
}

// limits are the limits of alerts, and others that this run goes over.
var limits = strings.NewReplacer("> 900", "> 1", "> 7200", "> 1", "> 20", "> 0", "> 2 *", ">= 0 *", "> 5", "> 0", "> 0.1 *", ">= 0 *", "> 0.2 *", ">= 0 *", "== 0", ">= 0", ">= 3", ">= 0",
	"> 0", ">= 0", "> 1", ">= 1")

// alerts asks the expression of each alert, as it is and with a limit that this run goes over.
func (r *run) alerts() {
	r.t.Helper()
	text, err := os.ReadFile(r.monitoring("rules.yaml"))
	require.NoError(r.t, err)
	var rules struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(r.t, yaml.Unmarshal(text, &rules))
	for _, alert := range rules.Groups[0].Rules {
		_, err := r.at(alert.Expr, time.Now())
		require.NoError(r.t, err, alert.Alert)
		at := time.Now()
		if strings.HasPrefix(alert.Expr, "absent") {
			at = r.begin.Add(-time.Hour)
		}
		found, err := r.at(limits.Replace(alert.Expr), at)
		require.NoError(r.t, err, alert.Alert)
		require.NotEmpty(r.t, found, "%s: %s finds nothing", alert.Alert, limits.Replace(alert.Expr))
	}
	var state struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError string }
		}
	}
	require.NoError(r.t, r.ask("rules", nil, &state))
	require.Len(r.t, state.Groups[0].Rules, len(rules.Groups[0].Rules))
	for _, rule := range state.Groups[0].Rules {
		require.Equal(r.t, "ok", rule.Health, "%s: %s", rule.Name, rule.LastError)
	}
}

// writes are what of requests to an apiserver changes something. Left out are leases, by which operators tell that they live, and
// questions who a scraper is.
var writes = regexp.MustCompile(`(?m)^apiserver_request_total\{.*resource="(?:pods|services|events|[a-z]+jobs)".*verb="(?:POST|PUT|PATCH|DELETE)".*\} (\S+)$`)

// quiet looks at a cluster in which nothing happens, while it is scraped: nothing is written, and nothing logged. What is refused is
// tried again, so that goes first.
func (r *run) quiet(o *process) {
	r.t.Helper()
	for _, name := range []string{"refused-a", "refused-b"} {
		require.NoError(r.t, r.Delete(r.t.Context(), r.job(full, name)))
	}
	r.until("nothing is refused any more", func() bool { return !(r.value(`sum(genericjob_jobs_waiting{reason="CreateFailed"})`) > 0) })
	r.until("nothing has happened for ten scrapes", func() bool {
		return r.value("sum(changes(controller_runtime_reconcile_total[10s]) and on (instance) up == 1)") == 0
	})
	const scrapes = `sum(count_over_time(genericjob_jobs{kind="GenericJob", phase="Running"}[1h]))`
	lines, written, before := r.lines(o), r.written(), r.value(scrapes)
	r.until("ten scrapes more", func() bool { return r.value(scrapes) >= before+10 })
	require.Equal(r.t, lines, r.lines(o))
	require.Equal(r.t, written, r.written())
}
