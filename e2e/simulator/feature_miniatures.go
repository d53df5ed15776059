package simulator

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// featureMiniatures have each a feature that few jobs use.
var featureMiniatures = []*Miniature{
	{Name: "rare ends", user: plain, job: jobOf(1), rare: true},
	{Name: "rare ends in place", user: plain, job: jobOf(1, inPlace), rare: true},
	{Name: "rules", user: plain, job: jobOf(1, rules)},
	{Name: "rules, two failures", user: plain, job: jobOf(2, rules, scopeJob), events: map[int]func(*Life){5: killFirst}},
	{Name: "start policies", user: plain, job: jobOf(1, startPolicies)},
	{Name: "auxiliary", user: plain, job: jobOf(1, withStore, scopeJob), events: map[int]func(*Life){5: failFirst}},
	{Name: "auxiliary in place", user: plain, job: jobOf(1, withStore, inPlace, scopeJob), events: map[int]func(*Life){5: failFirst}},
	{Name: "no progress", user: plain, job: jobOf(1, noProgress(2)), set: func(l *Life) { l.stride = 1 }, events: map[int]func(*Life){5: failFirst}},
	{Name: "avoided nodes", user: plain, job: jobOf(2, avoidNodes), events: map[int]func(*Life){5: failFirst}},
	{Name: "a sick node", user: plain, job: jobOf(1, avoidNodes), set: func(l *Life) { l.sick.nodes = bIsSickNowAndThen }},
	{Name: "jobs of others", user: plain, job: jobOf(1, avoidNodes), set: func(l *Life) { l.sick.others = othersTell }},
	{Name: "jobs of strangers", user: plain, job: jobOf(1, avoidNodes), set: func(l *Life) { l.sick.others = anotherTenantTells }},
	{Name: "deadline", user: plain, job: jobOf(1, deadline), set: func(l *Life) { l.hangs = true }},
	{Name: "PodGroup", user: plain, job: jobOf(2, coscheduling)},
	{Name: "Kueue, a failure", user: plain, job: jobOf(1, inQueue), events: map[int]func(*Life){7: failFirst}},
}

// rules fails the job for one exit code, and does not count another.
func rules(s *v1beta1.GenericJobSpec) {
	s.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{
		{Match: v1beta1.FailureMatch{ExitCodes: []int32{137}}, Action: v1beta1.FailureActionRestart, Counts: new(false), Elsewhere: true},
		{Match: v1beta1.FailureMatch{ExitCodes: []int32{1}, Types: []string{"worker"}}, Action: v1beta1.FailureActionFail},
	}}
}

// startPolicies adds a launcher that waits until the workers are Ready.
func startPolicies(s *v1beta1.GenericJobSpec) {
	launcher := *s.ReplicaSpecs[0].DeepCopy()
	launcher.Type, launcher.StartPolicy = "launcher", v1beta1.StartRestartAfterOthers
	s.ReplicaSpecs[0].Template.Spec.Containers[0].ReadinessProbe = &corev1.Probe{}
	s.ReplicaSpecs = append(s.ReplicaSpecs, launcher)
}

func withStore(s *v1beta1.GenericJobSpec) {
	s.ReplicaSpecs = append(s.ReplicaSpecs, v1beta1.ReplicaSpec{Type: "store", Replicas: new(int32(1)), Auxiliary: true, Template: template("main")})
}

func avoidNodes(s *v1beta1.GenericJobSpec) {
	s.AvoidNodes = &v1beta1.AvoidNodes{After: new(int32(1)), Within: "30m"}
}

func deadline(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = new(int64(60)) }

func coscheduling(s *v1beta1.GenericJobSpec) {
	s.Scheduler = &v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{}}
}

// killFirst has the code of the first pod end as if it was killed, if it runs.
func killFirst(l *Life) { l.endFirst(137) }
