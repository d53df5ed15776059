// Package controllers sets up the operator: NewScheme, CacheOptions, SetUp. Each reconciler has a package: definitions, training and jobs. The packages
// below these serve them, and import none of them. Words such as fence, ledger and wrapper are in the glossary of CONTRIBUTING.md.
//
//	controllers    sets up the others; says when the caches are full (Ready); reads jobs for the metrics
//	definitions    TrainingFrameworks: checks them, starts and stops their kinds
//	training       training jobs of all kinds: compiles each to a GenericJob, and mirrors that one's status
//	jobs           GenericJobs: pods, status, restarts. kernel.Plan decides
//	dependents     TensorBoards and autoscalers of training jobs
//	calls          calls to the apiserver: what they carry, how many at once, what an error means, when to try again
//	wake           which events begin a reconcile, and which reconciles come too early
//	remember       what the process remembers of each job
//	badnodes       why nodes are bad, beside what a job has seen itself: their conditions, and failures of other jobs
//	announce       events and log lines
//	metrics        counters and gauges
//	compact        caches of trimmed and packed objects, and how much may be open at once
//	wiring         what all controllers share, and what stands around each reconciler
//
// # A reconcile of a GenericJob
//
// The workqueue holds names of jobs. It hands a name to one worker at a time. On the way to the reconciler each layer may end the
// reconcile early:
//
//	what wakes it                          when
//	an event of the job                    at once
//	an event of one of its pods            after 100 ms, so that one reconcile sees many (wake.PodEvents)
//	an event of its Service                at once
//	an event of its Kueue Workload         at once (wake.Workloads)
//	an answer of a wrapper in a pod        after 20 ms (jobs.questions)
//	RequeueAfter of the last reconcile     Plan's next time, or the next try of what was refused
//	an error of the last reconcile         after 20 ms to 1 min, growing
//	                 |
//	                 v
//	+---------------------------------------+
//	| workqueue: 30 workers, one for a job  |
//	+---------------------------------------+
//	                 |
//	                 v                     ends early if                                                   file
//	compact.Budget.Around                  other large objects fill the memory: again within a second      compact/budget.go
//	calls.GracefulShutdown                 the operator is told to end: no reconcile begins                calls/shutdown.go
//	wake.OwnWrites.Before                  the cache does not show its own last write: again in 10 ms      wake/ownwrites.go
//	                 |
//	                 v
//	jobs.Reconciler.Reconcile
//	  gather         job, pods, Service (cache); nodes, PodGroups, Workload (live); reports (wrappers)                              jobs/gather.go
//	  kernel.Plan    pure: a status, actions, events, and when to look again                                                        kernel/plan.go
//	  writeStatus    under the job's resourceVersion; then events, log lines and counts     conflict: again in 1 s                  jobs/reconcile.go
//	  fence          reads the job live, where no status was written (Action.NeedsFence)        changed: again in 1 s               jobs/reconcile.go
//	  seesAll        lists the job's pods live, once for each beginning, before the first create    one is not cached: again in 1 s   jobs/unseen.go
//	  execute        calls.Executor: batches of calls, with a slow start                     refused: again later                   calls/execute.go
//	                 |
//	                 v
//	client: wake.OwnWrites.Of notes writes -> compact.Client opens what is packed -> cache and apiserver
//
// The order of the last six steps makes restarts and successes exact; see package kernel. Training jobs have the same
// queue, Budget and GracefulShutdown, and definitions too, but for one worker instead of 30. They need no OwnWrites: they write little.
//
//	training.Reconciler       wakes by: its job; the GenericJob of its name; ConfigMap, Deployment, Service and autoscaler that it owns
//	definitions.Reconciler    wakes by: its TrainingFramework; others of the same kind; CRDs of its group
//
// Reads come from a cache of labelled and trimmed objects, except where a comment says "live". A job above 16 KiB is packed there: only a reconcile
// sees its spec. Handlers of events, predicates and metrics see its status, its name and its owner. compact.IsForeign says who runs it.
package controllers
