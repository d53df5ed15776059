// Package compact bounds the memory that objects of tenants take. No namespace can store so much that the operator, which serves all of them, runs out
// of memory:
//
//   - A cache holds of a large object no more than etcd does. Pods are trimmed to what a reconcile reads. A large job is packed: the cache holds its
//     JSON, which takes a fraction of the memory of Go's structs. A reconcile opens it: nobody else sees its spec. Small jobs stay structs, and so do
//     definitions.
//   - All reconciles share a budget for what is open at once. A reconcile for which there is no budget comes later. Small jobs need none.
//   - Lists are read as a stream, or page by page. Each entry is made compact before the next is read.
//
// Begin with Object in transform.go, and Budget in budget.go.
package compact
