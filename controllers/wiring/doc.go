// Package wiring has what all controllers share in a process: clients, clock, counts, and what stands around each reconciler. It knows neither jobs
// nor definitions: reconcilers are handed to it.
//
// # What always holds
//
//   - In a reconcile, its client opens what is packed, within the budget of all.
//   - Every reconciler ends in order with the operator.
//   - A reconcile that fails is tried again within a minute, however often it has failed.
//
// Begin with shared.go.
package wiring
