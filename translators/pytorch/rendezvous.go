package pytorch

import (
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// How torchrun's agents meet: the table in doc.go has what these functions decide.

// hasStore reports whether torchrun's agents meet at a store, and not at replica 0. They do if torchrun may restart its processes. Then it goes on
// after the loss of a replica, and the loss of replica 0 must not end the others. They also do if replica 0 is on the network of its node. There it
// has the name of the node, and would not know that it is the one that has to serve.
func hasStore(job *v1beta1.PyTorchTrainingJob) bool {
	t := job.Spec.TorchrunConfig
	if !t.IsOn() || !job.Spec.Elastic.IsOn() && ptr.Deref(t.MaxRestarts, 0) == 0 && !firstOnHost(job) {
		return false
	}
	return (t.RdzvBackend == "" || t.RdzvBackend == c10d) && !setsOption(t, "rdzv_endpoint", "rdzv_backend", "standalone")
}

// rendezvousRepeats reports whether torchrun's agents meet again after one of them was lost, in pods that stay. They do in an elastic job, and if
// the user lets torchrun restart its processes. Otherwise all agents give up when the first fails. It is also true if the user sets --nnodes,
// --max_restarts or --standalone: then the user knows better.
func rendezvousRepeats(job *v1beta1.PyTorchTrainingJob) bool {
	t := job.Spec.TorchrunConfig
	return job.Spec.Elastic.IsOn() || ptr.Deref(t.MaxRestarts, 0) > 0 || setsOption(t, "max_restarts", "nnodes", "standalone")
}

// ranksCanBeGiven reports whether the operator may give torchrun's agents their ranks, with the backend static. The backend c10d sorts them by their
// host names, as text: node-10 would get GROUP_RANK 2, and a placement by rank would be lost. An agent with a given rank cannot meet agents of an
// earlier start. So this is only for jobs whose restarts replace all replicas.
func ranksCanBeGiven(job *v1beta1.PyTorchTrainingJob) bool {
	t := job.Spec.TorchrunConfig
	return t.IsOn() && t.RdzvBackend == "" && !firstOnHost(job) && !rendezvousRepeats(job) &&
		!setsOption(t, "rdzv_endpoint", "rdzv_backend")
}

// firstOnHost reports whether replica 0 is on its node's network.
func firstOnHost(job *v1beta1.PyTorchTrainingJob) bool {
	return len(job.Spec.ReplicaSpecs) > 0 && job.Spec.ReplicaSpecs[0].Template.Spec.HostNetwork
}
