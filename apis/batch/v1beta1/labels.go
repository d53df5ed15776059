package v1beta1

// Labels, annotations and the finalizer that the operator puts on pods and Services. All keys below
// batch.tensorstack.dev/ are reserved: what a pod template says for them is overwritten.
const (
	// LabelJobUID is the UID of the GenericJob. It selects exactly the pods of one job.
	LabelJobUID = "batch.tensorstack.dev/job-uid"
	// LabelJobName is the name of the GenericJob.
	LabelJobName = "batch.tensorstack.dev/job-name"
	// LabelReplicaType is the replica type.
	LabelReplicaType = "batch.tensorstack.dev/replica-type"
	// LabelReplicaRank is the rank in the replica type.
	LabelReplicaRank = "batch.tensorstack.dev/replica-rank"
	// LabelGroupRank is the rank in two replica types that Kueue places together (its podset-group-name). 0 is the one replica of the first, and the
	// others follow. Only pods of the second have it.
	LabelGroupRank = "batch.tensorstack.dev/podset-group-rank"
	// LabelAttempt is the attempt that the pod was made for. With restart in place a pod may be in a later one: its order says so.
	LabelAttempt = "batch.tensorstack.dev/attempt"
	// LabelJobAttempt is the status.jobAttempt that the pod was made in. Only pods that restart in place have it.
	LabelJobAttempt = "batch.tensorstack.dev/job-attempt"
	// LabelModeGeneration is the status.modeGeneration that the pod was made in.
	LabelModeGeneration = "batch.tensorstack.dev/mode-generation"
	// LabelOfEarlierBuilds is on pods that were made before LabelModeGeneration had its name. This build leaves such pods alone.
	LabelOfEarlierBuilds = "batch.tensorstack.dev/mode-epoch"
	// LabelGang is the status.gang.group that the pod was made in.
	LabelGang = "batch.tensorstack.dev/gang"
	// LabelDebug is "true" on pods that were made in debug mode: their end says nothing about the job.
	LabelDebug = "batch.tensorstack.dev/debug"
	// LabelTensorBoard is the name of the TensorBoard that the pod is of. Its Service selects by it alone: no template can
	// set it.
	LabelTensorBoard = "batch.tensorstack.dev/tensorboard"
	// AnnotationStopped marks a pod that the operator found unfinished and decided to stop (pause, change of mode).
	// How such a pod ends does not count, unless it turns out to have finished before its deletion was asked for.
	AnnotationStopped = "batch.tensorstack.dev/stopped"
	// AnnotationDisrupted marks a pod that the operator found unfinished while somebody else was deleting it. However
	// such a pod ends, also with exit code 0, it was disrupted, unless it turns out to have finished before that.
	AnnotationDisrupted = "batch.tensorstack.dev/disrupted"
	// AnnotationAvoids names the nodes that a pod was made to avoid; see spec.avoidNodes.
	AnnotationAvoids = "batch.tensorstack.dev/avoids"
	// AnnotationDefaultContainer is Kubernetes' own, for the container that matters most in a pod: `kubectl logs` and `exec` pick it. In a
	// template it names the container that trains.
	AnnotationDefaultContainer = "kubectl.kubernetes.io/default-container"
	// AnnotationFrameworkRevision is the revision of the TrainingFramework that a GenericJob was compiled by. It stays.
	AnnotationFrameworkRevision = "batch.tensorstack.dev/framework-revision"
	// AnnotationCompiledGeneration is the metadata.generation of a GenericJob whose spec its training job was compiled to last. A higher
	// generation is an edit of somebody else's, which the operator undoes before it acts.
	AnnotationCompiledGeneration = "batch.tensorstack.dev/compiled-generation"
	// AnnotationCompiledReplicas has the numbers of replicas in that spec. A type that somebody else scales goes back to its number.
	AnnotationCompiledReplicas = "batch.tensorstack.dev/compiled-replicas"
	// AnnotationSchema is on a CustomResourceDefinition that the operator has made for a TrainingFramework. It is made of what the
	// operator wrote.
	AnnotationSchema = "batch.tensorstack.dev/framework-schema"
	// FinalizerTracking keeps a pod until its outcome stands in its job's ledger.
	FinalizerTracking = "batch.tensorstack.dev/tracking"
)

// Labels that users of TensorStack's platform select on. A template may overwrite them.
const (
	// LabelT9kType is the replica type.
	LabelT9kType = "replica-type"
	// LabelT9kIndex is the rank in the replica type.
	LabelT9kIndex = "replica-index"
	// LabelT9kJob is the name of the GenericJob.
	LabelT9kJob = "genericjob"
	// LabelT9kReplica is <job>-<type>-<rank>.
	LabelT9kReplica = "genericjob-replica"
	// LabelT9kComponent is the kind of the owner in lower case.
	LabelT9kComponent = "tensorstack.dev/component"
	// LabelT9kComponentType is always "user".
	LabelT9kComponentType = "tensorstack.dev/component-type"
	// LabelT9kOwnerKind is the kind of the object that the user made.
	LabelT9kOwnerKind = "tensorstack.dev/owner-kind"
	// LabelT9kOwnerName is the name of the object that the user made.
	LabelT9kOwnerName = "tensorstack.dev/owner-name"
	// LabelT9kRole is "master" on the replica whose success alone is the job's.
	LabelT9kRole = "job-role"
)
