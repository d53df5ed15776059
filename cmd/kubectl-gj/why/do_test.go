package why_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/why"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// fails returns a job whose worker 1 fails with exit codes, one after another. Of 127 the program was not there.
func fails(job *v1beta1.GenericJob, codes ...int32) *jobs.Family {
	s := kt.NewStory(job).Kubelet(time.Second)
	for _, code := range codes {
		s.Then(time.Minute, "worker-1 fails", func() {
			name := spec.PodName(s.Cluster.Job, "worker", 1)
			s.Cluster.Exit(name, code)
			if code == 127 {
				s.Cluster.Pods[name].Status.ContainerStatuses[0].State.Terminated.Message = `exec: "train": executable file not found in $PATH`
			}
		})
		s.Then(3*time.Second, "time passes", func() {}).Kubelet(time.Minute).Kubelet(time.Second)
	}
	return family(s.Cluster.Job)
}

func TestWhatToRaiseIsNamed(t *testing.T) {
	worker := func(policy v1beta1.RestartPolicyType, limit int32) kt.JobOption {
		return kt.Type("worker", 2, kt.Policy(policy, limit))
	}
	for name, tc := range map[string]struct {
		f    *jobs.Family
		want string
	}{
		"its own limit":    {fails(kt.Job(worker(v1beta1.RestartOnFailure, 1)), 1, 1), "Mend it, or raise restartPolicy.limit of type worker, which is 1; then delete"},
		"the shared limit": {fails(kt.Job(kt.Type("worker", 2), kt.BackoffLimit(1)), 1, 1), "Mend it, or raise backoffLimit, which is 1; then delete"},
		"a policy":         {fails(kt.Job(worker(v1beta1.RestartNever, 0)), 1), "Mend it, or give type worker a restartPolicy that restarts it; then delete"},
		"no program":       {fails(kt.Job(worker(v1beta1.RestartOnFailure, 1)), 1, 127), "No restart helps"},
		"no program, at first": {fails(kt.Job(worker(v1beta1.RestartOnFailure, 1)), 127, 1),
			"Mend it, or raise restartPolicy.limit of type worker, which is 1; then delete"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, v1beta1.JobFailed, tc.f.Status().Phase)
			require.Contains(t, why.Of(tc.f, kt.At(time.Hour)).Do, tc.want)
		})
	}
}

func TestAnActionOfALaterVersionIsNoRestart(t *testing.T) {
	job := kt.Job(kt.Type("worker", 2, kt.Policy(v1beta1.RestartOnFailure, 3)))
	f := fails(job, 3)
	policy := v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{{Match: v1beta1.FailureMatch{ExitCodes: []int32{3}}, Action: "Quarantine"}}}
	require.Equal(t, `rule 1 has the action "Quarantine", which this kubectl gj does not know: upgrade it`, why.Judge(f, policy)[0].Does)
}
