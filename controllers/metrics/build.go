package metrics

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"
)

// Build says what a process of the operator was built from.
type Build struct {
	// Version is that of a release, or what Go knows of the build.
	Version string
	// Commit is the hash; "" if nobody told the linker.
	Commit string
	// Go is the version of Go.
	Go string
}

// Collector tells of the build. Each process does, whether it leads or not: an upgrade that has stopped halfway shows.
func (b Build) Collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "genericjob_build_info", Help: "What the operator was built from. Always 1; every operator exports it.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": cmp.Or(b.Commit, "unknown"), "go": b.Go},
	}, func() float64 { return 1 })
}
