// Package framework defines what a translator is. A translator compiles training jobs of one kind to GenericJobs, and mirrors their status in the
// words of that kind. It is pure, and imports neither the kernel nor the controllers. One reconciler, in controllers/training, serves all
// translators.
//
// A new framework needs a kind (types and CRD), Compile and Mirror: see translators/add-a-framework.md. Begin with Translator in translator.go, and
// with ExampleTranslator, which is one.
//
//	translator.go     what a translator is
//	program.go        what it makes of a training job
//	registration.go   a translator as it stands in a list with others
//	template.go       for Compile: run policies, containers, variables and ports of a template
//	service.go        for Compile: host names and the ports of the Service
//	rendezvous.go     for Compile: what torchrun's agents need to meet
//	status.go         for Mirror
//	compiled.go       by which the reconcilers know an edit of a GenericJob that is not the operator's
package framework
