// Package suite holds the tests that need a real kubelet: pods that run, exit, are evicted, resolve each other's names
// and get signals. Run it with `make e2e` or `make e2e-smoke`; both start the local cluster and install the operator.
//
// TestNodes needs the local cluster itself, to which it adds a node that it breaks; TestHelm builds helm first, and installs the
// operator by it. TestTenantDrained adds that node, and drains it. TestInPlacePods kills processes of that cluster's pods, and adds a node, too.
// TestGangSchedulers needs one with gang scheduling, and runs other schedulers beside its own: `make e2e-schedulers`.
//
// TestInPlaceAgainstOthers measures, and tests nothing: `make bench-inplace`.
//
// What the pods run is worker, a static program of this folder. It ends when a test tells it to, so that no test has to
// guess how long anything takes.
package suite
