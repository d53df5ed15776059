package controllers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
)

// mayWatchNodes gives somebody the rights of deploy/node-conditions.
func (c *cluster) mayWatchNodes(user string) {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "deploy", "node-conditions", "node_conditions_role.yaml"))
	require.NoError(c.t, err)
	first, _, _ := strings.Cut(string(text), "\n---\n")
	role := &rbacv1.ClusterRole{}
	require.NoError(c.t, yaml.UnmarshalStrict([]byte(first), role))
	role.Name = user
	require.NoError(c.t, c.Create(c.ctx, role))
	require.NoError(c.t, c.Create(c.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-nodes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
}

// watchNodes tries to watch nodes with somebody's rights.
func (c *cluster) watchNodes(cfg *rest.Config) error {
	c.t.Helper()
	as, err := client.NewWithWatch(cfg, client.Options{})
	require.NoError(c.t, err)
	events, err := as.Watch(c.ctx, &corev1.NodeList{})
	if err == nil {
		events.Stop()
	}
	return err
}

func TestPodsKeepOffNodesWithABadCondition(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	require.True(t, apierrors.IsForbidden(c.watchNodes(c.operator)), "by itself the operator may not watch nodes")
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "sick-"}}
	require.NoError(t, c.Create(c.ctx, node))
	for range 4 { // a job never avoids most of a cluster, and this test may be the only one that runs
		require.NoError(t, c.Create(c.ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "well-"}}))
	}
	is := func(status corev1.ConditionStatus) {
		require.NoError(t, c.Get(c.ctx, client.ObjectKeyFromObject(node), node))
		node.Status.Conditions = []corev1.NodeCondition{{Type: "GpuXid79", Status: status, LastTransitionTime: metav1.NewTime(c.began)}}
		require.NoError(t, c.Status().Update(c.ctx, node))
	}
	is(corev1.ConditionTrue)
	tenant := c.tenant()
	c.mayWatchNodes(tenant)
	c.operate(operation{tenant: tenant, badNodes: badnodes.Options{Conditions: []badnodes.Condition{{Type: "GpuXid79", Status: corev1.ConditionTrue}}}})

	const spec = `{avoidNodes: {}, replicaSpecs: [{type: main, template: POD}]}`
	c.submit("avoids", spec)
	job := c.awaitPhase("avoids", v1beta1.JobRunning)
	require.Len(t, job.Status.AvoidedNodes, 1)
	n := job.Status.AvoidedNodes[0]
	require.Equal(t, node.Name, n.Node)
	require.Equal(t, v1beta1.AvoidCondition, n.Reason)
	require.Contains(t, n.Message, "node condition GpuXid79=True since ")
	require.Nil(t, n.Until)
	pod := c.pods(job)["main-0"]
	require.Equal(t, [][]string{{"NotIn " + node.Name}}, excluded(&pod))
	c.awaitEvent(job, "Warning NodeAvoided", "New pods avoid node "+node.Name+" as long as this lasts: node condition GpuXid79=True since ")

	c.submit("does-not", `{replicaSpecs: [{type: main, template: POD}]}`)
	pod = c.pods(c.awaitPhase("does-not", v1beta1.JobRunning))["main-0"]
	require.Empty(t, excluded(&pod), "a job without avoidNodes does not ask")

	is(corev1.ConditionFalse)
	i := 0
	c.until("pods may go there again", func() bool { // the operator learns of it by a watch
		i++
		name := fmt.Sprintf("again-%d", i)
		c.submit(name, spec)
		pod := c.pods(c.awaitPhase(name, v1beta1.JobRunning))["main-0"]
		return len(excluded(&pod)) == 0
	})
}
