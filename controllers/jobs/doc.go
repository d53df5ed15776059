// Package jobs reconciles GenericJobs. It observes the cluster, has kernel.Plan decide, writes the status, fences and acts. What
// is decided, and why, is the kernel's business.
//
// Begin with reconcile.go. Then read observe.go, which reads what Plan looks at, and questions.go, which asks the wrappers in pods.
package jobs
