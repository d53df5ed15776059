// Package controllers does all the operator's input and output. A reconcile over a GenericJob observes the cluster, has
// kernel.Plan decide, writes the status, fences and acts; what the reconcile decides and why is the kernel's business.
//
// Reads come from a cache of labelled and trimmed objects, except where a comment says "live".
//
// Begin with genericjob.go and framework.go, the two reconcilers; setup.go connects them with the cluster. Their rooms know
// nothing of them: calls makes calls, wake leads from pods to reconciles, dependents keeps TensorBoards and autoscalers,
// compact is what the caches hold, and what of it is open at once.
package controllers
