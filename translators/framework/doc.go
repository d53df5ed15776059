// Package framework is what a translator is made of. A translator compiles the jobs of one framework into GenericJobs and
// shows their state in the framework's own words; it is pure and knows neither the kernel nor the cluster. One
// reconciler, in package controllers, serves all translators.
//
// A new framework needs a kind (types and CRD), Compile and Mirror: see translators/add-a-framework.md.
package framework
