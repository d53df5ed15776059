// Package metrics counts, in the operator's own words, what becomes of jobs. What controller-runtime counts already, reconciles and their
// times, queues, requests, is not counted again.
//
//   - An event is counted by the process that wrote it, once its write was answered, from the difference between the status before
//     and after: never from reading what was there. A write that fails, or meets a conflict, counts nothing. So nothing is counted
//     twice, whatever restarts and whoever leads. What a process wrote without hearing of it is counted by nobody.
//   - What is, not what happened, is looked up in the cache when it is asked for. Only the operator that leads does that. So a sum over all
//     operators is right.
//   - A job counts under the kind that its user submitted: the GenericJob of a TFJob is no second job.
//   - All values of all labels are known beforehand, and counters begin with 0: what names jobs, or what anybody may write, is no label. Names of
//     nodes that jobs avoid are the one exception: of the 20 worst.
package metrics
