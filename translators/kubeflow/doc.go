// Package kubeflow compiles Kubeflow's TFJobs, PyTorchJobs, XGBoostJobs, PaddleJobs, JAXJobs and MPIJobs. So manifests for Kubeflow's training
// operator and MPI operator run unchanged.
//
// It keeps what users and their tools rely on: names of pods, labels below training.kubeflow.org, environment variables, ports, defaults, and
// conditions with their reasons. deploy/kubeflow/README.md says what differs, and why.
//
// Replicas find each other by their short host names, <job>-<type>-<index>. The operator's environment variables come after those of the user, and
// replace them. Texts of the user keep their meaning, even if they have a variable that GenericJob would replace: see keepVariables.
//
// Each kind has a file, and a value of the type kind (kind.go). What the kinds share:
//
//	translator.go              the translators of all kinds
//	kind.go, members.go        what differs between kinds, and the replica types of a job
//	policy.go, gang.go         the run policy and the scheduling policy
//	template.go, env.go        pod templates: labels, ports and variables
//	keepvariables.go           texts of the user that look like variables of a GenericJob
//	elastic.go                 jobs whose workers come and go
//	mirror.go                  the status
//	counts.go, conditions.go   the counts and the conditions in it
//
// Of single kinds: tfconfig.go has TF_CONFIG, and mpinames.go the names that MPIJobs may refer to.
package kubeflow
