// Package tensorflow compiles TensorFlowTrainingJobs.
//
// Each replica gets TF_CONFIG, which says who is in the cluster and which task the replica is. It is written with the
// GenericJob's variables, so all replicas of a type share one template. The chief, or else worker 0, is the master: its
// success is the job's. With parameter servers its final failure is the job's, too. Without, the final failure of any chief
// or worker is, and a restart replaces all replicas: they train in step.
package tensorflow
