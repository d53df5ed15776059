package controllers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestKindsThatDifferInCaseAloneShareNoCRD: the name of a CRD has no capital letters, so two kinds may want the same.
func TestKindsThatDifferInCaseAloneShareNoCRD(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind, other := newKind("CaseJob"), newKind("CasejoB")
	c.define("case", kind, "validations:", schemaOfJAX)
	c.grantKind(kind)
	c.awaitDefinition("case", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	made := c.crd(kind)
	c.define("othercase", other, "validations:", strings.Replace(schemaOfJAX, "maximum: 10000", "maximum: 2", 1))
	_, message := c.awaitDefinition("othercase", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
	require.Contains(t, message, "CustomResourceDefinition casejobs.casejob.example.com is there, of kind CaseJob")
	require.Equal(t, made.Generation, c.crd(kind).Generation)
	c.awaitDefinition("case", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
}

// TestACRDThatTheApiserverDoesNotTakeIsToldOf: templates are large, and some of them are more than a cluster can store.
func TestACRDThatTheApiserverDoesNotTakeIsToldOf(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("LargeJob")
	large := func(n int) string {
		text := "properties:"
		for i := range n {
			text += fmt.Sprintf("\n      template%d: {$ref: PodTemplateSpec}", i)
		}
		return strings.Replace(schemaOfJAX, "properties:", text, 1)
	}
	c.define("large", kind, "validations:", large(1500))
	_, message := c.awaitDefinition("large", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition)
	require.Contains(t, message, ".$ref: is one too many: a schema may hold 16")
	c.define("large", kind, "validations:", large(12))
	c.awaitDefinition("large", v1beta1.FrameworkAccepted, metav1.ConditionTrue, v1beta1.ReasonAccepted)
}

// TestADefinitionIsRenamed: another of the same text takes the kind over, and the jobs do not notice.
func TestADefinitionIsRenamed(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("RenamedJob")
	c.installKind(kind)
	c.grantKind(kind)
	names := []string{"renamed-0"}
	was := c.define(names[0], kind)
	c.awaitDefinition(names[0], v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "one", "[]")
	c.awaitJAX(job, v1beta1.JobRunning)
	for i := 1; i < 8; i++ {
		c.until("a second has passed", func() bool { return metav1.Now().Unix() > was.CreationTimestamp.Unix()+1 })
		name := fmt.Sprint("renamed-", i)
		is := c.define(name, kind)
		c.awaitDefinition(name, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
		require.NoError(t, c.Delete(c.ctx, was))
		c.awaitDefinition(name, v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
		c.until("one watches the kind", func() bool { return c.watches("renamedjobs") == 1 })
		list := &eventsv1.EventList{}
		require.NoError(t, c.List(c.ctx, list, client.MatchingFields{"reason": v1beta1.ReasonDefinitionDeleted}))
		for _, e := range list.Items {
			require.NotEqual(t, was.Name, e.Regarding.Name, e.Note)
		}
		was = is
	}
	c.finish(c.job("one"), "process-0", 0)
	c.awaitJAX(job, v1beta1.JobSucceeded)
}

// TestOneOfTwoDefinitionsOfTheSameSecondServes: by their names, though the other was there first and has begun.
func TestOneOfTwoDefinitionsOfTheSameSecondServes(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("SecondJob")
	c.installKind(kind)
	c.grantKind(kind)
	for tries := 1; ; tries++ {
		now := metav1.Now().Unix()
		c.until("a second begins", func() bool { return metav1.Now().Unix() > now })
		z := c.define("z-second", kind)
		if tries <= 20 { // a slow machine never has it ready within the second
			c.awaitDefinition("z-second", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
		}
		a := c.define("a-second", kind)
		if a.CreationTimestamp.Equal(&z.CreationTimestamp) {
			break
		}
		require.NoError(t, c.Delete(c.ctx, a))
		require.NoError(t, c.Delete(c.ctx, z))
	}
	c.awaitDefinition("a-second", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	_, message := c.awaitDefinition("z-second", v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonKindConflict)
	require.Contains(t, message, "TrainingFramework a-second is older")
	c.until("one watches the kind", func() bool { return c.watches("secondjobs") == 1 })
	c.awaitJAX(c.submitJAX(kind, "one", "[]"), v1beta1.JobRunning)
}

// TestAKindThatSomebodyDeletesIsMadeAgain: its jobs are gone with it, and new ones run.
func TestAKindThatSomebodyDeletesIsMadeAgain(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{definitions: true})
	kind := newKind("GoneJob")
	c.define("gone", kind, "validations:", schemaOfJAX)
	c.grantKind(kind)
	c.awaitDefinition("gone", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	job := c.submitJAX(kind, "one", "[]")
	c.awaitJAX(job, v1beta1.JobRunning)
	before := c.crd(kind)
	require.NoError(t, c.Delete(c.ctx, before))
	c.until("the kind is there again", func() bool {
		now := &apiextensionsv1.CustomResourceDefinition{}
		return c.Get(c.ctx, client.ObjectKeyFromObject(before), now) == nil && now.UID != before.UID
	})
	c.awaitDefinition("gone", v1beta1.FrameworkReady, metav1.ConditionTrue, v1beta1.ReasonServing)
	c.until("the kind is served", func() bool {
		two := job.DeepCopy()
		two.SetName("two")
		two.SetResourceVersion("")
		two.SetUID("")
		return c.Create(c.ctx, two) == nil
	})
	c.awaitCompiled("two")
}
