package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// results are what a run has measured.
type results struct {
	Date    string       `json:"date"`
	Machine string       `json:"machine"`
	Count   int          `json:"count"`
	Plan    []planResult `json:"plan,omitempty"`
	Rows    []*rowResult `json:"rows"`
}

// rowResult is one row with all its repetitions.
type rowResult struct {
	Name     string             `json:"name"`
	Jobs     int                `json:"jobs"`
	Replicas int                `json:"replicas"`
	Median   map[string]float64 `json:"median"`
	Samples  []sample           `json:"samples"`
}

func newResults(count int) *results {
	return &results{
		Date:    time.Now().UTC().Format(time.RFC3339),
		Machine: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()), Count: count, Rows: []*rowResult{},
	}
}

func (s sample) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, fmt.Sprintf("%s=%.3g", name, s[name]))
	}
	return strings.Join(parts, " ")
}

func (r *results) add(of row, s sample) {
	i := slices.IndexFunc(r.Rows, func(have *rowResult) bool { return have.Name == of.name })
	if i < 0 {
		i = len(r.Rows)
		r.Rows = append(r.Rows, &rowResult{Name: of.name, Jobs: of.jobs, Replicas: of.replicas})
	}
	have := r.Rows[i]
	have.Samples = append(have.Samples, s)
	have.Median = map[string]float64{}
	for name := range s {
		var values []float64
		for _, each := range have.Samples {
			values = append(values, each[name])
		}
		have.Median[name] = median(values)
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	if n%2 == 1 {
		return values[n/2]
	}
	return (values[n/2-1] + values[n/2]) / 2
}

// columns are what the table shows of a row, where it has it.
var columns = []struct{ name, title string }{
	{"created_ratio", "created/raw"}, {"done_ratio", "done/raw"}, {"restart_ratio", "restart/raw"}, {"created_s", "created s"},
	{"done_s", "done s"}, {"settle_s", "settle s"}, {"start_ms_per_pod", "start ms/pod"}, {"finish_ms_per_pod", "finish ms/pod"},
	{"cpu_s", "CPU s"}, {"cpu_ratio", "CPU/in Go"}, {"peak_mb", "peak MiB"}, {"writes_per_pod", "writes/pod"}, {"quiet_writes", "quiet writes"},
	{"first_told_s", "first told s"}, {"told_s", "all told s"}, {"go_s", "all go s"},
	{"quiet_cpu_percent", "quiet CPU %"}, {"first_served_s", "first served s"},
	{"resident_mb", "resident MiB"}, {"scrape_s", "scrape s"}, {"scrape_max_s", "scrape max s"}, {"scrape_kb", "scrape kB"},
	{"stored_mb", "stored MiB"}, {"held_mb", "held MiB"}, {"held_ratio", "held/stored"}, {"idle_mb", "idle MiB"}, {"above_mb", "above idle MiB"},
	{"idle_victim_s", "idle victim s"}, {"victim_s", "victim s"}, {"victim_max_s", "victim max s"},
	{"whole_beside_ratio", "whole job beside/alone"}, {"run_beside_ratio", "run beside/alone"}, {"restart_beside_ratio", "restart beside/alone"},
}

func (r *results) print(to io.Writer) {
	fmt.Fprintf(to, "%s, %s, medians of %d\n\n", r.Date, r.Machine, r.Count)
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, p := range r.Plan {
		fmt.Fprintf(table, "Plan, %d replicas\t%.2f ms\t%.0f kB\t%d allocations\t\n", p.Replicas, p.Nanoseconds/1e6, p.Bytes/1e3, p.Allocations)
	}
	if err := table.Flush(); err != nil {
		return
	}
	fmt.Fprint(table, "row")
	for _, c := range columns {
		fmt.Fprint(table, "\t"+c.title)
	}
	fmt.Fprintln(table, "\t")
	for _, row := range r.Rows {
		fmt.Fprint(table, row.Name)
		for _, c := range columns {
			if v, has := row.Median[c.name]; has {
				fmt.Fprintf(table, "\t%.2f", v)
			} else {
				fmt.Fprint(table, "\t")
			}
		}
		fmt.Fprintln(table, "\t")
	}
	_ = table.Flush()
}

func (r *results) write(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

//go:embed thresholds.json
var thresholdFile []byte

// thresholds are what a run must reach: numbers that do not depend on how fast the machine is.
type thresholds struct {
	SetBy string                      `json:"setBy"`
	Rows  map[string]map[string]limit `json:"rows"`
}

// limit is the least or the most that a median may be.
type limit struct {
	Min *float64 `json:"min,omitempty"`
	Max *float64 `json:"max,omitempty"`
	// Measured is the median of the run that set the limit.
	Measured float64 `json:"measured"`
}

func readThresholds() (thresholds, error) {
	var t thresholds
	if err := json.Unmarshal(thresholdFile, &t); err != nil {
		return t, fmt.Errorf("thresholds.json: %w", err)
	}
	return t, nil
}

// check compares the medians with the thresholds. What was not measured has missed its threshold.
func (r *results) check(t thresholds) error {
	var errs []error
	for _, row := range r.Rows {
		for _, name := range slices.Sorted(maps.Keys(t.Rows[row.Name])) {
			l := t.Rows[row.Name][name]
			got, has := row.Median[name]
			switch {
			case !has || math.IsNaN(got):
				errs = append(errs, fmt.Errorf("row %s: %s was not measured", row.Name, name))
			case l.Min != nil && got < *l.Min:
				errs = append(errs, fmt.Errorf("row %s: %s is %.3g: want at least %.3g; the run that set it had %.3g", row.Name, name, got, *l.Min, l.Measured))
			case l.Max != nil && got > *l.Max:
				errs = append(errs, fmt.Errorf("row %s: %s is %.3g: want at most %.3g; the run that set it had %.3g", row.Name, name, got, *l.Max, l.Measured))
			}
		}
	}
	return errors.Join(errs...)
}
