package controllers_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/definitions"
)

// Definitions belong to the whole cluster, so the tests here run one after the other, each with a kind of its own.

// newKind is the kind of a test.
func newKind(name string) v1beta1.FrameworkKind {
	return v1beta1.FrameworkKind{Group: strings.ToLower(name) + ".example.com", Version: "v1alpha1", Kind: name}
}

// installKind gives the cluster JAXJobs under another name.
func (c *cluster) installKind(kind v1beta1.FrameworkKind) {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "crd.yaml"))
	require.NoError(c.t, err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(c.t, yaml.UnmarshalStrict(raw, crd))
	lower := strings.ToLower(kind.Kind)
	crd.Name = lower + "s." + kind.Group
	crd.Spec.Group = kind.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: kind.Kind, ListKind: kind.Kind + "List", Plural: lower + "s", Singular: lower}
	require.NoError(c.t, c.Create(c.ctx, crd))
	c.until(kind.Kind+" is served", func() bool {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: kind.Group, Version: kind.Version, Kind: kind.Kind + "List"})
		return c.List(c.ctx, list) == nil
	})
}

// grantKind lets the operator do with the kind what the role of the catalog says. Kubernetes' controller of aggregated roles, which
// does not run here, would add it to the operator's.
func (c *cluster) grantKind(kind v1beta1.FrameworkKind) {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "roles.yaml"))
	require.NoError(c.t, err)
	plural := strings.ToLower(kind.Kind) + "s"
	first, _, _ := strings.Cut(strings.NewReplacer("frameworks.example.com", kind.Group, "jaxjobs", plural).Replace(string(raw)), "\n---\n")
	role := &rbacv1.ClusterRole{}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(first), role))
	require.Equal(c.t, map[string]string{definitions.LabelAggregate: "true"}, role.Labels)
	role.Name = plural
	require.NoError(c.t, c.Create(c.ctx, role))
	require.NoError(c.t, c.Create(c.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: plural},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: plural},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "system:serviceaccount:system:manager"}},
	}))
}

// define applies the definition of JAX for another kind.
func (c *cluster) define(name string, kind v1beta1.FrameworkKind, edits ...string) *v1beta1.TrainingFramework {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "deploy", "frameworks", "jax", "framework.yaml"))
	require.NoError(c.t, err)
	f := &v1beta1.TrainingFramework{}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(strings.NewReplacer(edits...).Replace(string(raw))), f))
	f.Name, f.Spec.Kind = name, kind
	have := &v1beta1.TrainingFramework{}
	err = c.Get(c.ctx, client.ObjectKey{Name: name}, have)
	if apierrors.IsNotFound(err) {
		require.NoError(c.t, c.Create(c.ctx, f))
		c.t.Cleanup(func() { _ = c.Delete(context.Background(), f) }) // the test's own context has ended
		return f
	}
	require.NoError(c.t, err)
	have.Spec = f.Spec
	c.until("the definition is edited", func() bool {
		err := c.Update(c.ctx, have)
		if apierrors.IsConflict(err) {
			require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: name}, have))
			have.Spec = f.Spec
		}
		return err == nil
	})
	return have
}

// awaitDefinition waits until a condition of a definition is so, and answers to its newest edit.
func (c *cluster) awaitDefinition(name, condition string, is metav1.ConditionStatus, reason string) (*v1beta1.TrainingFramework, string) {
	c.t.Helper()
	f := &v1beta1.TrainingFramework{}
	var have *metav1.Condition
	c.until(fmt.Sprintf("TrainingFramework %s is %s=%s, %s", name, condition, is, reason), func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Name: name}, f))
		have = meta.FindStatusCondition(f.Status.Conditions, condition)
		return have != nil && have.Status == is && have.Reason == reason && have.ObservedGeneration == f.Generation
	})
	return f, have.Message
}

// submitJAX creates a job of a kind of a definition, with one process that has these arguments.
func (c *cluster) submitJAX(kind v1beta1.FrameworkKind, name, arguments string) *unstructured.Unstructured {
	c.t.Helper()
	job := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal([]byte(fmt.Sprintf(`{apiVersion: %s/%s, kind: %s, metadata: {name: %s, namespace: %s},
		spec: {template: {spec: {containers: [{name: jax, image: busybox, args: %s}]}}}}`, kind.Group, kind.Version, kind.Kind, name, c.ns, arguments)), &job.Object))
	require.NoError(c.t, c.Create(c.ctx, job))
	return job
}

func (c *cluster) awaitJAX(job *unstructured.Unstructured, phase v1beta1.JobPhase) {
	c.t.Helper()
	c.until(fmt.Sprintf("%s %s is %s", job.GetKind(), job.GetName(), phase), func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		shown, _, _ := unstructured.NestedString(job.Object, "status", "phase")
		return shown == string(phase)
	})
}

// awaitCompiled waits for the GenericJob of a job.
func (c *cluster) awaitCompiled(name string) *v1beta1.GenericJob {
	c.t.Helper()
	c.until("GenericJob "+name, func() bool {
		return c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, &v1beta1.GenericJob{}) == nil
	})
	return c.job(name)
}

func envOf(job *v1beta1.GenericJob) string {
	return job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env[3].Name
}

// TestADefinitionComesIsEditedAndGoesWhileTheOperatorRuns is the life of one.
func TestADefinitionComesIsEditedAndGoesWhileTheOperatorRuns(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("LifeJob")

	c.define("life", kind)
	_, message := c.awaitDefinition("life", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonKindMissing)
	require.Contains(t, message, "The cluster has no kind LifeJob of lifejob.example.com/v1alpha1: install its CRD.")
	c.awaitDefinition("life", v1beta1.FrameworkAccepted, metav1.ConditionUnknown, v1beta1.ReasonKindMissing)
	c.installKind(kind)
	_, message = c.awaitDefinition("life", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonRightsMissing)
	require.Contains(t, message, "list lifejobs of lifejob.example.com")
	require.Contains(t, message, "update lifejobs/status of lifejob.example.com")
	c.grantKind(kind)
	first, _ := c.awaitDefinition("life", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.awaitDefinition("life", v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted)
	require.Len(t, first.Status.Revisions, 1)

	old := c.submitJAX(kind, "old", "[]")
	c.awaitJAX(old, v1beta1.JobRunning)
	compiled := c.job("old")
	require.Equal(t, first.Status.Revisions[0].Name, compiled.Annotations[v1beta1.AnnotationFrameworkRevision])
	require.True(t, metav1.IsControlledBy(compiled, old))
	require.Equal(t, "PROCESS_ID", envOf(compiled))

	c.define("life", kind, "PROCESS_ID", "PROCESS")
	c.until("another revision", func() bool {
		f, _ := c.awaitDefinition("life", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
		return len(f.Status.Revisions) == 2
	})
	c.submitJAX(kind, "new", "[]")
	require.Equal(t, "PROCESS", envOf(c.awaitCompiled("new")))
	pause := func(enabled bool) {
		c.until("the edit is taken", func() bool { // statuses are written meanwhile
			require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(old), old))
			require.NoError(t, unstructured.SetNestedField(old.Object, enabled, "spec", "runMode", "pause", "enabled"))
			return c.Update(c.ctx, old) == nil
		})
	}
	pause(true)
	c.awaitJAX(old, v1beta1.JobPaused) // an edit of the job is compiled, by the revision that compiled the job
	require.Equal(t, "PROCESS_ID", envOf(c.job("old")))
	pause(false)
	c.awaitJAX(old, v1beta1.JobRunning)

	require.NoError(t, c.Delete(c.ctx, first))
	c.until("nobody watches the kind", func() bool { return c.watches("lifejobs") == 0 })
	c.awaitEvent(first, "Warning "+v1beta1.ReasonDefinitionDeleted, "TrainingFramework life is deleted, and 2 jobs of kind LifeJob are not over")
	c.awaitEvent(old, "Warning "+v1beta1.ReasonNotServed, "the job goes on as GenericJob old, but what it shows stands still")
	c.awaitEvent(c.submitJAX(kind, "unserved", "[]"), "Warning "+v1beta1.ReasonNotServed, "No TrainingFramework serves the kind LifeJob: nothing is made of this job")
	require.True(t, metav1.IsControlledBy(c.awaitPhase("old", v1beta1.JobRunning), old))
	c.finish(c.job("old"), "process-0", 0)
	c.awaitPhase("old", v1beta1.JobSucceeded)
	c.awaitEvent(old, "Normal "+v1beta1.ReasonSucceeded, "")
	require.Error(t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "unserved"}, &v1beta1.GenericJob{}))

	c.define("life", kind)
	c.awaitJAX(old, v1beta1.JobSucceeded) // the definition of old is here again
	c.awaitCompiled("unserved")

	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "lifejobs." + kind.Group}}
	require.NoError(t, c.Delete(c.ctx, crd))
	c.awaitDefinition("life", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonKindMissing)
	c.until("nobody watches a kind that is gone", func() bool { return c.watches("lifejobs") == 0 })
	c.awaitPhase("unserved", v1beta1.JobRunning)
}

// TestARevisionIsKeptAsLongAsAJobNeedsIt makes as many as are kept, each with a job.
func TestARevisionIsKeptAsLongAsAJobNeedsIt(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("KeptJob")
	c.installKind(kind)
	c.grantKind(kind)
	edition := func(i int) string { return fmt.Sprint("EDITION_", i) }
	for i := range 10 {
		c.define("kept", kind, "PROCESS_ID", edition(i))
		c.until("one more revision", func() bool {
			f, _ := c.awaitDefinition("kept", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
			return len(f.Status.Revisions) == i+1
		})
		c.submitJAX(kind, fmt.Sprint("job-", i), "[]")
		require.Equal(t, edition(i), envOf(c.awaitCompiled(fmt.Sprint("job-", i))))
	}
	for i := range 10 { // then the operator's cache shows that job, which needs its revision
		c.awaitPhase(fmt.Sprint("job-", i), v1beta1.JobRunning)
	}
	c.define("kept", kind, "PROCESS_ID", edition(10))
	_, message := c.awaitDefinition("kept", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonTooManyRevisions)
	require.Contains(t, message, "Unfinished jobs need each of the 10 revisions that are kept")

	c.finish(c.job("job-4"), "process-0", 0)
	c.awaitPhase("job-4", v1beta1.JobSucceeded)
	f, _ := c.awaitDefinition("kept", v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted)
	require.Len(t, f.Status.Revisions, 10)
	for _, revision := range f.Status.Revisions {
		require.NotContains(t, revision.Spec.Variables[1].Expression, edition(4)+"'")
	}
}

// watches is how many watches of a resource the apiserver has.
func (c *cluster) watches(resource string) int {
	c.t.Helper()
	set, err := kubernetes.NewForConfig(apiserver)
	require.NoError(c.t, err)
	raw, err := set.RESTClient().Get().AbsPath("/metrics").DoRaw(c.ctx)
	require.NoError(c.t, err)
	n := 0
	for _, line := range regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*resource="`+resource+`".*\} (\d+)$`).FindAllStringSubmatch(string(raw), -1) {
		var one int
		_, err := fmt.Sscan(line[1], &one)
		require.NoError(c.t, err)
		n += one
	}
	return n
}

func TestBadDefinitionsDisturbNobody(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	good, bad, worse := newKind("GoodJob"), newKind("BadJob"), newKind("WorseJob")
	for _, kind := range []v1beta1.FrameworkKind{good, bad, worse} {
		c.installKind(kind)
		c.grantKind(kind)
	}
	c.define("bad", bad, "job.spec.?replicas", "job.spec.?replica", "restartScope: Job", "restartScop: Job")
	c.define("worse", worse, "portNumber('jax', 'jax', 6666)", "portNumber('jax')")
	c.define("good", good)
	c.awaitDefinition("bad", v1beta1.FrameworkServing, metav1.ConditionFalse, v1beta1.ReasonNotAccepted) // its kind is there
	_, message := c.awaitDefinition("bad", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Equal(t, "spec.genericJob.replicaSpecs[0].replicas: undefined field 'replica' (character 9)\nspec.genericJob.restartScop: there is no such field", message)
	_, message = c.awaitDefinition("worse", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.variables[0].expression: found no matching overload for 'portNumber'")
	c.awaitJAX(c.submitJAX(good, "good", "[]"), v1beta1.JobRunning)

	// A mistake in an edit: what was accepted goes on.
	c.define("good", good, "restartScope: Job", "restartScop: Job")
	_, message = c.awaitDefinition("good", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "Until this is mended, jobs are compiled by revision ")
	c.awaitDefinition("good", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.awaitJAX(c.submitJAX(good, "another", "[]"), v1beta1.JobRunning)

	c.define("bad", bad)
	c.awaitJAX(c.submitJAX(bad, "mended", "[]"), v1beta1.JobRunning)
}

func TestAKindHasOneDefinition(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("RivalJob")
	c.installKind(kind)
	c.grantKind(kind)
	first := c.define("z-first", kind)
	c.awaitDefinition("z-first", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.until("a second has passed", func() bool { return metav1.Now().Unix() > first.CreationTimestamp.Unix()+1 })
	c.define("second", kind, "PROCESS_ID", "PROCESS")
	_, message := c.awaitDefinition("second", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
	require.Contains(t, message, "TrainingFramework z-first is older")
	job := c.submitJAX(kind, "one", "[]")
	c.awaitJAX(job, v1beta1.JobRunning)
	require.Equal(t, "PROCESS_ID", envOf(c.job("one")))

	require.NoError(t, c.Delete(c.ctx, first))
	c.awaitDefinition("second", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.submitJAX(kind, "two", "[]")
	require.Equal(t, "PROCESS", envOf(c.awaitCompiled("two")))
	// The revision of the first job is not the second definition's: the job goes on as it is, and says so.
	require.Contains(t, c.awaitHeld(job), "which is not kept any more. Create the job again to have it compiled anew. Until then the job goes on as it was.")
	require.Equal(t, "PROCESS_ID", envOf(c.job("one")))

	c.define("go", v1beta1.FrameworkKind{Group: "other.example.com", Version: "v1", Kind: v1beta1.KindPyTorchTrainingJob})
	_, message = c.awaitDefinition("go", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
	require.Equal(t, "The operator serves a kind PyTorchTrainingJob without a definition.", message)
}

// awaitHeld waits until a job is blocked for its spec, and returns why.
func (c *cluster) awaitHeld(job *unstructured.Unstructured) (message string) {
	c.t.Helper()
	c.until(job.GetName()+" is blocked", func() bool {
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKeyFromObject(job), job))
		list, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
		for _, one := range list {
			condition := one.(map[string]any)
			if condition["type"] == string(v1beta1.ConditionBlocked) && condition["status"] == "True" {
				message = condition["message"].(string)
				return condition["reason"] == v1beta1.ReasonRevisionUnknown
			}
		}
		return false
	})
	return message
}

func TestAJobForWhichAnExpressionIsTooDearFailsAlone(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("DearJob")
	c.installKind(kind)
	c.grantKind(kind)
	const args = "job.spec.template.spec.containers[0].?args.orValue([])"
	c.define("dear", kind, "  validations:", "  validations:\n    - expression: "+args+".all(a, "+args+".all(b, a + b != 'x'))\n      message: never")
	c.awaitDefinition("dear", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.installKind(newKind("DearerJob"))
	c.define("dearer", newKind("DearerJob"), "  validations:", "  validations:\n    - expression: "+args+".all(a, "+args+".all(b, "+args+".all(c, a + b + c != 'x')))\n      message: never")
	_, message := c.awaitDefinition("dearer", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, "spec.validations[0].expression: may cost up to ")
	dear := c.submitJAX(kind, "dear", "["+strings.Repeat("abc,", 1000)+"]")
	c.awaitJAX(c.submitJAX(kind, "cheap", "[abc]"), v1beta1.JobRunning)
	c.awaitJAX(dear, v1beta1.JobFailed)
	raw, err := dear.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(raw), "spec.validations[0].expression: the expression costs more than 1000000 for this job: it takes too long")
	require.Contains(t, string(raw), `"reason":"InvalidDefinition"`)
	require.Contains(t, string(raw), "TrainingFramework dear is at fault, and not the job: spec.validations[0].expression: ")
}

// TestWhatNoTypeTellsIsTheDefinitionsFault: no user could mend it, and the job says who can.
func TestWhatNoTypeTellsIsTheDefinitionsFault(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("FaultJob")
	c.installKind(kind)
	c.grantKind(kind)
	c.define("fault", kind, "${job.spec.?replicas.orValue(1)}", "${dyn(job.spec).nope}")
	c.awaitDefinition("fault", v1beta1.FrameworkServing, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "blameless", "[]")
	c.awaitJAX(job, v1beta1.JobFailed)
	const message = "TrainingFramework fault is at fault, and not the job: spec.genericJob.replicaSpecs[0].replicas: no such key: nope. Tell a cluster admin, who has to mend the definition."
	c.awaitEvent(job, "Warning Failed", message)
	raw, err := job.MarshalJSON()
	require.NoError(t, err)
	require.Contains(t, string(raw), `"reason":"InvalidDefinition"`)

	// The types do tell of this: such a definition compiles no job.
	c.define("fault", kind, "${job.spec.?replicas.orValue(1)}", "${job.spec.replicas}", "restartPolicy('OnFailure')", "restartPolicy('Onfailure')", "findContainer('jax')", "findContainer('jaxx')")
	f, told := c.awaitDefinition("fault", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	for _, mistake := range []string{
		"spec.genericJob.replicaSpecs[0].replicas: a job may leave out replicas", "restartPolicy.policy: is Onfailure: ", "a template of the job may have no container named jax",
	} {
		require.Contains(t, told, mistake)
	}
	c.awaitEvent(f, "Warning "+v1beta1.ReasonInvalidDefinition, "a job may leave out replicas")
}
