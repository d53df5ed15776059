// Package jobs reconciles GenericJobs. It observes the cluster, has kernel.Plan decide, writes the status, fences and acts. What
// is decided, and why, is the kernel's business.
//
// Begin with reconcile.go. observe.go reads what Plan looks at, with nodes.go, kueue.go and podcache.go. reports.go and questions.go talk to the
// wrappers in pods. events.go and ownerevents.go tell users. memory.go holds what is remembered between reconciles; unseen.go waits until the cache shows
// what was just written.
package jobs
