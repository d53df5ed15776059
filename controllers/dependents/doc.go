// Package dependents creates, updates and deletes what a training job has beside its GenericJob: a TensorBoard and an autoscaler. The translators
// compile what is wanted. The reconciler of training jobs shows the state that this package returns.
//
// # What always holds
//
//   - An object that the job does not control is left alone.
//   - Before each create the job is read from the apiserver, and must be as the cache shows it (the fence). No TensorBoard is created for a job that
//     has finished.
//   - The job trains on if any of this fails.
//
// Begin with TensorBoard in tensorboard.go; autoscaler.go is the same for one object.
package dependents
