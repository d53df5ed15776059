// Package wiring has what all controllers share in a process: clients, clock, counts, and what stands around each reconciler. It knows neither jobs
// nor definitions: reconcilers are handed to it.
//
// # What always holds
//
//   - The cache holds large jobs packed (package compact). The client of a reconcile opens them, within a budget that all reconciles share.
//   - When the operator is told to end, no reconcile begins, and calls under way have three seconds more (calls.GracefulShutdown).
//   - A reconcile that fails is tried again within a minute, however often it has failed.
//
// Begin with shared.go.
package wiring
