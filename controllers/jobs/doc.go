// Package jobs reconciles GenericJobs. It observes the cluster, has kernel.Plan decide, writes the status, fences and acts. What
// is decided, and why, is the kernel's business.
//
// Begin with reconcile.go. observe.go reads what Plan looks at; reports.go and questions.go talk to the wrappers in pods; events.go and
// ownerevents.go tell users.
package jobs
