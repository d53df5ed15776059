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
// Begin with counts.go, the counters, and jobcollector.go, the gauges.
package metrics
