package verbs

// The long helps of verbs. That of the program is beside it.

const treeHelp = `Shows a job, its GenericJob and its pods, each with its phase, node and restarts, and why it is as it is.
RESTARTS of a pod are those of its replica that a limit counts. Beyond them:
  (+2 with the job)   starts of the whole job, where a failure starts all replicas over, in their pods or in new ones
  (+1 not counted)    starts of that replica alone that no limit counts
  (+1 more)           starts of which the status does not tell whether they were of the whole job or of the replica alone
  (perhaps more)      there may have been others: the status does not tell
Of a job, (+1 disrupted, +2 excepted by rules) are replicas that something outside it ended, and restarts excepted by rules.
In a job of more than 20 pods neighbours of which the same is to be said share a line.`

const topHelp = `Sorts jobs by their restarts, or the replicas of one job. It is not about CPU and memory, as kubectl top is.
What was never started again is left out.
Of jobs:
  RESTARTS      those that a limit counts
  DISRUPTIONS   replicas that something outside the job ended
  EXCEPTED      restarts excepted by rules of a failure policy
  STEP, LOSS    the last that the code reported
  WORST         the replica that was started again most often, for whatever reason, and how often
Of the replicas of a job:
  RESTARTS      those that a limit counts
  WITH JOB      starts of the whole job that are not among RESTARTS
  NOT COUNTED   starts of the replica alone that no limit counts
  MORE          starts of which the status does not tell what they were
LAST FAILURE is how the last replica failed that the status knows, or this one, and AGO when.
The order is by RESTARTS, then by the columns of counts behind it, from left to right.`

const restartHelp = `Begins the code of a running job again, in its pods, which counts as no restart of any limit.
It ends the processes in all pods, and begins them again there, all together.

` + needs

const setEnvHelp = `Sets variables of the containers that train; KEY- removes one. A value that came from a Secret or a field is replaced.
Variables that the operator sets, as RANK, win over these.`
