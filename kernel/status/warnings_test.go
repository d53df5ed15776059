package status

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/text"
)

// A host name of the user's own was replaced without a word.
func TestAHostNameThatIsReplacedIsToldOfOnce(t *testing.T) {
	const host = `Warning HostNameReplaced spec.replicaSpecs[worker].template.spec.hostname is "mine", where each pod gets <job>-<type>-<rank>`
	const subdomain = `; spec.replicaSpecs[worker].template.spec.subdomain is "ours", where each pod gets the name of the job's Service`
	const next = ": replicas find each other by the operator's names, so these have no effect. Remove them."
	own := func(j *v1beta1.GenericJob) {
		j.Spec.ReplicaSpecs[0].Template.Spec.Hostname = "mine"
		j.Spec.ReplicaSpecs[0].Template.Spec.Subdomain = "ours"
	}
	for name, tc := range map[string]struct {
		edits []func(*v1beta1.GenericJob)
		want  string // "" for no event
	}{
		"a job without names of its own":        {},
		"without a Service the subdomain stays": {[]func(*v1beta1.GenericJob){own}, host + next},
		"with one it is the Service's":          {[]func(*v1beta1.GenericJob){own, func(j *v1beta1.GenericJob) { j.Spec.Service = &v1beta1.ServiceOption{} }}, host + subdomain + next},
		"a training job's author is told of the training job": {[]func(*v1beta1.GenericJob){own, func(j *v1beta1.GenericJob) {
			j.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(&v1beta1.PyTorchTrainingJob{}, v1beta1.GroupVersion.WithKind("PyTorchTrainingJob"))}
			j.Annotations = map[string]string{v1beta1.AnnotationCompiledGeneration: "1"}
		}}, ""},
		"a workflow tells nobody": {[]func(*v1beta1.GenericJob){own, func(j *v1beta1.GenericJob) {
			j.OwnerReferences = []metav1.OwnerReference{{Kind: "Workflow", Name: "steps", Controller: new(true)}}
		}}, host + next},
	} {
		t.Run(name, func(t *testing.T) {
			job := fresh(2)
			for _, edit := range tc.edits {
				edit(job)
			}
			s, events, _ := Of(findingsOf(t, job, func(d ledger.Draft) { d.SwitchMode(start, false); d.SetStartTime(start) }))
			want := []string{}
			if tc.want != "" {
				want = []string{tc.want}
			}
			require.Equal(t, want, told(events)[1:], "after Started")
			job.Status = s
			p := findingsOf(t, job, func(ledger.Draft) {}, podOf(0, "Running"), podOf(1, "Running"))
			p.Now = after(time.Minute)
			_, events, news := Of(p)
			require.True(t, news)
			require.NotContains(t, strings.Join(told(events), "\n"), "HostNameReplaced", "it is told once")
		})
	}
}

func TestAHostNameOfAMegabyteIsNotQuotedWhole(t *testing.T) {
	job := fresh(2)
	job.Spec.ReplicaSpecs[0].Template.Spec.Hostname = strings.Repeat("x", 1<<20)
	_, events, _ := Of(findingsOf(t, job, func(d ledger.Draft) { d.SwitchMode(start, false); d.SetStartTime(start) }))
	require.Less(t, len(events[1].Message), text.Max)
	require.Contains(t, events[1].Message, "Remove them.")
}

// policy Never with a limit: the limit was taken, and nothing was ever restarted.
func TestFieldsWithoutEffectAreToldOfOnce(t *testing.T) {
	job := fresh(2)
	limit := int32(3)
	job.Spec.ReplicaSpecs[0].RestartPolicy = &v1beta1.RestartPolicy{Policy: v1beta1.RestartNever, Limit: &limit}
	job.Spec.RunMode = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{ReplicaSpecs: []v1beta1.ReplicaDebugSet{{Type: "chef"}}}}
	begin := func(d ledger.Draft) { d.SwitchMode(start, false); d.SetStartTime(start) }
	s, events, _ := Of(findingsOf(t, job, begin))
	require.Equal(t, []string{"Warning FieldIgnored spec.replicaSpecs[worker].restartPolicy.limit is 3, but policy Never restarts nothing: use OnFailure, or remove the limit; " +
		"spec.runMode.debug.replicaSpecs names type \"chef\", which the job does not have: correct or remove the entry."}, told(events)[1:])
	ruled := job.DeepCopy()
	ruled.Spec.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{{Action: v1beta1.FailureActionRestart}}}
	_, events, _ = Of(findingsOf(t, ruled, begin))
	require.NotContains(t, strings.Join(told(events), "\n"), "restarts nothing", "the rule restarts it, as often as the limit allows")
	job.Status = s
	p := findingsOf(t, job, func(ledger.Draft) {}, running()...)
	p.Now = after(time.Minute)
	_, events, _ = Of(p)
	require.NotContains(t, strings.Join(told(events), "\n"), "FieldIgnored")
}
