package verbs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestPauseAndResume(t *testing.T) {
	s := newSpace(t)
	for kind, spec := range specs {
		job := s.create(kind, "paused-"+kind, spec)
		for _, step := range []struct {
			verb string
			want bool
		}{{"pause", true}, {"resume", false}} {
			s.sees(step.verb, kind+"/paused-"+kind)
			require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(job), job))
			require.Equal(t, step.want, pauses(t, job), "%s %s", step.verb, kind)
		}
	}
	older := s.create("gj", "older", `{runMode: {pause: {enable: true}}, replicaSpecs: [{type: worker, template: T}]}`)
	s.sees("resume", "older")
	require.NoError(t, s.Get(t.Context(), client.ObjectKeyFromObject(older), older))
	require.False(t, pauses(t, older), "the older spelling")

	s.genericJob("over", phase(v1beta1.JobSucceeded))
	_, problem, code := s.types("pause", "over")
	require.Equal(t, 1, code)
	require.Contains(t, problem, "GenericJob/over is over")
}

// pauses reports whether a job's spec asks for a pause, in the way of its kind.
func pauses(t *testing.T, job client.Object) bool {
	t.Helper()
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(job)
	require.NoError(t, err)
	text, err := json.Marshal(raw["spec"])
	require.NoError(t, err)
	return strings.Contains(string(text), `"suspend":true`) || strings.Contains(string(text), `"pause":{"enabled":true`) || strings.Contains(string(text), `"enable":true`)
}

func TestScale(t *testing.T) {
	s := newSpace(t)
	for kind, spec := range specs {
		s.create(kind, "scaled", spec)
		s.sees("scale", kind+"/scaled", "worker=3")
	}
	text := func(kind string) string { return s.sees("translate", "-f", s.stored(kind, "scaled"), "--all") }
	for kind := range specs {
		require.Contains(t, text(kind), "-worker-2 ", kind)
		require.NotContains(t, text(kind), "-worker-3 ", kind)
	}
	s.create("gj", "whole", `{replicas: 2, replicaSpecs: [{type: worker, template: T}]}`)
	s.sees("scale", "whole", "4")
	require.Contains(t, s.sees("translate", "-f", s.stored("gj", "whole"), "--all"), "-worker-3 ")
	s.create("pj", "elastic", `{torchrunConfig: {enabled: true}, elastic: {enabled: true, minReplicas: 1, maxReplicas: 4},
		replicaSpecs: [{type: node, template: {spec: {containers: [{name: python, image: i, args: [train.py]}]}}}]}`)
	s.sees("scale", "elastic", "4")
	require.Contains(t, s.sees("translate", "-f", s.stored("pj", "elastic"), "--all"), "-node-3 ")

	for line, want := range map[string]struct {
		code  int
		words string
	}{
		"scale pj/scaled 3":           {2, "has the types master, worker: say which, as in worker=3"},
		"scale pj/scaled ps=3":        {2, `has no replica type "ps"`},
		"scale elastic node=3":        {2, "its types share its replicas"},
		"scale elastic 5":             {4, "expectedReplicas must be from minReplicas to maxReplicas"},
		"scale pytorchjob/scaled 5":   {4, "replicas of Worker must be from"},
		"scale gj/scaled worker=9999": {0, ""},
	} {
		_, problem, code := s.types(strings.Fields(line)...)
		require.Equal(t, want.code, code, "%s: %s", line, problem)
		require.Contains(t, problem, want.words)
	}
}

// stored returns a file with a job as it is stored.
func (s *space) stored(kind, name string) string {
	s.t.Helper()
	known := kindOf(s.t, kind)
	job := known.New()
	require.NoError(s.t, s.Get(s.t.Context(), client.ObjectKey{Namespace: s.ns, Name: name}, job))
	job.GetObjectKind().SetGroupVersionKind(known.GroupVersionKind)
	raw, err := json.Marshal(job)
	require.NoError(s.t, err)
	file := filepath.Join(s.t.TempDir(), "job.yaml")
	require.NoError(s.t, os.WriteFile(file, raw, 0o600))
	return file
}
