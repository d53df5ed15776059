// Package dependents keeps what a training job has beside its GenericJob: a TensorBoard, an autoscaler. It knows how their
// objects are created, updated and removed. The translators compile what is wanted, and the reconciler shows what has become of it. For
// that this package returns states and events.
//
// # Invariants
//
//   - An object that the job does not control is left alone.
//   - The fence precedes creates. No TensorBoard is created for a job that has finished.
//   - The job trains on, whatever becomes of these.
//
// Begin with TensorBoard in tensorboard.go; autoscaler.go is the same for one object.
package dependents
