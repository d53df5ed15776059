package verbs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
)

// A member of a team that deploy/tenant gives its rights has enough of them for each verb, for jobs of all kinds.
func TestATeamHasTheRightsForEachVerb(t *testing.T) {
	s := newSpace(t)
	raw, err := os.ReadFile("deploy/tenant/namespace/roles.yaml")
	require.NoError(t, err)
	role := &rbacv1.Role{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(strings.Split(string(raw), "\n---\n")[0]), role))
	require.Equal(t, "trainer", role.Name)
	role.Namespace = s.ns
	require.NoError(t, s.Create(t.Context(), role))
	require.NoError(t, s.Create(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "trainers"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "trainer"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "team"}}}))
	job := s.create("gj", "ours", `{restartStrategy: InPlace, replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: i, command: [train]}]}}}]}`).(*v1beta1.GenericJob)
	s.setStatus(job, phase(v1beta1.JobRunning))
	for rank := range 2 {
		pod := build.NewBuilder(job, build.Run{WrapperImage: "w"}).Pod("worker", rank, 0)
		pod.Finalizers = nil
		require.NoError(t, s.Create(t.Context(), pod))
		status := running()
		status.ContainerStatuses[0].Name = "main"
		s.become(pod, status)
	}
	s.create("pj", "torch", specs["pj"])
	s.create("tfjob", "theirs", specs["tfjob"])
	until(t, "the rights hold", func() bool { _, _, code := s.types("list", "--as=anna", "--as-group=team"); return code == 0 })
	for _, line := range []string{
		"list", "list -o html", "top", "top ours", "tree ours", "tree pj/torch", "tree theirs", "why ours", "why pj/torch", "why theirs", "report ours --logs=false", "logs ours",
		"wait ours --timeout=1ms", "tensorboard torch", "scale ours 3", "debug ours", "debug ours --off", "pause ours", "resume ours", "pause torch", "pause theirs",
		"set image torch x", "set env torch A=b", "set args torch --type=worker -- x", "restart ours", "sync ours deploy:/app", "debug ours --shell=worker-0 --timeout=1ms",
	} {
		out, problem, _ := s.types(append(strings.Fields("--as=anna --as-group=team"), strings.Fields(line)...)...)
		require.NotContains(t, out+problem, "forbidden", line)
		require.NotContains(t, out+problem, "may not", line)
	}
	// Who is of no team has none of them.
	_, problem, _ := s.types("--as=eve", "tree", "ours")
	require.Contains(t, problem, "forbidden")
}
