package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// start runs the manager, one of several that wait for one lease, until the test ends. It returns where its health is asked
// for, the file with its log, and what ends it.
func start(t *testing.T, user envtest.User, flags ...string) (health, log string, end func()) {
	t.Helper()
	health, log = testenv.FreeAddress(t), filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	require.NoError(t, err)
	flags = append([]string{"-health-probe-bind-address=" + health, "-metrics-bind-address=0", "-leader-elect", "-leader-elect-namespace=default"}, flags...)
	manager := exec.Command(binary, flags...)
	manager.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(t, user))
	manager.Stdout, manager.Stderr = out, out
	require.NoError(t, manager.Start())
	t.Cleanup(func() {
		_ = manager.Process.Kill()
		_ = manager.Wait()
		_ = out.Close()
	})
	return health, log, func() { require.NoError(t, manager.Process.Signal(syscall.SIGTERM)) }
}

// grant lets a user do what the rules say.
func grant(t *testing.T, c client.Client, name, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	require.NoError(t, c.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}))
	require.NoError(t, c.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}))
}

// rulesOf returns the rules of the first role of a file.
func rulesOf(t *testing.T, file string) []rbacv1.PolicyRule {
	t.Helper()
	text, err := os.ReadFile("../../deploy/rbac/" + file)
	require.NoError(t, err)
	role := rbacv1.ClusterRole{}
	require.NoError(t, yaml.Unmarshal([]byte(strings.Split(string(text), "\n---\n")[0]), &role))
	return role.Rules
}

// allBut returns the rules of the operator's role, without one resource.
func allBut(t *testing.T, resource string) []rbacv1.PolicyRule {
	t.Helper()
	rules := rulesOf(t, "manager_role.yaml")
	for i := range rules {
		rules[i].Resources = slices.DeleteFunc(rules[i].Resources, func(r string) bool { return r == resource })
	}
	return slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.Resources) == 0 && len(r.NonResourceURLs) == 0 })
}

// An operator called itself ready that knew of no job yet. And one must get ready that waits for the lease: a rolling update
// keeps the old one, which has it, until then.
func TestReadyMeansThatTheCachesAreFilledOfWhoeverLeads(t *testing.T) {
	scheme, err := controllers.NewScheme()
	require.NoError(t, err)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	ready := func(health string) bool { return get(t, "http://"+health+"/readyz", "") == http.StatusOK }
	said := func(file, text string) bool {
		log, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(log), text)
	}
	holder := func() string {
		lease := &coordinationv1.Lease{}
		_ = c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "genericjob.batch.tensorstack.dev"}, lease)
		return ptr.Deref(lease.Spec.HolderIdentity, "")
	}
	left := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "genericjob.batch.tensorstack.dev"}}
	require.NoError(t, client.IgnoreNotFound(c.Delete(t.Context(), left)), "of an operator of another test, which was killed")
	leader, ofLeader, end := start(t, envtest.User{Name: "leader", Groups: []string{"system:masters"}})
	var first string
	eventually(t, "the first leads", func() bool {
		first = holder()
		return first != ""
	})
	eventually(t, "the first is ready", func() bool { return ready(leader) })
	require.True(t, said(ofLeader, `{"level":"info"`), "programs read the log")
	for tries := 1; ; tries++ {
		if attack(t, leader); ready(leader) {
			break
		}
		require.Less(t, tries, 5, "strangers keep somebody out, and no machine stalls each time")
	}

	grant(t, c, "half", "half", append(append(allBut(t, "pytorchtrainingjobs"), rulesOf(t, "framework_roles.yaml")...),
		rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}})...)
	heir, log, _ := start(t, envtest.User{Name: "half"}, "-zap-encoder=console", "-zap-log-level=debug")
	eventually(t, "the heir asks for its caches", func() bool {
		require.False(t, ready(heir), "it may not list PyTorchTrainingJobs")
		return said(log, "PyTorchTrainingJob is being filled")
	})
	require.True(t, said(log, "\tDEBUG\t"), "people read the log, and want to know more")
	grant(t, c, "rest", "half", rbacv1.PolicyRule{
		APIGroups: []string{"batch.tensorstack.dev"}, Resources: []string{"pytorchtrainingjobs"}, Verbs: []string{"get", "list", "watch"},
	})
	eventually(t, "the heir is ready", func() bool { return ready(heir) })
	eventually(t, "and does not lead, unless the machine stalled for longer than a lease lasts", func() bool {
		return holder() == first || said(ofLeader, "leader election lost")
	})

	end()
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "inherited", Namespace: "default"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "main", Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "busybox"}}},
	}}}
	require.NoError(t, c.Create(t.Context(), job))
	pods := &corev1.PodList{}
	eventually(t, "the heir works", func() bool {
		return holder() != first && c.List(t.Context(), pods, client.MatchingLabels{v1beta1.LabelJobUID: string(job.UID)}) == nil && len(pods.Items) == 1
	})
}

// attack does to the port of the probes what took a manager from 57 to 1,231 MiB. It opens 150 connections, each with a megabyte of
// headers that do not end. None of them may be read to its end, and none may be answered as if it had been.
func attack(t *testing.T, address string) {
	t.Helper()
	begun := "GET /healthz HTTP/1.1\r\nHost: a\r\nX: "
	var all sync.WaitGroup
	for range 150 {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		all.Go(func() { _, _ = io.WriteString(c, begun+strings.Repeat("x", 990_000)+"\r\n\r\n") })
		all.Go(func() {
			if answer, _ := io.ReadAll(c); strings.Contains(string(answer), "200 OK") {
				t.Errorf("a megabyte of headers is read: %s", answer)
			}
		})
	}
	all.Wait()
	for range 150 {
		c, err := net.Dial("tcp", address)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		_, _ = io.WriteString(c, begun) // and waits
	}
}
