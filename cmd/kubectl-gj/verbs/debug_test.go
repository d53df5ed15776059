package verbs_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestDebug(t *testing.T) {
	s := newSpace(t)
	job := s.genericJob("debugged", phase(v1beta1.JobRunning))
	s.sees("debug", "debugged", "--skip-init")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	require.True(t, job.Spec.RunMode.Debugs())
	require.Equal(t, []v1beta1.ReplicaDebugSet{{Type: "worker", SkipInitContainer: true}}, job.Spec.RunMode.Debug.ReplicaSpecs)
	_, problem, code := s.types("debug", "debugged", "--shell", "worker-0", "--timeout=1ms")
	require.Equal(t, 3, code, problem)
	_, problem, code = s.types("debug", "debugged", "--shell", "master-0")
	require.Equal(t, 2, code)
	require.Contains(t, problem, `has no replica "master-0"`)
	s.sees("debug", "debugged", "--off")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	require.False(t, job.Spec.RunMode.Debugs())
	s.create("tfjob", "kubeflows", specs["tfjob"])
	_, problem, code = s.types("debug", "kubeflows")
	require.Equal(t, 2, code)
	require.Contains(t, problem, "a TFJob has no debug mode")
}

// A paused job has no pods: nobody waits for a shell in one, and debug mode is not switched on for it.
func TestAShellInAPausedJobIsRefusedAtOnce(t *testing.T) {
	s := newSpace(t)
	for _, kind := range []string{"gj", "pj", "tj"} {
		job := s.create(kind, "held-"+kind, specs[kind])
		s.sees("pause", kind+"/held-"+kind)
		_, problem, code := s.types("debug", kind+"/held-"+kind, "--shell", "worker-0", "--timeout=0")
		require.Equal(t, 2, code)
		require.Contains(t, problem, "/held-"+kind+" is paused, so worker-0 has no pod: end the pause first, with `kubectl gj resume "+kind+"/held-"+kind+" -n "+s.ns+"`")
		require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		require.False(t, debugged(job), kind)
		s.sees("resume", kind+"/held-"+kind)
		s.timesOut(" stays in debug mode. To end it: kubectl gj debug "+kind+"/held-"+kind+" -n "+s.ns+" --off\n", "debug", kind+"/held-"+kind, "--shell", "worker-0")
		require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
		require.True(t, debugged(job), kind)
	}
}

// debugged reports whether debug mode is switched on.
func debugged(job client.Object) bool {
	switch j := job.(type) {
	case *v1beta1.GenericJob:
		return j.Spec.RunMode.Debug != nil && j.Spec.RunMode.Debug.Enabled
	case *v1beta1.PyTorchTrainingJob:
		return j.Spec.RunMode.Debug != nil && j.Spec.RunMode.Debug.Enabled
	default:
		mode := job.(*v1beta1.TensorFlowTrainingJob).Spec.RunMode
		return mode.Debug != nil && mode.Debug.Enabled
	}
}

func TestDebugTellsTheCommandThatWouldRun(t *testing.T) {
	s := newSpace(t)
	s.create("gj", "tells", `{replicaSpecs: [{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: i,
		command: [sh, -c, "echo it's rank $(rank) of $(replicas[worker])"], env: [{name: RATE, value: "1"}], args: ["--rate=$(RATE)", "$$(HOME) $(date)", train.py]}]}}},
		{type: ps, template: {spec: {containers: [{name: main, image: "registry/ps:1", args: ["--rank", "$(rank)"]}]}}},
		{type: store, auxiliary: true, template: {spec: {containers: [{name: main, image: i}]}}}]}`)
	worker := `would run the command: sh -c 'echo it'\''s rank 1 of 2' '--rate='"$RATE"'' '$(HOME) $(date)' train.py` + "\n"
	_, problem, _ := s.types("debug", "tells")
	require.Equal(t, "GenericJob/tells going to debug mode\n"+
		`worker-0 would run the command: sh -c 'echo it'\''s rank 0 of 2' '--rate='"$RATE"'' '$(HOME) $(date)' train.py`+"\n"+
		"ps-0 would run what the image registry/ps:1 runs by default, with the arguments: --rank 0\n", problem)
	_, problem, _ = s.types("debug", "tells")
	require.Contains(t, problem, "GenericJob/tells is in debug mode already. To end it: kubectl gj debug gj/tells -n "+s.ns+" --off\nworker-0 would run ")
	s.timesOut("worker-1 "+worker, "debug", "tells", "--shell", "worker-1")
	_, problem, _ = s.types("debug", "tells", "--off")
	require.Equal(t, "GenericJob/tells going back to training\n", problem)
}
