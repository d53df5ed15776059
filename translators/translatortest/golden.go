package translatortest

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const (
	caseSuffix   = ".yaml"
	goldenSuffix = ".golden.yaml"
)

// Golden compiles each case in the folder testdata, and compares the program with the golden file. It also checks that the translator keeps its
// promises and does not panic.
func Golden(t *testing.T, r framework.Registration) {
	t.Helper()
	GoldenIn(t, "testdata", r)
}

// GoldenIn does the same for another folder. It is for a package with several translators.
func GoldenIn(t *testing.T, folder string, r framework.Registration) {
	t.Helper()
	files := Cases(t, folder)
	require.NotEmpty(t, files, "%s/*.yaml", folder)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), caseSuffix)
		t.Run(name, func(t *testing.T) {
			raw := read(t, file)
			program, err := r.Compile(Decode(t, r, raw))
			compare(t, strings.TrimSuffix(file, caseSuffix)+goldenSuffix, Render(t, program, err))
			require.Empty(t, brokenPromise(t, r, Decode(t, r, raw)))
			require.Empty(t, panicOver(t, r, raw), "Compile must not panic")
		})
	}
	golden, err := filepath.Glob(filepath.Join(folder, "*"+goldenSuffix))
	require.NoError(t, err)
	for _, file := range golden {
		require.FileExists(t, strings.TrimSuffix(file, goldenSuffix)+caseSuffix, "%s is a golden file without a case", file)
	}
}

// Cases returns the files of a folder that hold a job.
func Cases(t testing.TB, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"+caseSuffix))
	require.NoError(t, err)
	var cases []string
	for _, file := range files {
		if !strings.HasSuffix(file, goldenSuffix) {
			cases = append(cases, file)
		}
	}
	return cases
}

// Decode reads a job of the translator's kind. A field that the kind does not have is an error.
func Decode(t testing.TB, r framework.Registration, raw []byte) client.Object {
	t.Helper()
	job := r.New()
	require.NoError(t, yaml.UnmarshalStrict(raw, job))
	scheme := runtime.NewScheme()
	require.NoError(t, r.AddToScheme(scheme))
	want, err := apiutil.GVKForObject(r.New(), scheme)
	require.NoError(t, err)
	require.Equal(t, want, job.GetObjectKind().GroupVersionKind())
	return job
}

// rendered is a program as it stands in a golden file.
type rendered struct {
	Error       string                  `json:"error,omitempty"`
	Warnings    []string                `json:"warnings,omitempty"`
	Spec        *v1beta1.GenericJobSpec `json:"spec,omitempty"`
	Data        map[string]string       `json:"data,omitempty"`
	SSHKeys     string                  `json:"sshKeys,omitempty"`
	TensorBoard *renderedBoard          `json:"tensorboard,omitempty"`
	Foreign     bool                    `json:"foreign,omitempty"`
	Elastic     bool                    `json:"elastic,omitempty"`
	TTL         *int32                  `json:"ttlSecondsAfterFinished,omitempty"`

	Autoscaler *autoscalingv2.HorizontalPodAutoscalerSpec `json:"autoscaler,omitempty"`
}

type renderedBoard struct {
	Spec      v1beta1.TensorBoardSpec `json:"spec"`
	Trains    *corev1.PodTemplateSpec `json:"trains"`
	Container string                  `json:"container"`
}

// Render returns what Compile returned, as YAML. If there is an error it leaves the program out: nobody uses that.
func Render(t testing.TB, program framework.Program, err error) string {
	t.Helper()
	out := rendered{}
	if err != nil {
		out.Error = err.Error()
	} else {
		out.Spec, out.Data, out.SSHKeys = &program.Spec, shortened(program.Data), program.SSHKeys
		out.Foreign, out.Elastic, out.TTL, out.Autoscaler = program.Foreign, program.Elastic, program.TTLSecondsAfterFinished, program.Autoscaler
		for _, w := range program.Warnings {
			out.Warnings = append(out.Warnings, w.Reason+": "+w.Message)
		}
		if b := program.TensorBoard; b != nil {
			out.TensorBoard = &renderedBoard{Spec: b.Spec, Trains: b.Trains, Container: b.Container}
		}
	}
	text, failure := yaml.Marshal(out)
	require.NoError(t, failure)
	return string(text)
}

// mostLines is how many lines a file in a program's data may have, to stand in the golden file. A longer one is a script of the framework, which is
// read in its own file: the golden file has its checksum.
const mostLines = 60

// shortened returns files, with length and checksum in place of the text of long ones.
func shortened(data map[string]string) map[string]string {
	short := maps.Clone(data)
	for name, text := range data {
		if lines := strings.Count(text, "\n"); lines > mostLines {
			short[name] = fmt.Sprintf("%d lines, SHA-256 %x", lines, sha256.Sum256([]byte(text)))
		}
	}
	return short
}

// compare compares with a golden file, or rewrites it.
func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	require.Equal(t, string(read(t, file)), got, "%s: if the change is meant, run the test with -update", file)
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	return raw
}
