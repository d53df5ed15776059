package verbs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Each job stands there once, by its own name, whatever kinds the cluster has.
func TestList(t *testing.T) {
	s := newSpace(t)
	require.Contains(t, s.sees("list", "-o", "json"), "[]")
	training := s.create("pj", "mnist", specs["pj"])
	training.SetLabels(map[string]string{"team": "vision"})
	require.NoError(t, s.Update(t.Context(), training))
	owned := s.compiled("mnist", metav1.NewControllerRef(training, kindOf(t, "pj").GroupVersionKind))
	s.setStatus(owned, func(job *v1beta1.GenericJob) {
		job.Status.Phase, job.Status.Running = v1beta1.JobRunning, "2/3"
		job.Status.Progress = &v1beta1.Progress{Loss: "0.25"}
	})
	s.compiled("lonely", &unreadable)
	step := s.create("gj", "step", specs["gj"]).(*v1beta1.GenericJob)
	step.OwnerReferences = []metav1.OwnerReference{{APIVersion: "argoproj.io/v1alpha1", Kind: "Workflow", Name: "all", UID: "w", Controller: ptr.To(true)}}
	require.NoError(t, s.Update(t.Context(), step))
	s.genericJob("hello", phase(v1beta1.JobFailed))
	s.create("tfjob", "old", specs["tfjob"])

	names := func(args ...string) (names []string) {
		for _, line := range strings.Split(strings.TrimSpace(s.sees(append([]string{"list"}, args...)...)), "\n")[1:] {
			names = append(names, strings.Fields(line)[0])
		}
		return names
	}
	require.Equal(t, []string{"gj/hello", "jaxthing/lonely", "pj/mnist", "tfjob/old", "gj/step"}, names())
	require.Regexp(t, `pj/mnist +Unseen +2/3 +0 +- +0\.25 `, s.sees("list"))
	require.Equal(t, []string{"pj/mnist"}, names("-l", "team=vision"))
	require.Equal(t, []string{"gj/hello"}, names("--phase", "failed"))
	require.Contains(t, s.sees("list", "-A"), s.ns)
	_, problem, code := s.types("list", "--phase", "asleep")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "want some of [Pending Running")
	_, problem, code = s.types("list", "-l", "none=such")
	require.Zero(t, code)
	require.Contains(t, problem, "There is no such job.")
}
