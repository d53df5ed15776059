// Package compact bounds the memory that objects of tenants take. No namespace can store so much that the operator, which serves all of them, runs out
// of memory:
//
//   - A cache holds of a large object no more than etcd does. Pods are trimmed to what a reconcile reads. A large job is packed: the cache holds its
//     JSON, which takes a fraction of the memory of Go's structs. A reconcile opens it: nobody else sees its spec. Small jobs stay structs, and so do
//     definitions.
//   - All reconciles share a budget for what is open at once. A reconcile for which there is no budget comes later. Small jobs need none.
//   - Lists are read as a stream, or page by page. Each entry is made compact before the next is read.
//
// What becomes of an object, and where:
//
//	a pod, a large Service, a node                 loses what no reconcile reads                         transform.go
//	a ConfigMap, metadata                          keeps its name and its owner                          transform.go
//	a definition                                   loses its managedFields                               transform.go
//	a job                                          likewise, and is packed if it is above 16 KiB         packed.go
//	a packed job that a reconcile reads            is opened by Client, within the budget                client.go, budget.go
//	a list that fills a cache                      is read as a stream                                   lists.go
//	a list that a reconcile reads live             is read a few pages at once among all reconciles      live.go
//
// Begin with Object in transform.go, through which all objects of a cache go. Then read Budget in budget.go.
package compact
