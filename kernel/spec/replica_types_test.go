package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// jobOf is a job with so many workers and one ps.
func jobOf(workers int32, edits ...func(*v1beta1.GenericJobSpec)) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: &workers}, {Type: "ps"}}
	for _, edit := range edits {
		edit(&job.Spec)
	}
	return job
}

func successRule(rule v1beta1.FinishRule) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) { s.SuccessRules = append(s.SuccessRules, rule) }
}

func failureRule(rule v1beta1.FinishRule) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) { s.FailureRules = append(s.FailureRules, rule) }
}

func workerRanks(ranks ...intstr.IntOrString) v1beta1.FinishRule {
	return v1beta1.FinishRule{"worker": ranks}
}

func TestReplicaTypes(t *testing.T) {
	n := intstr.FromInt32
	tests := map[string]struct {
		job        *v1beta1.GenericJob
		free, kept int // workers, if the rules do not keep them and if they do
	}{
		"no rules, nothing to keep":                      {jobOf(2), 2, 2},
		"a job that runs keeps a named rank":             {jobOf(2, successRule(workerRanks(n(4)))), 2, 5},
		"a failure rule keeps ranks as well":             {jobOf(2, failureRule(workerRanks(n(4)))), 2, 5},
		"the highest rank of all rules counts":           {jobOf(1, successRule(workerRanks(n(2), n(7), n(3))), failureRule(workerRanks(n(5)))), 1, 8},
		"a numeric string is a rank":                     {jobOf(2, successRule(workerRanks(intstr.FromString("3")))), 2, 4},
		"a rule never takes ranks away":                  {jobOf(4, successRule(workerRanks(n(0)))), 4, 4},
		"any rank is no rank to keep":                    {jobOf(2, successRule(workerRanks(intstr.FromString("any")))), 2, 2},
		"all ranks are those that are there":             {jobOf(2, successRule(workerRanks())), 2, 2},
		"what is no rank keeps nothing":                  {jobOf(2, successRule(workerRanks(intstr.FromString("x"), n(-1)))), 2, 2},
		"a rank that no job has keeps nothing":           {jobOf(2, successRule(workerRanks(n(MaxReplicas)))), 2, 2},
		"a rule of another type keeps nothing":           {jobOf(2, successRule(v1beta1.FinishRule{"ps": {n(6)}})), 2, 2},
		"a negative number of replicas is none":          {jobOf(-3), 0, 0},
		"a job cannot make a reconcile allocate at will": {jobOf(1 << 30), MaxReplicas, MaxReplicas},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for keep, want := range map[bool]int{false: tc.free, true: tc.kept} {
				types := ReplicaTypes(tc.job, keep)
				require.Len(t, types, 2)
				require.Equal(t, "worker", types[0].Type)
				require.Equal(t, want, types[0].N, "keep %t", keep)
				require.Equal(t, "ps", types[1].Type, "the order is that of the spec")
				if keep {
					require.Equal(t, want, min(max(Kept(tc.job, types[0].ReplicaSpec), 0), MaxReplicas))
				}
			}
		})
	}
	require.Equal(t, 1, ReplicaTypes(jobOf(2), false)[1].N, "a type without a number has one replica")
}

func TestPolicy(t *testing.T) {
	shared := func(s *v1beta1.GenericJobSpec) { s.BackoffLimit = ptr.To[int32](3) }
	policy := func(p v1beta1.RestartPolicy) func(*v1beta1.GenericJobSpec) {
		return func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].RestartPolicy = &p }
	}
	tests := map[string]struct {
		job   *v1beta1.GenericJob
		limit int
		again []int32 // of the codes below, those after which a replica is run again
	}{
		"a job that says nothing is not restarted, though failures could be": {jobOf(1), 0, []int32{1, 137, 143, 255}},
		"a shared limit lifts the default of the own one":                    {jobOf(1, shared), Unlimited, []int32{1, 137, 143, 255}},
		"an own limit stays beside a shared one":                             {jobOf(1, shared, policy(v1beta1.RestartPolicy{Limit: ptr.To[int32](2)})), 2, []int32{1, 137, 143, 255}},
		"a limit alone leaves the policy as it is":                           {jobOf(1, policy(v1beta1.RestartPolicy{Limit: ptr.To[int32](2)})), 2, []int32{1, 137, 143, 255}},
		"Never is never":                   {jobOf(1, policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartNever})), 0, nil},
		"Always runs again after success":  {jobOf(1, policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways})), 0, []int32{0, 1, 137, 143, 255}},
		"ExitCode retries signals":         {jobOf(1, policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode})), 0, []int32{137, 143}},
		"a list of codes replaces signals": {jobOf(1, policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode, ExitCodes: []int32{1}})), 0, []int32{1}},
		"codes mean nothing to another policy": {
			jobOf(1, policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, ExitCodes: []int32{1}})), 0, []int32{1, 137, 143, 255}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := ReplicaTypes(tc.job, false)[0].Policy
			require.Equal(t, tc.limit, p.Limit)
			var again []int32
			for _, code := range []int32{0, 1, 137, 143, 255} {
				if p.Allows(code) {
					again = append(again, code)
				}
			}
			require.Equal(t, tc.again, again)
		})
	}
}

func TestNamesRecogniseNoForgery(t *testing.T) {
	hashed := jobOf(20)
	plain := jobOf(20, func(s *v1beta1.GenericJobSpec) { s.PodNames = v1beta1.PodNamesPlain })
	hash := v1beta1.Hash5("job", "uid")
	tests := map[string]struct {
		name            string
		hashed, isPlain bool // whether it is the name of rank 1 of worker, by which spelling
	}{
		"the name with the hash":               {"job-" + hash + "-worker-1", true, false},
		"the plain name":                       {"job-worker-1", false, true},
		"another rank":                         {"job-" + hash + "-worker-2", false, false},
		"a rank that goes on":                  {"job-" + hash + "-worker-11", false, false},
		"a rank with a zero before it":         {"job-" + hash + "-worker-01", false, false},
		"no rank":                              {"job-" + hash + "-worker-", false, false},
		"no hyphen before the rank":            {"job-" + hash + "-worker1", false, false},
		"another type":                         {"job-" + hash + "-ps-1", false, false},
		"a type that goes on":                  {"job-" + hash + "-worker-x-1", false, false},
		"the hash of a namesake that was here": {"job-" + v1beta1.Hash5("job", "older") + "-worker-1", false, false},
		"another job":                          {"jobs-worker-1", false, false},
		"something behind the name":            {"job-worker-1-0", false, false},
		"nothing":                              {"", false, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.hashed, NamesOf(hashed).Is(tc.name, "worker", 1))
			require.Equal(t, tc.isPlain, NamesOf(hashed).Was(tc.name, "worker", 1))
			require.Equal(t, tc.isPlain, NamesOf(plain).Is(tc.name, "worker", 1))
			require.Equal(t, tc.hashed, NamesOf(plain).Was(tc.name, "worker", 1))
		})
	}
	for _, job := range []*v1beta1.GenericJob{hashed, plain} {
		names := NamesOf(job)
		require.True(t, names.Is(names.Pod("worker", MaxReplicas-1), "worker", MaxReplicas-1), "a name that is made is recognised")
	}
}

func TestMode(t *testing.T) {
	debug := func(command ...string) *v1beta1.DebugMode {
		return &v1beta1.DebugMode{Enabled: true, ReplicaSpecs: []v1beta1.ReplicaDebugSet{{Type: "worker", Command: command}}}
	}
	off := &v1beta1.PauseMode{ResumeSpecs: []v1beta1.ResumeSpec{{Type: "worker", Command: []string{"x"}}}}
	// An operator that hashed in another way would restart every job in debug mode when it comes. So hashes stand here.
	tests := map[string]struct {
		mode  *v1beta1.RunMode
		fresh string // of a job that was never paused while it ran
		after string // of one that was
	}{
		"no mode":                               {nil, ModeImmediate, ModeResumed},
		"a mode that is switched off":           {&v1beta1.RunMode{Pause: off, Debug: &v1beta1.DebugMode{}}, ModeImmediate, ModeResumed},
		"pause":                                 {&v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}, ModePaused, ModePaused},
		"the older spelling of pause":           {&v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enable: true}}, ModePaused, ModePaused},
		"pause wins over debug":                 {&v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}, Debug: debug("x")}, ModePaused, ModePaused},
		"debug wins over having been paused":    {&v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}, Pause: off}, "Debug-77074ba4", "Debug-77074ba4"},
		"debug with a command":                  {&v1beta1.RunMode{Debug: debug("sleep", "60")}, "Debug-ee4fde75", "Debug-ee4fde75"},
		"debug with another command is another": {&v1beta1.RunMode{Debug: debug("sleep", "61")}, "Debug-236a2292", "Debug-236a2292"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(1, func(s *v1beta1.GenericJobSpec) { s.RunMode = tc.mode })
			require.Equal(t, tc.fresh, Mode(job, false))
			require.Equal(t, tc.after, Mode(job, true))
		})
	}
}

func TestRulesAndCleanUpThatNobodyWrote(t *testing.T) {
	one := workerRanks(intstr.FromInt32(1))
	require.Equal(t, []v1beta1.FinishRule{{"worker": nil, "ps": nil}}, SuccessRules(jobOf(2)), "all ranks of all types")
	require.Equal(t, []v1beta1.FinishRule{one}, SuccessRules(jobOf(2, successRule(one))), "and nothing beside what somebody wrote")
	tests := map[v1beta1.CleanUpPolicy]v1beta1.CleanUpPolicy{
		"": v1beta1.CleanUpNone, "none": v1beta1.CleanUpNone, "None": v1beta1.CleanUpNone, "unfinished": v1beta1.CleanUpUnfinished,
		"Unfinished": v1beta1.CleanUpUnfinished, "all": v1beta1.CleanUpAll, "All": v1beta1.CleanUpAll,
	}
	for in, want := range tests {
		require.Equal(t, want, CleanUp(jobOf(2, func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = in })), "%q", in)
	}
}
