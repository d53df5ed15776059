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

// Collector exports the build. Every operator exports it, so that an upgrade which has stopped halfway shows.
func (b Build) Collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "genericjob_build_info", Help: "What the operator was built from. Always 1; every operator exports it.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": cmp.Or(b.Commit, "unknown"), "go": b.Go},
	}, func() float64 { return 1 })
}
