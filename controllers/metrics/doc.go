// Package metrics counts what becomes of jobs. controller-runtime counts reconciles, their times, queues and requests already; this package does not.
//
//   - Counters count what happened. The process that writes a status counts what the write has changed, once the apiserver has answered it. A write
//     that fails, or meets a conflict, counts nothing. So nothing is counted twice, even if an operator restarts or another one leads. If the answer
//     to a write is lost, nobody counts it.
//   - Gauges show what is. The leader reads it from the cache at each scrape, and other operators export nothing. So a sum over all operators is
//     right.
//   - A job counts under the kind that its user submitted: the GenericJob of a TFJob is no second job.
//   - All values of all labels are known beforehand, and counters begin with 0. Names of jobs, and texts that anybody may write, are no labels. The
//     only names are those of the 20 nodes that most jobs avoid.
//
// What is exported, and where it is. The names begin with genericjob_; deploy/monitoring/README.md says what each means.
//
//	how jobs fare       jobs, jobs_waiting, longest_wait_seconds                                      jobcollector.go, from the cache
//	                    start_duration_seconds, completion_duration_seconds                           counter_updates.go
//	what time went on   time_seconds_total, device_seconds_total: of what is over                     time_spent.go
//	                    time_open_seconds, device_open_seconds: of what goes on                       open_intervals.go
//	what has failed     restarts_total, excepted_restarts_total, disruptions_total                    counter_updates.go
//	                    recovery_seconds                                                              recoveries.go
//	                    avoided_nodes                                                                 nodes.go
//	what was called     pods_created_total, pods_deleted_total, calls_failed_total,
//	                    reconciles_stopped_total                                                      counter_updates.go
//	the operator        build_info                                                                    build.go
//	definitions         definitions                                                                   definitions.go
//
// Values of labels come from reasons.go, and from wait_reasons.go, which says what a job waits for. Begin with counts.go, which has all counters with
// their words, and with jobcollector.go for the gauges.
package metrics
