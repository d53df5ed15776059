package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestARefusedGenericJobIsTriedAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	const count = "count/genericjobs.batch.tensorstack.dev"
	c.quota(count, &v1beta1.GenericJob{Spec: v1beta1.GenericJobSpec{ReplicaSpecs: []v1beta1.ReplicaSpec{{Type: "main", Template: onePodTemplate("main")}}}})
	job := c.train("greedy", chiefAndTwo)
	told := c.awaitBlocked("greedy", v1beta1.ReasonCreateFailed)
	require.Contains(t, told.Message, "exceeded quota")
	c.awaitEvent(job, "Warning CreateFailed", "exceeded quota")
	c.allow(count, "1")
	c.awaitTraining("greedy", v1beta1.JobRunning)
}

func quantities(name corev1.ResourceName, n string) corev1.ResourceList {
	return corev1.ResourceList{name: resource.MustParse(n)}
}

// quota allows none of a resource in the namespace, and waits until the apiserver heeds it: the create of probe must be denied. There is
// nobody but the test who writes what a quota allows.
func (c *cluster) quota(name corev1.ResourceName, probe client.Object) *corev1.ResourceQuota {
	c.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "quota", Namespace: c.ns}, Spec: corev1.ResourceQuotaSpec{Hard: quantities(name, "0")}}
	require.NoError(c.t, c.Create(c.ctx, quota))
	c.allow(name, "0")
	probe.SetNamespace(c.ns)
	probe.SetName("probe")
	c.until("the quota is heeded", func() bool {
		err := c.Create(c.ctx, probe.DeepCopyObject().(client.Object), client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "exceeded quota")
	})
	return quota
}

// allow lets the namespace have so many of what its quota counts. The quota's own admission plugin writes to it, too.
func (c *cluster) allow(name corev1.ResourceName, n string) {
	c.t.Helper()
	c.until("the quota's status is written", func() bool {
		quota := &corev1.ResourceQuota{}
		require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: "quota"}, quota))
		if quota.Status.Hard = quantities(name, n); quota.Status.Used == nil {
			quota.Status.Used = quantities(name, "0")
		}
		return c.Status().Update(c.ctx, quota) == nil
	})
}
