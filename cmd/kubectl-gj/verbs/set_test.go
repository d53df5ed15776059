package verbs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// main returns the container that trains, as it is stored.
func (s *space) main(job *v1beta1.GenericJob) *corev1.Container {
	s.t.Helper()
	require.NoError(s.t, s.Get(s.t.Context(), client.ObjectKeyFromObject(job), job))
	return &job.Spec.ReplicaSpecs[0].Template.Spec.Containers[0]
}

func TestSetEditsOfEachKindWhatTrains(t *testing.T) {
	s := newSpace(t)
	for kind, container := range map[string]string{"gj": "tensorflow", "pj": "tensorflow", "tj": "tensorflow", "tfjob": "tensorflow", "pytorchjob": "pytorch"} {
		s.create(kind, "set-"+kind, specs[kind])
		worker := "worker"
		if kind == "tfjob" || kind == "pytorchjob" {
			worker = "Worker"
		}
		name := kind + "/set-" + kind
		require.Equal(t, worker+", container "+container+": image i -> j\n", s.sees("set", "image", name, "j", "--type=worker"))
		require.Equal(t, worker+", container "+container+": env A none -> \"1\"\n", s.sees("set", "env", name, "A=1", "--type=worker"))
		require.Equal(t, worker+", container "+container+": args none -> [\"x\" \"--y\"]\n", s.sees("set", "args", name, "--type=worker", "--", "x", "--y"))
		_, problem, code := s.types("set", "image", name, container+"=j", "--type=worker")
		require.Zero(t, code)
		require.Contains(t, problem, "has that already: nothing is changed", "it was stored")
	}
}

func TestSetEditsInAPauseAlone(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("steady", phase(v1beta1.JobRunning))
	_, problem, code := s.types("set", "image", "steady", "j")
	require.Equal(t, 4, code)
	require.Contains(t, problem, "GenericJob/steady is Running, and what its replicas run is edited in a pause alone once code has started: `kubectl gj pause gj/steady -n "+s.ns+" --wait`")
	require.Equal(t, "i", s.main(job).Image)

	s.setStatus(job, phase(v1beta1.JobPaused))
	for _, dry := range []string{"--dry-run", "--dry-run=server", "--dry-run=client"} {
		out, problem, code := s.types("set", "image", "steady", "j", dry)
		require.Zero(t, code)
		require.Equal(t, "worker, container tensorflow: image i -> j\n", out)
		require.Contains(t, problem, "dry run")
	}
	require.Equal(t, "i", s.main(job).Image)
	s.sees("set", "image", "steady", "j")
	s.sees("set", "env", "steady", "A=1", "B=2")
	s.sees("set", "env", "steady", "A-", "C=3", "B=two words")
	s.sees("set", "args", "steady", "--", "train.py", "--lr=0.1")
	main := s.main(job)
	require.Equal(t, "j", main.Image)
	require.Equal(t, []string{"train.py", "--lr=0.1"}, main.Args)
	require.Equal(t, []corev1.EnvVar{{Name: "B", Value: "two words"}, {Name: "C", Value: "3"}}, main.Env)
	s.sees("set", "args", "steady", "--")
	require.Empty(t, s.main(job).Args)

	s.setStatus(job, func(gj *v1beta1.GenericJob) {
		gj.Status.Phase, gj.Status.UnstartedSpec = v1beta1.JobPending, "0123456789abcdef"
	})
	s.sees("set", "image", "steady", "k")
	require.Equal(t, "k", s.main(job).Image, "its code has not started")

	s.setStatus(job, phase(v1beta1.JobFailed))
	_, problem, code = s.types("set", "env", "steady", "A=1")
	require.Equal(t, 1, code)
	require.Contains(t, problem, "GenericJob/steady is over")
}

func TestSetSaysWhatItCannotSet(t *testing.T) {
	s := newSpace(t)
	s.installJAX()
	s.jax("defined")
	s.create("gj", "a", specs["gj"])
	s.create("pj", "b", specs["pj"])
	for _, tc := range []struct {
		args  []string
		code  int
		words string
	}{
		{[]string{"a"}, 2, "want image, env or args"},
		{[]string{"image", "a"}, 2, "the NAME of a job and an image"},
		{[]string{"image", "a", "main="}, 2, "names no image"},
		{[]string{"image", "a", "main=j", "-c", "other"}, 2, "names another container"},
		{[]string{"image", "a", "j", "-c", "other"}, 2, `no container "other"`},
		{[]string{"image", "a", "j", "--type=ps"}, 2, `no replica type "ps"`},
		{[]string{"image", "a", "j", "--dry-run=maybe"}, 2, "--dry-run is"},
		{[]string{"env", "a", "b"}, 2, `"b" is no variable`},
		{[]string{"env", "a", "=b"}, 2, `"=b" is no variable`},
		{[]string{"args", "a", "b"}, 2, "arguments after --"},
		{[]string{"args", "b", "--", "c"}, 2, "say with --type"},
		{[]string{"env", "jax/defined", "A=1"}, 2, "known to its TrainingFramework alone"},
		{[]string{"env", "absent", "A=1"}, 4, `has no job "absent"`},
	} {
		_, problem, code := s.types(append([]string{"set"}, tc.args...)...)
		require.Equal(t, tc.code, code, "%v: %s", tc.args, problem)
		require.Contains(t, problem, tc.words)
	}
}
