// Package framework defines what a translator is. A translator compiles training jobs of one kind to GenericJobs, and mirrors their status in the
// words of that kind. It is pure, and imports neither the kernel nor the controllers. One reconciler, in controllers/training, serves all
// translators.
//
// A new framework needs a kind (types and CRD), Compile and Mirror: see translators/add-a-framework.md. Begin with Translator in translator.go.
package framework
