// Package controllers does all the operator's input and output. A pass over a GenericJob observes the cluster, has
// kernel.Plan decide, writes the status, fences and acts; what the pass decides and why is the kernel's business.
//
// Reads come from a cache of labelled and trimmed objects, except where a comment says "live".
package controllers
