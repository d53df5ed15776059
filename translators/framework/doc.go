// Package framework is what a translator is made of. A translator compiles training jobs of one kind into GenericJobs, and shows their state in the
// words of that kind. It is pure, and knows neither the kernel nor the cluster. One reconciler, in controllers/training, serves all translators.
//
// A new framework needs a kind (types and CRD), Compile and Mirror: see translators/add-a-framework.md.
package framework
