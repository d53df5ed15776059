// Package kubeflow compiles Kubeflow's TFJobs, PyTorchJobs, XGBoostJobs, PaddleJobs, JAXJobs and MPIJobs. So manifests for Kubeflow's training
// operator and MPI operator run unchanged.
//
// It keeps what users and their tools rely on: names of pods, labels below training.kubeflow.org, environment variables, ports, defaults, and
// conditions with their reasons. deploy/kubeflow/README.md says what differs, and why.
//
// Replicas find each other by their short host names, <job>-<type>-<index>. The operator's environment variables come after those of the user, and
// replace them. Texts of the user keep their meaning, even if they have a variable that GenericJob would replace: see keepVariables.
//
// Each kind has a file. What the kinds share is in kind.go, template.go, policy.go, gang.go, counts.go and mirror.go.
package kubeflow
