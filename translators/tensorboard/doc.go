// Package tensorboard describes the TensorBoard of a training job, and says in which state it is. It is pure: controllers/dependents creates and
// updates what it describes.
//
// A TensorBoard is a Deployment of one pod, and a Service. Build describes them; locations.go parses where the logs are. The pod mounts whole
// PersistentVolumeClaims, read-only. The command line names the folders in them, so a folder that does not exist yet is just empty. A second
// container, which runs fetch.py, copies logs from elsewhere into the pod. That is needed because TensorBoard cannot read object stores in most
// images for training.
//
// The pod has no label below batch.tensorstack.dev/: such labels select the pods that train.
package tensorboard
