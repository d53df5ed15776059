// Package incident finds out which failure of a job came first. When one rank fails, other ranks fail because they lose it, and kubelets report all
// of them in any order. Such failures are an incident: one came first, and the others are of code that ran at that time.
//
// The status keeps the first failure. What a reconcile has recorded belongs to the incident of that failure, or begins a new one: Of decides that.
// Incident.First chooses the first of the stored failure, the recorded ones, and failures that came too late to be counted (late.go). It looks for
// late ones if all replicas restart together, and in a job that has ended within the last minute.
//
// An example: replicas restart one by one, the status has no failure yet, and one reconcile records three. They came at these seconds:
//
//	 0  worker-0  Connection closed by peer: it follows
//	50  worker-1  ValueError
//	61  worker-2  ValueError
//
// Worker-0 begins an incident. Worker-1 came within a minute, so it belongs to it. It has a cause of its own, so it takes the first place. From then on
// the minute counts from worker-1, so worker-2 belongs to it, too. First says worker-1, and that two others failed. If worker-0 had raised an exception
// of its own, it would have kept the first place. Then worker-2 would have come too late, and First would say worker-2, alone.
//
// First must be asked after the restarts of the reconcile are written into the ledger. By the ledger's job attempt it knows whether all replicas
// begin anew. Then late failures are of the attempt before. Of may be asked earlier.
//
// Which of some failures came first is decided in one place, FirstOf, by their times and last words. Package kernel asks it, too, while it counts.
//
// The package reads the ledger and changes nothing. It does not know what follows from a failure: rules, limits and nodes are the business of package
// kernel. So is how long failures wait to be recorded while the cause may still be told.
package incident
