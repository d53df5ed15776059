package verbs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
)

// What is synced, and how, is tested with real wrappers in package code, and with real pods by TestGJ of e2e/suite.

func TestSyncAndRestartSayWhatTheyLack(t *testing.T) {
	s := newSpace(t)
	src := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(src, "train.py"), nil, 0o600))
	job := s.genericJob("replaced", phase(v1beta1.JobRunning))
	for rank := range 2 {
		s.pod(job, rank, "node-a", running())
	}
	_, problem, code := s.types("restart", "replaced")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "GenericJob/replaced: the pods of type worker have no wrapper, which alone can begin code again: spec.restartStrategy is not set, which is Recreate. Set it to InPlace, in a pause (`kubectl gj pause gj/replaced -n "+s.ns+" --wait`)")
	s.create("tfjob", "kubeflows", specs["tfjob"])
	_, problem, code = s.types("restart", "kubeflows")
	require.Equal(t, 4, code)
	require.Contains(t, problem, "TFJob/kubeflows has no GenericJob yet")

	inPlace := s.create("gj", "coded", `{restartStrategy: InPlace, replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: i, command: [train]}]}}}]}`).(*v1beta1.GenericJob)
	s.setStatus(inPlace, phase(v1beta1.JobRunning))
	_, problem, code = s.types("sync", "coded", src+":/app")
	require.Equal(t, 4, code)
	require.Contains(t, problem, "GenericJob/coded: worker-0 has no pod, worker-1 has no pod. Nothing was changed")
	for rank := range 2 {
		pod := build.NewBuilder(inPlace, build.Run{WrapperImage: "w"}).Pod("worker", rank, 0)
		pod.Finalizers = nil
		require.NoError(t, s.Create(t.Context(), pod))
		status := running()
		status.ContainerStatuses[0].Name = "main"
		s.become(pod, status)
	}
	_, problem, code = s.types("sync", "coded", src+":/app", "--restart")
	require.Equal(t, 4, code)
	require.Contains(t, problem, "does not have a host assigned", "there is no node here")
	require.Contains(t, problem, "Nothing was changed, and the code runs on")
	_, problem, code = s.types("sync", "coded", src+"/absent:/app")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "no such file")

	// Who may read jobs and pods may not exec by that.
	meta := metav1.ObjectMeta{Name: "reader", Namespace: s.ns}
	require.NoError(t, s.Create(t.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1beta1.GroupVersion.Group, ""}, Resources: []string{"genericjobs", "pods"}, Verbs: []string{"get", "list"}}}}))
	require.NoError(t, s.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "eve"}}}))
	until(t, "her rights hold", func() bool { // the apiserver hears of a binding a moment later
		_, problem, code = s.types("restart", "gj/coded", "--as=eve")
		return strings.Contains(problem, "pods/exec")
	})
	require.Equal(t, 4, code)
	require.Contains(t, problem, "worker-1: you may not exec in its pod: ask for the right to create and get pods/exec in namespace "+s.ns)
}
