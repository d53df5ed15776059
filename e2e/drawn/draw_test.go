package drawn_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/drawn"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/pytorch"
)

var cluster *envtest.Environment

// patience bounds what takes no time on a machine that is not busy.
const patience = 10 * time.Minute

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }))
}

func TestASeedDrawsTheSameJobs(t *testing.T) {
	for n := range 50 {
		once, err := yaml.Marshal(drawn.Draw(7, n).Manifest("space"))
		require.NoError(t, err)
		again, err := yaml.Marshal(drawn.Draw(7, n).Manifest("space"))
		require.NoError(t, err)
		require.Equal(t, string(once), string(again))
		other, err := yaml.Marshal(drawn.Draw(8, n).Manifest("space"))
		require.NoError(t, err)
		require.NotEqual(t, string(once), string(other))
	}
}

// TestAllIsDrawn wants each ten jobs to have all kinds of faults, and some hundred to have each value of what is drawn.
func TestAllIsDrawn(t *testing.T) {
	seen := map[string]bool{}
	for n := range 400 {
		j := drawn.Draw(1, n)
		e := j.Expect()
		seen["fault "+j.Fault.Kind], seen["torchrun "+j.Torchrun], seen["shell "+j.Shell], seen["sidecar "+j.Sidecar] = true, true, true, true
		seen["user "+j.User], seen["space "+j.Space], seen["signs "+j.Signs], seen["phase "+string(e.Phase)] = true, true, true, true
		seen["reason "+e.Reason], seen["kind "+string(e.Kind)], seen["clean up "+string(j.CleanUp)] = true, true, true
		for _, typ := range j.Types {
			if typ.Policy != nil {
				seen["policy "+string(typ.Policy.Policy)] = true
			}
			seen["auxiliary"] = seen["auxiliary"] || typ.Auxiliary
			seen["after others"] = seen["after others"] || typ.AfterOthers
		}
		seen["excepted"] = seen["excepted"] || e.Excepted > 0
		seen["rounds"] = seen["rounds"] || j.Rounds > 0
		seen["in place, together"] = seen["in place, together"] || j.InPlace && j.WholeJob
		require.LessOrEqual(t, e.Failures, 4, "%s: each takes seconds", j)
	}
	for _, want := range []string{
		"fault none", "fault exit", "fault kill", "fault hang", "fault delete", "fault scale", "torchrun fixed", "torchrun elastic",
		"shell sh", "shell sh with args", "shell bash", "shell python", "shell file", "sidecar native", "sidecar plain", "user restricted", "user root",
		"user numbered", "user ", "space quota", "space limits", "space tight", "signs heartbeat", "signs progress", "phase Succeeded", "phase Failed",
		"reason Failed", "reason FailurePolicy", "reason SuccessUnreachable", "kind Unknown", "kind Hang", "kind Storage", "kind Config",
		"kind Hardware", "policy Always", "policy OnFailure", "policy Never", "policy ExitCode", "auxiliary", "after others", "excepted", "rounds",
		"in place, together", "clean up ", "clean up None", "clean up Unfinished", "clean up All",
	} {
		require.True(t, seen[want], "%s is never drawn", want)
	}
	for ten := range 40 {
		kinds := map[string]int{}
		for n := range 10 {
			if j := drawn.Draw(1, 10*ten+n); j.Torchrun != "" {
				kinds["torchrun"]++
			} else {
				kinds[j.Fault.Kind]++
			}
		}
		require.Equal(t, map[string]int{"exit": 3, "kill": 2, "hang": 1, "delete": 1, "scale": 1, "none": 1, "torchrun": 1}, kinds)
	}
}

// TestDrawnJobsAreLegal has a real apiserver take jobs, and pods as they are in namespaces with the same restrictions. It has no controller that says
// how much of a quota is used, so the pods do without.
func TestDrawnJobsAreLegal(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1beta1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	plain, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	c := client.WithFieldValidation(plain, metav1.FieldValidationStrict)
	for n := range 40 {
		j := drawn.Draw(3, n)
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "drawn-", Labels: j.Labels()}}
		require.NoError(t, c.Create(t.Context(), ns))
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}}
		require.NoError(t, c.Create(t.Context(), account))
		job := j.Manifest(ns.Name)
		require.NoError(t, c.Create(t.Context(), job), "%s", j)
		gj := genericJobOf(t, job)
		require.Empty(t, spec.Invalid(gj, spec.ReplicaTypes(gj, false), spec.NewExpander(gj, false)), "%s", j)
		for _, o := range j.Restrictions(ns.Name) {
			if _, is := o.(*corev1.ResourceQuota); is {
				require.NoError(t, c.Create(t.Context(), o, client.DryRunAll), "%s", j)
				continue
			}
			require.NoError(t, c.Create(t.Context(), o), "%s", j)
		}
		for _, r := range gj.Spec.ReplicaSpecs {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: r.Type}, Spec: r.Template.Spec}
			require.NoError(t, c.Create(t.Context(), pod, client.DryRunAll), "%s: %s", j, r.Type)
		}
	}
}

// genericJobOf is the GenericJob that is made of a job.
func genericJobOf(t *testing.T, job client.Object) *v1beta1.GenericJob {
	t.Helper()
	if gj, is := job.(*v1beta1.GenericJob); is {
		return gj
	}
	p, err := pytorch.Compile(job.(*v1beta1.PyTorchTrainingJob))
	require.NoError(t, err)
	return &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: job.GetName()}, Spec: p.Spec}
}
