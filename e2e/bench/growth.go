package main

import (
	"fmt"
	"os"
	"strings"
)

// growthColumns are what the plot of growth shows.
var growthColumns = []string{"created_s", "settle_s", "cpu_s", "peak_mb", "writes", "raw_created_s"}

// writeGrowth writes the rows of growth as a table for growth.gnuplot: two blocks, the first by jobs, the second by
// replicas.
func (r *results) writeGrowth(file string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s, %s, medians of %d\n", r.Date, r.Machine, r.Count)
	for _, series := range []string{"jobs", "replicas"} {
		fmt.Fprintf(&b, "# %s %s\n", series, strings.Join(growthColumns, " "))
		for _, row := range r.Rows {
			if !strings.HasPrefix(row.Name, "growth-"+series) {
				continue
			}
			fmt.Fprintf(&b, "%d", row.Jobs*row.Replicas)
			for _, c := range growthColumns {
				fmt.Fprintf(&b, " %.4g", row.Median[c])
			}
			b.WriteString("\n")
		}
		b.WriteString("\n\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}
