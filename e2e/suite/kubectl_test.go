package suite_test

import (
	"strings"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// kubectlView asks for what a user sees without any tool of ours.
func kubectlView(s *space) {
	job := s.submit("seen", `{replicaSpecs: [{type: worker, replicas: 2, template: `+pod("obey")+`}]}`)
	s.awaitRunning("seen", "2/2")
	show := func(args ...string) string {
		s.t.Helper()
		text, err := s.kubectl(args...)
		require.NoError(s.t, err, text)
		return text
	}
	lines := strings.Split(show("get", "gj"), "\n")
	require.Equal(s.t, []string{"NAME", "PHASE", "RUNNING", "RESTARTS", "AGE"}, strings.Fields(lines[0]))
	require.Regexp(s.t, `^seen +Running +2/2 +0 +\w+$`, lines[1])
	lines = strings.Split(show("get", "genericjobs.batch.tensorstack.dev", "--output", "wide"), "\n")
	require.Equal(s.t, []string{"NAME", "PHASE", "RUNNING", "RESTARTS", "AGE", "SUCCEEDED", "DISRUPTIONS", "MESSAGE"}, strings.Fields(lines[0]))
	require.Contains(s.t, lines[1], "All pods are running normally")

	all := show("get", "all")
	require.Contains(s.t, all, "genericjob.batch.tensorstack.dev/seen")
	require.Contains(s.t, all, "pod/"+s.pods(job)["worker-1"].Name)

	require.Contains(s.t, show("explain", "genericjob"), "GenericJob runs a set of replicas (pods)")
	require.Contains(s.t, show("explain", "genericjob.spec.successRules"), "successRules say when the job has succeeded")
	require.Contains(s.t, show("explain", "gj.spec.replicaSpecs.restartPolicy.limit"), "Default 0")

	description := show("describe", "gj", "seen")
	require.Regexp(s.t, `Phase: +Running`, description)
	require.Contains(s.t, description, "The job has been initialized successfully.")
	require.Contains(s.t, show("get", "pods", "--selector", "batch.tensorstack.dev/job-name=seen", "--output", "name"), "pod/seen-")
}
