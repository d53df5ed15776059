// Package training reconciles the training jobs of all kinds, with one reconciler. The translator of its kind compiles a training job to a GenericJob.
// The reconciler creates that, brings it back to what was compiled if it differs, and mirrors its status. It creates no pods.
//
// The first line that is true says what is done for a job that is not over (reconcileUnfinished):
//
//	what there is                                  what is done
//	no GenericJob, and a spec that is invalid      failUnlessRunning: the job fails
//	no GenericJob, and a Workload made for it      block: see spec.PrebuiltMessage
//	no GenericJob                                  createGenericJob: the fence, the ConfigMap, the Secret with keys, the GenericJob
//	a GenericJob of that name, not the job's       leaveAlone: block, with NameConflict; that of an earlier job of the name is waited for
//	one that is being deleted                      mirrorOf
//	one that another revision compiled             nothing: RetrySoon
//	one that is over, and a spec that is invalid   mirrorOf
//	one, and a spec that is invalid                block: the GenericJob goes on as it was
//	one that is as compiled                        reconcileUnchanged: the ConfigMap, the annotation, mirrorOf
//	one that another version compiled otherwise    updateAllowed: what need not wait for a pause; the rest blocks
//	one that differs                               update; if the apiserver calls it invalid, updateAllowed
//
// What the apiserver refuses on the way is shown by showRefusal. Last come ensureDependents and writeStatus, for a job that is over, too.
//
// Begin with reconcile.go. Then read update.go, how an edit reaches a GenericJob, and showing.go, what a training job shows. The revision of a
// definition with which a job began compiles it to its end: see revisions.go.
package training
