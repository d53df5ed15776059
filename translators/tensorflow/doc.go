// Package tensorflow compiles TensorFlowTrainingJobs.
//
// Each replica gets TF_CONFIG, which says who is in the cluster and which task the replica is. It is written with the GenericJob's variables, so all
// replicas of a type share one template.
//
// The chief, or else worker 0, is the master: the job succeeds when it does. A job with parameter servers fails when its master has failed for good.
// Without them the replicas train in step. Such a job fails when any chief or worker has failed for good, and a restart replaces all replicas.
package tensorflow
