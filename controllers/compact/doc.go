// Package compact bounds the memory that other people's objects take. What one namespace may store must not end the process
// that serves all of them:
//
//   - What a cache holds of a large object is no larger than what etcd holds. Pods are trimmed to what a reconcile reads. Large jobs
//     stay JSON, which Go's structs would exceed manyfold, until a reconcile opens them. Small ones stay structs.
//   - What is open at once is bounded, over all reconciles. A reconcile for which there is no budget comes later; small jobs
//     need none.
//   - Lists are read as a stream, or page by page, and each entry is made compact before the next is read.
package compact
