package controllers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Definitions belong to the whole cluster, so the tests here run one after the other, each with a kind of its own.

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
