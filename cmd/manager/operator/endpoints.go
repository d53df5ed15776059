package operator

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"github.com/genericjob/genericjob/controllers"
)

const (
	maxProbeTime   = 5 * time.Second  // the kubelet waits for one
	maxScrapeTime  = 30 * time.Second // with the questions to the apiserver
	maxProfileTime = 5 * time.Minute  // as long as is asked for
)

// servePorts has the manager serve metrics, probes and profiles.
func servePorts(mgr ctrl.Manager, c config) error {
	scrape, err := metricsFor(mgr)
	if err != nil {
		return fmt.Errorf("serve the metrics: %w", err)
	}
	return serve(mgr,
		port{
			name: "metrics", flag: "metrics-bind-address", address: c.metrics, encrypted: true, answerTime: maxScrapeTime,
			paths: map[string]http.Handler{"/metrics": scrape},
		},
		port{name: "health", flag: "health-probe-bind-address", address: c.health, answerTime: maxProbeTime, paths: probes(mgr, c)},
		port{name: "profiles", flag: "pprof-bind-address", address: c.pprof, answerTime: maxProfileTime, paths: profiles()},
	)
}

// metricsFor returns a handler that shows the metrics to who may get /metrics.
func metricsFor(mgr ctrl.Manager) (http.Handler, error) {
	filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return filter(ctrl.Log.WithName("metrics"), promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
}

func probes(mgr ctrl.Manager, c config) map[string]http.Handler {
	ready := naming(ctrl.Log.WithName("ready"), func(r *http.Request) error { return controllers.Ready(r.Context(), mgr.GetCache(), c.options) })
	live := http.StripPrefix("/healthz", &healthz.Handler{Checks: map[string]healthz.Checker{"ping": healthz.Ping}})
	readiness := http.StripPrefix("/readyz", &healthz.Handler{Checks: map[string]healthz.Checker{"caches": ready}})
	return map[string]http.Handler{"/healthz": live, "/healthz/": live, "/readyz": readiness, "/readyz/": readiness}
}

func profiles() map[string]http.Handler {
	return map[string]http.Handler{
		"/debug/pprof/":        http.HandlerFunc(pprof.Index),
		"/debug/pprof/cmdline": http.HandlerFunc(pprof.Cmdline),
		"/debug/pprof/profile": http.HandlerFunc(pprof.Profile),
		"/debug/pprof/trace":   http.HandlerFunc(pprof.Trace),
	}
}
