// Package badnodes knows what speaks against nodes, beside what each job has seen itself: conditions of nodes, and failures that other jobs have
// recorded. It is fed with events of nodes and of jobs, and asks nobody. What it knows is derived from what the caches hold, so a restart loses
// nothing. The kernel decides which nodes are avoided.
//
// Begin with store.go, which the events reach and jobs ask. Then read sightings.go, failures of jobs on nodes, and conditions.go.
package badnodes
