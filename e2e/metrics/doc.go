// Package metrics tests what the operator tells Prometheus, and the alerts and the dashboard of deploy/monitoring. A real Prometheus scrapes two real
// operators, of which one is killed. A real kube-state-metrics tells of the jobs. Kubelets are played. `make e2e-metrics` builds what it needs.
// Without the environment variables PROMETHEUS, PROMTOOL and KUBE_STATE_METRICS, which name the programs, it skips its tests.
package metrics
