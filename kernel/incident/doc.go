// Package incident finds out which failure of a job came first. When one rank fails, other ranks fail because they lose it, and kubelets report all
// of them in any order. Such failures are an incident: one came first, and the others are of code that ran at that time.
//
// The status keeps the first failure. What a reconcile has recorded belongs to the incident of that failure, or begins a new one: Of decides that.
// Incident.First chooses the first of the stored failure, the recorded ones, and failures that came too late to be counted (late.go). It looks for
// late ones if all replicas restart together, and in a job that has ended within the last minute.
//
// First must be asked after the restarts of the reconcile are written into the ledger. By the ledger's job attempt it knows whether all replicas
// begin anew. Then late failures are of the attempt before. Of may be asked earlier.
//
// Which of some failures came first is decided in one place, FirstOf, by their times and last words. Package kernel asks it, too, while it counts.
//
// The package reads the ledger and changes nothing. It does not know what follows from a failure: rules, limits and nodes are the business of package
// kernel. So is how long failures wait to be recorded while the cause may still be told.
package incident
