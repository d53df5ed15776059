// Package definition makes a translator of a TrainingFramework: of YAML with expressions instead of Go.
//
//   - Check checks a definition as a whole, against the schema of the kind and that of GenericJobs, and names the place of each
//     mistake. What is not accepted is never run. New does without what only fails some jobs: it also takes what was accepted before.
//   - A job is compiled by its spec and name alone, in bounded time and memory. Each expression has a limit of cost, all of a job
//     together have one, and no value grows beyond a size. What is beyond fails the job, and no other.
//   - What comes out is a framework.Registration: the reconciler and its rules are those of translators that are written in Go.
//   - An expression reaches nothing but the job: no cluster, no clock, no other object. What it makes is the spec of the job's
//     own GenericJob and the texts of its own ConfigMap.
//
// # An example
//
// A definition has this template of a GenericJob, and a job with `replicas: 2` comes:
//
//	replicaSpecs:
//	  - type: worker
//	    replicas: ${job.spec.?replicas.orValue(1)}
//	    template: ${job.spec.template.setMainContainer("jax")}
//
// What becomes of it:
//
//  1. New reads the template once, into a tree of nodes: an object with a list, with an object of three fields (template.go). The first of these
//     is a value, the others are expressions.
//  2. Each expression is checked where it stands (environment.go). Its type must fit the Go type of the field: orValue(1) is an int, and replicas is an
//     *int32 (fits.go). An expression that may cost too much is refused (cost.go).
//  3. Check asks what would fail a job (check.go): replicas may be left out, but .? asks for that. Nobody asks whether there is a
//     container jax. That is no mistake here, because setMainContainer only writes its name down.
//  4. Compile makes a run for the job, in which job.name and job.spec are known (compile.go). It walks through the tree, and each node becomes a
//     plain value: maps, lists, texts and numbers, of which JSON can be made. A pod template alone stays what it is, so that it is
//     decoded once (values.go).
//  5. The plain value of the whole tree is decoded into a GenericJobSpec (genericjob.go).
//
// # The files
//
//	reading a definition
//	  definition.go                     all of a definition, and its revision
//	  template.go, text.go              templates, and texts with expressions
//	  environment.go, functions.go      expressions, and what they may call
//	  schema.go, fits.go                types of what expressions read, and of what they make
//	  cost.go                           what an expression may cost
//	  check.go, literals.go             what would fail jobs
//	running it
//	  compile.go, values.go             a job's expressions, and their values as JSON
//	  genericjob.go, policy.go          the spec and the run policy of the GenericJob
//	  status.go                         the job's own status
//	the kind of its jobs
//	  job.go                            a job of any kind
//	  crd.go, narrower.go               the CRD of a kind that a definition brings, and what its next schema takes away
//
// Begin with definition.go, how a definition is read and checked. Then read compile.go, how a job is compiled, and status.go, how its status is
// mirrored.
package definition
