package suite_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestFailurePolicy has rules decide what becomes of real ends.
func TestFailurePolicy(t *testing.T) {
	loadFramework(t, "pytorch")
	for name, test := range map[string]func(*space){
		"a rule fails the job":                   ruleFails,
		"a rule leaves restarts uncounted":       ruleExcepts,
		"... in place, with all replicas":        ruleExceptsInPlace,
		"the code of torchrun's worker":          ruleOfWorker,
		"what an exception says, and what it is": ruleOfWords,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(newTrainingSpace(t))
		})
	}
}

// fails17 is a rule by which exit code 17 fails a job.
const fails17 = `{name: bad-device, match: {exitCodes: [17]}, action: Fail}`

func ruleFails(s *space) {
	s.submit("fails", `{backoffLimit: 3, failurePolicy: {rules: [`+fails17+`]}, replicaSpecs: [{type: worker, replicas: 2, template: `+pod("fail 1 5 1 then fail 2 17 1 then obey")+`}]}`)
	job := s.awaitPhase("fails", v1beta1.JobFailed)
	require.EqualValues(s.t, 1, job.Status.BackoffCount, "code 5 is judged by no rule")
	failed := condition(job, v1beta1.ConditionFailed)
	require.Equal(s.t, v1beta1.ReasonFailurePolicy, failed.Reason)
	require.Contains(s.t, failed.Message, `exited with error code 17; rule "bad-device" of failurePolicy fails the job`)
	s.requireRuns(job, "worker", 1, 2)
	s.awaitReleased(job)
}

func ruleExcepts(s *space) {
	s.submit("excepts", `{backoffLimit: 0, failurePolicy: {rules: [{match: {exitCodes: [5], types: [worker]}, action: Restart, counts: false}]},
replicaSpecs: [{type: worker, restartPolicy: {policy: Never}, template: `+pod("fail 3 5 then exit 0")+`}]}`)
	job := s.awaitPhase("excepts", v1beta1.JobSucceeded)
	require.Zero(s.t, job.Status.BackoffCount)
	require.EqualValues(s.t, 3, job.Status.ExceptedCount)
	s.requireRuns(job, "worker", 4)
}

func ruleExceptsInPlace(s *space) {
	job := s.submit("together", `{restartScope: Job, restartStrategy: InPlace, backoffLimit: 0,
failurePolicy: {rules: [`+fails17+`, {match: {exitCodes: [5]}, action: Restart, counts: false}]},
replicaSpecs: [{type: worker, replicas: 3, restartPolicy: {policy: OnFailure}, template: `+inPlace("print jobAttempt $(jobAttempt) then obey")+`}]}`)
	s.awaitRunning("together", "3/3")
	before := s.identities(job)
	for attempt, rank := range []int{1, 0} {
		s.awaitCode(job, attempt, 0, 1, 2)
		s.end(job, "worker", rank, 5)
	}
	s.awaitCode(job, 2, 0, 1, 2)
	require.Equal(s.t, before, s.identities(job), "no pod was replaced")
	s.end(job, "worker", 2, 17)
	now := s.awaitPhase("together", v1beta1.JobFailed)
	require.Zero(s.t, now.Status.BackoffCount)
	require.EqualValues(s.t, 2, now.Status.ExceptedCount)
	require.Contains(s.t, condition(now, v1beta1.ConditionFailed).Message, `rule "bad-device" of failurePolicy fails the job`)
}

// exits17 is a program of which rank 1 exits with 17, while the others wait for it.
const exits17 = `
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
sum = torch.ones(1)
dist.all_reduce(sum)
if dist.get_rank() == 1:
    sys.stdout.flush()
    os._exit(17)
dist.all_reduce(sum)
`

// withRules is a job of torchrun's with rules, and three restarts.
func (s *space) withRules(name, program string, rules ...v1beta1.FailurePolicyRule) pyTorchJob {
	return s.submitPyTorch(name, v1beta1.PyTorchTrainingJobSpec{
		RunPolicy:      &v1beta1.RunPolicy{BackoffLimit: ptr.To[int32](3), FailurePolicy: &v1beta1.FailurePolicy{Rules: rules}},
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true, ExtraOptions: []string{"--no_python"}},
		ReplicaSpecs:   []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", 3, nil, "python3", "-c", program)},
	})
}

// ruleOfWorker: torchrun itself ends with 1, and says that its worker ended with 17.
func ruleOfWorker(s *space) {
	made := s.withRules("worker-17", exits17, v1beta1.FailurePolicyRule{
		Name: "bad-device", Match: v1beta1.FailureMatch{ExitCodes: []int32{17}}, Action: v1beta1.FailureActionFail,
	})
	s.owned(made)
	job := s.awaitPhase("worker-17", v1beta1.JobFailed)
	require.Zero(s.t, job.Status.BackoffCount)
	require.Contains(s.t, condition(job, v1beta1.ConditionFailed).Message, `rule "bad-device" of failurePolicy fails the job`)
	require.EqualValues(s.t, 17, *job.Status.FirstFailure.WorkerExitCode)
}

// ruleOfWords: the exception of one rank decides, and not what the other has met because of it.
func ruleOfWords(s *space) {
	made := s.withRules("not-a-number", raises,
		v1beta1.FailurePolicyRule{Name: "peers", Match: v1beta1.FailureMatch{Messages: "Connection"}, Action: v1beta1.FailureActionFail},
		v1beta1.FailurePolicyRule{Name: "nan", Match: v1beta1.FailureMatch{Causes: []v1beta1.CauseKind{v1beta1.CauseNotANumber}, Messages: "^ValueError"}, Action: v1beta1.FailureActionFail},
	)
	s.owned(made)
	job := s.awaitPhase("not-a-number", v1beta1.JobFailed)
	require.Contains(s.t, condition(job, v1beta1.ConditionFailed).Message, `rule "nan" of failurePolicy fails the job`)
	require.Equal(s.t, &v1beta1.Cause{Kind: v1beta1.CauseNotANumber, Role: v1beta1.CauseRoot}, job.Status.FirstFailure.Cause)
}
