// Package jobs reconciles GenericJobs. It gathers what kernel.Plan looks at, has it decide, and writes the status. Then it makes sure that the job is
// still what was planned from (the fence), and executes the actions. What is decided, and why, is the kernel's business.
//
// Begin with reconcile.go. Then read gather.go, which reads what Plan looks at, and questions.go, which asks the wrappers in pods.
package jobs
