package controllers_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// tenant is somebody who may in this namespace what the operator may in all, and nothing elsewhere.
func (c *cluster) tenant() string {
	c.t.Helper()
	name := "tenant-of-" + c.ns
	for _, folder := range []string{"rbac", "kubeflow/component"} {
		text, err := os.ReadFile(filepath.Join("..", "deploy", folder, "manager_role.yaml"))
		require.NoError(c.t, err)
		first, _, _ := strings.Cut(string(text), "\n---\n")
		meta := metav1.ObjectMeta{Namespace: c.ns, GenerateName: "tenant-"}
		role := &rbacv1.Role{}
		require.NoError(c.t, yaml.Unmarshal([]byte(first), role))
		role = &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}
		require.NoError(c.t, c.Create(c.ctx, role))
		require.NoError(c.t, c.Create(c.ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
		}))
	}
	return name
}

// Kueue admits in flavors, which no namespace holds: an operator that may not read them says so, and goes on when it may.
func TestKueueAdmitsForAnOperatorOfOneNamespace(t *testing.T) {
	c := newCluster(t)
	c.installQueues()
	tenant := c.tenant()
	c.operate(operation{tenant: tenant})
	c.submit("job", "scheduler: {kueue: {queueName: team}}"+threeWorkers)
	c.until("its Workload is there", func() bool { return c.workload("job") != nil })
	c.admit("job", 3)
	job := c.await("job", func(j *v1beta1.GenericJob) bool {
		return condition(j, v1beta1.ConditionBlocked).Reason == v1beta1.ReasonGangUnavailable
	})
	require.Contains(t, condition(job, v1beta1.ConditionBlocked).Message, "Give it the rights of the ClusterRole genericjob-cluster-reader")
	require.Empty(t, c.pods(job))
	require.NoError(t, c.Create(c.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: tenant},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-reader"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: tenant}},
	}))
	c.awaitPhase("job", v1beta1.JobRunning)
	for _, replica := range []string{"worker-0", "worker-1", "worker-2"} {
		c.finish(job, replica, 0)
	}
	c.awaitPhase("job", v1beta1.JobSucceeded)
}
