// Package kubeflow compiles Kubeflow's TFJobs, PyTorchJobs, XGBoostJobs, PaddleJobs, JAXJobs and MPIJobs, so that whoever has
// manifests for its training operator or its MPI operator can keep them.
//
// What users and their tools rely on is kept: the names of pods, the labels below training.kubeflow.org, the environment,
// the ports, the defaults, the conditions with their reasons. deploy/kubeflow/README.md says what is not, and why.
//
// The replicas find each other by their short names, <job>-<type>-<index>. The environment comes after the user's own
// and wins. A text of the user's in which a variable stands that GenericJob knows, too, keeps its meaning: see keep.
//
// There are more than a dozen files, since each kind has its own. What they share is in kind, template, policy, gang, counts and mirror.
package kubeflow
