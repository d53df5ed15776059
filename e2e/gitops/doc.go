// Package gitops asks the libraries of deployment tools what they say of jobs. These are kstatus (Helm, Flux), Flux' CEL expressions, and Lua as Argo
// CD runs it. The statuses are the kernel's own, and what the files in deploy/gitops say is what is asked. The table in deploy/gitops/README.md is the
// answer.
//
// Tests alone are here.
package gitops
