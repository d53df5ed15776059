package incident

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/kernel/roster"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Last words: of a failure with a cause of its own, and of one that follows.
const (
	nan    = "Traceback (most recent call last):\n  File \"/train.py\", line 12, in main\nValueError: loss is nan\n"
	parted = "Traceback (most recent call last):\n  File \"/train.py\", line 11, in main\nRuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411\n"
)

// noon is when the first failure came, that of worker-0. Its code began an hour before.
var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// together has all replicas restart together.
func together(job *v1beta1.GenericJob) { job.Spec.RestartScope = v1beta1.RestartScopeJob }

// jobOf is a job with three workers, of which worker-0 has failed first.
func jobOf(edits ...func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: ptr.To[int32](3)}}
	job.Spec.ReplicaSpecs[0].Template.Spec.Containers = []corev1.Container{{Name: "main"}}
	first := v1beta1.ReplicaFailure{Pod: spec.PodName(job, "worker", 0), Time: &metav1.Time{Time: noon}, ExitCode: ptr.To[int32](1), Follows: "its peer has ended"}
	job.Status.FirstFailure = &v1beta1.FirstFailure{ReplicaFailure: first, Summary: "worker-0 has failed"}
	for _, edit := range edits {
		edit(job)
	}
	return job
}

// podOf is the pod of a worker, made for an attempt.
func podOf(job *v1beta1.GenericJob, rank, attempt int, state corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: spec.PodName(job, "worker", rank), Labels: map[string]string{
			v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: strconv.Itoa(rank),
			v1beta1.LabelAttempt: strconv.Itoa(attempt), v1beta1.LabelModeGeneration: "0",
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))},
	}}
	pod.Status.Phase = corev1.PodRunning
	if state.Terminated != nil {
		pod.Status.Phase = corev1.PodFailed
	}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: state}}
	return pod
}

// failed is a container that began and failed so long after noon.
func failed(began, ended time.Duration, words string) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: 1, Message: words, StartedAt: metav1.NewTime(noon.Add(began)), FinishedAt: metav1.NewTime(noon.Add(ended)),
	}}
}

// inputsOf are those of a job with these pods, and the draft of its ledger.
func inputsOf(t *testing.T, job *v1beta1.GenericJob, now time.Time, pods ...*corev1.Pod) (Inputs, ledger.Draft) {
	draft, err := ledger.Load(job)
	require.NoError(t, err)
	return Inputs{Job: job, Now: now, Ledger: draft.Ledger, Roster: roster.Of(job, draft.Ledger, pods, podstate.Judge{Now: now})}, draft
}

// recordedOf is the failure of a pod that this reconcile records.
func recordedOf(job *v1beta1.GenericJob, pod *corev1.Pod) Failure {
	p := podstate.Pod{Pod: pod, Template: &job.Spec.ReplicaSpecs[0].Template}
	return FailureOf(p, p.FailureSentence)
}

// A failure of worker-1 belongs to the incident of the stored first failure, or begins one of its own.
func TestWhichFailuresBelongTogether(t *testing.T) {
	const before, after, never = -time.Hour, time.Second, -1
	alone := func(*v1beta1.GenericJob) {}
	for name, tc := range map[string]struct {
		scope func(*v1beta1.GenericJob)
		later bool          // it failed in the job attempt after that of the first failure
		began time.Duration // its code
		words string
		age   time.Duration // of the first failure when it failed
		again time.Duration // when worker-0 began to run again
		isNew bool
	}{
		"together: it follows":                            {together, false, before, parted, 2 * time.Second, never, false},
		"together: it follows hours later":                {together, false, before, parted, 9 * time.Hour, never, false},
		"together: ... in a pod of its own":               {together, false, after, parted, 9 * time.Hour, never, false},
		"together: a cause of its own, within a minute":   {together, false, before, nan, time.Minute, never, false},
		"together: ... before the first":                  {together, false, before, nan, -time.Minute, never, false},
		"together: a cause of its own, later":             {together, false, before, nan, 61 * time.Second, never, true},
		"together: ... long before the first":             {together, false, before, nan, -61 * time.Second, never, true},
		"together: it follows in the next attempt":        {together, true, after, parted, 2 * time.Second, never, true},
		"together: a cause in the next attempt":           {together, true, after, nan, 2 * time.Second, never, true},
		"alone: it follows":                               {alone, false, before, parted, 2 * time.Second, never, false},
		"alone: it follows hours later":                   {alone, false, before, parted, 9 * time.Hour, never, false},
		"alone: ... soon after worker-0 runs again":       {alone, false, before, parted, 9*time.Hour + time.Minute, 9 * time.Hour, false},
		"alone: ... long after worker-0 runs again":       {alone, false, before, parted, 9*time.Hour + 61*time.Second, 9 * time.Hour, true},
		"alone: a cause of its own, within a minute":      {alone, false, before, nan, time.Minute, never, false},
		"alone: ... before the first":                     {alone, false, before, nan, -time.Minute, never, false},
		"alone: a cause of its own, later":                {alone, false, before, nan, 61 * time.Second, never, true},
		"alone: it follows, and its code began later":     {alone, false, after, parted, 2 * time.Second, never, false},
		"alone: a cause of its own in code from later on": {alone, false, after, nan, 2 * time.Second, never, true},
		"alone: its code began in the same second":        {alone, false, 0, nan, 2 * time.Second, never, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobOf(tc.scope)
			attempt := 0
			if tc.later {
				job.Status.JobAttempt, attempt = 1, 1
			}
			runs := podOf(job, 0, attempt, corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})
			if tc.again != never {
				runs.Status.StartTime = &metav1.Time{Time: noon.Add(tc.again)}
			}
			pod := podOf(job, 1, attempt, failed(tc.began, tc.age, tc.words))
			in, _ := inputsOf(t, job, noon.Add(tc.age), runs, pod)
			i := Of(in, []Failure{recordedOf(job, pod)})
			require.Equal(t, tc.isNew, i.Number() == 1)

			// The stored one is only probable, so a cause takes its place.
			first, was := i.First(false)
			require.Equal(t, tc.isNew || tc.words == nan, first.Pod == pod.Name, first.Summary)
			require.Equal(t, tc.words == parted, first.Probable)
			require.Equal(t, int32(attempt), first.JobAttempt)
			if tc.isNew {
				require.Zero(t, first.Others)
				require.Empty(t, was)
				return
			}
			require.EqualValues(t, 1, first.Others)
			require.Equal(t, "worker-0 has failed", was)
		})
	}
}

// A failure takes the place of the stored one, which follows, and another one came a minute after the stored one. It was told as a new incident if both
// were seen at once.
func TestAMinuteCountsFromTheFailureThatHasTakenThePlaceOfTheStoredOne(t *testing.T) {
	job := jobOf()
	second := podOf(job, 1, 0, failed(-time.Hour, 50*time.Second, nan))
	for ended, number := range map[time.Duration]int{61 * time.Second: 0, 110 * time.Second: 0, 111 * time.Second: 1} {
		third := podOf(job, 2, 0, failed(-time.Hour, ended, nan))
		in, _ := inputsOf(t, job, noon.Add(2*time.Minute), second, third)
		i := Of(in, []Failure{recordedOf(job, third), recordedOf(job, second)})
		require.Equal(t, []int{0, number, number}, []int{i.NumberOf(second.Name), i.NumberOf(third.Name), i.Number()}, ended)
		first, _ := i.First(false)
		require.Equal(t, []string{second.Name, third.Name}[number], first.Pod, ended)
	}
}

// The code of worker-2 had failed before that of worker-0, and its kubelet says so late. That is the first failure, if somebody looks for it.
func TestWhereACauseIsLookedForThatIsToldLate(t *testing.T) {
	restarts := func(d ledger.Draft) { d.StartOver(d.Accounts()[0], 0, ledger.Restart, time.Hour, false, noon) }
	goesOn := func(ledger.Draft) {}
	attempt := func(n int32) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) { together(job); job.Status.JobAttempt = n }
	}
	over := func(edit func(*v1beta1.GenericJob), ago time.Duration) func(*v1beta1.GenericJob) {
		return func(job *v1beta1.GenericJob) {
			edit(job)
			job.Status.CompletionTime = &metav1.Time{Time: noon.Add(5*time.Second - ago)}
		}
	}
	alone := func(*v1beta1.GenericJob) {}
	for name, tc := range map[string]struct {
		job      func(*v1beta1.GenericJob)
		recorded bool               // this reconcile has recorded the failure of worker-0
		apply    func(ledger.Draft) // what it has written into the ledger
		isOver   bool
		found    bool
	}{
		"together: all begin anew because of it":      {together, true, restarts, false, true},
		"together: all begin anew":                    {together, false, restarts, false, true},
		"together: all have begun anew":               {attempt(1), false, goesOn, false, true},
		"together: all have begun anew twice":         {attempt(2), false, goesOn, false, false},
		"together: it is final, and the job goes on":  {together, true, goesOn, false, true},
		"together: it was final, and the job goes on": {together, false, goesOn, false, true},
		"together: the job ends by it":                {together, true, goesOn, true, true},
		"together: the job has just ended":            {over(together, 59*time.Second), false, goesOn, true, true},
		"together: the job ended a minute ago":        {over(together, 61*time.Second), false, goesOn, true, false},
		"alone: the job goes on":                      {alone, false, goesOn, false, false},
		"alone: the job ends by it":                   {alone, true, goesOn, true, false}, // the next reconcile looks
		"alone: the job ends":                         {alone, false, goesOn, true, true},
		"alone: the job has just ended":               {over(alone, 59*time.Second), false, goesOn, true, true},
		"alone: the job ended a minute ago":           {over(alone, 61*time.Second), false, goesOn, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			job := jobOf(tc.job)
			follows, cause := podOf(job, 0, 0, failed(-time.Hour, 0, parted)), podOf(job, 2, 0, failed(-time.Hour, -time.Second, nan))
			in, draft := inputsOf(t, job, noon.Add(5*time.Second), follows, cause)
			var recorded []Failure
			if tc.recorded {
				job.Status.FirstFailure, recorded = nil, []Failure{recordedOf(job, follows)}
			}
			i := Of(in, recorded)
			tc.apply(draft)
			first, _ := i.First(tc.isOver)
			require.Equal(t, tc.found, first.Pod == cause.Name, first.Summary)
			require.Equal(t, !tc.found, first.Follows != "")
		})
	}
}
