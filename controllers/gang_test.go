package controllers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// podGroupCRD is the least that makes the apiserver take PodGroups of TensorStack's scheduler.
const podGroupCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: podgroups.scheduler.tensorstack.dev}
spec:
  group: scheduler.tensorstack.dev
  names: {kind: PodGroup, listKind: PodGroupList, plural: podgroups, singular: podgroup}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
`

func (c *cluster) installPodGroups() {
	c.t.Helper()
	crd := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal([]byte(podGroupCRD), crd))
	if err := c.Create(c.ctx, crd); !apierrors.IsAlreadyExists(err) {
		require.NoError(c.t, err)
	}
	c.until("PodGroups are served", func() bool {
		_, err := c.podGroup("nobody")
		return apierrors.IsNotFound(err) && !meta.IsNoMatchError(err)
	})
}

func (c *cluster) removePodGroups() {
	c.t.Helper()
	crd := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal([]byte(podGroupCRD), crd))
	if err := c.Delete(c.ctx, crd); !apierrors.IsNotFound(err) {
		require.NoError(c.t, err)
	}
	c.until("the CRD is gone", func() bool { return c.gone(crd) })
}

var podGroupKind = schema.GroupVersionKind{Group: "scheduler.tensorstack.dev", Version: "v1beta1", Kind: "PodGroup"}

func (c *cluster) podGroup(name string) (*unstructured.Unstructured, error) {
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(podGroupKind)
	group.SetNamespace(c.ns)
	group.SetName(name)
	return group, c.Get(c.ctx, keyOf(group), group)
}

const gang = "scheduler: {t9kScheduler: {queue: night, priority: 7}}\n"

// It runs before the parallel tests, some of which need the CRD that is missing here at first.
func TestGang(t *testing.T) {
	c := newCluster(t)
	c.removePodGroups()
	c.operate(operation{})
	c.submit("gang", gang+twoWorkers)
	job, told := c.awaitCondition("gang", v1beta1.ConditionBlocked, v1beta1.ReasonGangUnavailable)
	require.Contains(t, told.Message, "PodGroup of scheduler.tensorstack.dev/v1beta1")
	require.Contains(t, told.Message, "install the scheduler, and the job starts by itself")
	c.awaitEvent(job, "Warning GangUnavailable", "PodGroup")
	c.finishes("healthy")
	require.Empty(t, c.pods(job))
	require.Nil(t, c.job("gang").Status.StartTime)

	c.installPodGroups()
	job = c.awaitPhase("gang", v1beta1.JobRunning)
	require.Empty(t, condition(job, v1beta1.ConditionBlocked).Type)
	group, err := c.podGroup("gang")
	require.NoError(t, err)
	require.True(t, metav1.IsControlledBy(group, job))
	require.Equal(t, map[string]any{"minMember": int64(2), "queue": "night", "priority": int64(7)}, group.Object["spec"])
	for _, pod := range c.pods(job) {
		require.Equal(t, "t9k-scheduler", pod.Spec.SchedulerName)
		require.Equal(t, "gang", pod.Labels["scheduler.tensorstack.dev/group-name"])
		require.Equal(t, "night", pod.Labels["scheduler.tensorstack.dev/queue"])
		require.Equal(t, "worker", pod.Labels["scheduler.tensorstack.dev/role"])
	}

	c.edit("gang", func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs[0].Replicas = ptr.To[int32](3) })
	c.until("the gang grows", func() bool {
		group, err := c.podGroup("gang")
		members, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
		return err == nil && members == 3 && len(c.pods(job)) == 3
	})

	ofStranger, _ := c.podGroup("taken")
	require.NoError(t, unstructured.SetNestedField(ofStranger.Object, int64(1), "spec", "minMember"))
	require.NoError(t, c.Create(c.ctx, ofStranger))
	job = c.submit("taken", gang+twoWorkers)
	_, told = c.awaitCondition("taken", v1beta1.ConditionBlocked, v1beta1.ReasonNameConflict)
	require.Contains(t, told.Message, "PodGroup "+c.ns+"/taken exists already")
	require.Empty(t, c.pods(job))
	have, err := c.podGroup("taken")
	require.NoError(t, err)
	require.Equal(t, ofStranger.GetResourceVersion(), have.GetResourceVersion())
	require.NoError(t, c.Delete(c.ctx, ofStranger))
	c.awaitPhase("taken", v1beta1.JobRunning)
}
