// Package metrics tests what the operator tells Prometheus, the alerts and the dashboard of deploy/monitoring, with a real Prometheus
// that scrapes two real operators, of which one is killed. Kubelets are played. `make e2e-metrics` builds what it needs; without the
// environment variables PROMETHEUS and PROMTOOL, which name the programs, it skips its tests.
package metrics
