package v1beta1

// ReasonNone is the reason of a condition that has nothing to explain.
const ReasonNone = "-"

// Reasons of conditions and events.
const (
	// ReasonSucceeded: a success rule held.
	ReasonSucceeded = "Succeeded"
	// ReasonFailed: a failure rule held; or, without rules, a replica failed for good.
	ReasonFailed = "Failed"
	// ReasonFailurePolicy: a rule of spec.failurePolicy fails the job.
	ReasonFailurePolicy = "FailurePolicy"
	// ReasonSuccessUnreachable: every success rule names a replica that failed for good.
	ReasonSuccessUnreachable = "SuccessUnreachable"
	// ReasonDeadlineExceeded: spec.activeDeadlineSeconds have passed.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonInvalidSpec: the spec cannot be run as it is; the message says which field to change.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNotFinished: the job is still running, or waits to run.
	ReasonNotFinished = "NotFinished"
	// ReasonPodsNotReady: not all unfinished replicas run.
	ReasonPodsNotReady = "PodsNotReady"
	// ReasonErrorInPod: a pod exited with an error.
	ReasonErrorInPod = "ErrorInPod"
	// ReasonDisrupted: something outside the job ended a pod.
	ReasonDisrupted = "Disrupted"
	// ReasonPausing: the job is to be paused by spec.runMode.pause, and still has pods.
	ReasonPausing = "Pausing"
	// ReasonPaused: the job is paused by spec.runMode.pause.
	ReasonPaused = "Paused"
	// ReasonResumed: the job is no longer paused.
	ReasonResumed = "Resumed"
	// ReasonScaled: the job has another number of replicas than before.
	ReasonScaled = "Scaled"
	// ReasonEdited: the spec was edited before code of the job had started, so pods that were made from the earlier one are made again.
	ReasonEdited = "Edited"
	// ReasonNameConflict: an object that the job needs exists already and belongs to somebody else.
	ReasonNameConflict = "NameConflict"
	// ReasonServiceNamed: the job's Service has another name than the job, because somebody else's Service has that one.
	ReasonServiceNamed = "ServiceNamed"
	// ReasonHostNameReplaced: a template names its pods' host or subdomain itself, and the operator's take their place.
	ReasonHostNameReplaced = "HostNameReplaced"
	// ReasonCreateFailed: the apiserver refuses to create or update an object for now (a quota or a policy, for example).
	ReasonCreateFailed = "CreateFailed"
	// ReasonCreateInvalid: the apiserver calls a field of an object invalid that the spec asks for; the job then fails with
	// InvalidSpec.
	ReasonCreateInvalid = "CreateInvalid"
	// ReasonRefused: the apiserver refuses to change or delete an object of the job's.
	ReasonRefused = "Refused"
	// ReasonGangUnavailable: the cluster does not know the gang scheduler's objects.
	ReasonGangUnavailable = "GangUnavailable"
	// ReasonSchedulerSilent: no scheduler has said anything of pods that have waited for a node for two minutes.
	ReasonSchedulerSilent = "SchedulerSilent"
	// ReasonQueued: the job waits in a queue.
	ReasonQueued = "Queued"
	// ReasonEvicted: the job's queue has taken its quota away.
	ReasonEvicted = "Evicted"
	// ReasonAdmitted: the job's queue has quota for its replicas.
	ReasonAdmitted = "Admitted"
	// ReasonRanksUnordered: Kueue has not placed the job's pods in the order of their ranks.
	ReasonRanksUnordered = "RanksUnordered"
	// ReasonScaleRefused: the job cannot be scaled below a rank that its rules name.
	ReasonScaleRefused = "ScaleRefused"
	// ReasonPodRejected: nodes reject a replica's pods before its code can start, again and again.
	ReasonPodRejected = "PodRejected"
	// ReasonLedgerUnreadable: somebody has changed the job's ledger into something that makes no sense.
	ReasonLedgerUnreadable = "LedgerUnreadable"
	// ReasonLedgerFull: so many replicas were replaced, each in its own way, that the job's status cannot hold it.
	ReasonLedgerFull = "LedgerFull"
	// ReasonStatusTooLarge: the job's spec leaves no room for its status.
	ReasonStatusTooLarge = "StatusTooLarge"
	// ReasonNodeAvoided: new pods of the job avoid a node, because the job has failed there, or because it is lost.
	ReasonNodeAvoided = "NodeAvoided"
	// ReasonNodeNotAvoided: the job has failed on a node often enough, but does not avoid it: spec.avoidNodes.atMost is reached, or no node would be left.
	ReasonNodeNotAvoided = "NodeNotAvoided"
	// ReasonRestarted: a replica, or the whole job, was restarted and a limit counted it.
	ReasonRestarted = "Restarted"
	// ReasonFieldIgnored: a field of the spec has no effect, for another makes it meaningless.
	ReasonFieldIgnored = "FieldIgnored"
	// ReasonReplaced: more replicas were replaced at once than have an event each.
	ReasonReplaced = "Replaced"
	// ReasonRunning: all unfinished replicas run.
	ReasonRunning = "Running"
	// ReasonStarted: the operator has begun to create the job's pods. There is no such event if the job runs, or has succeeded, by
	// the time of its first status.
	ReasonStarted = "Started"
)

// PullReasons are the kubelet's reasons for a container whose image it cannot pull.
var PullReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"}
