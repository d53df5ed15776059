package documents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

// TestEveryCommandIsRun runs what it can of the commands in documents. Of the rest each must be known to a test that does.
func TestEveryCommandIsRun(t *testing.T) {
	needed := map[string]bool{}
	for _, d := range read(t) {
		for _, script := range d.scripts {
			var here []string
			for _, command := range script.lines {
				if known := elsewhereOf(command); known != nil {
					needed[known.command.String()] = true
				} else {
					here = append(here, command)
				}
			}
			if len(here) > 0 && !slices.ContainsFunc(d.follow(), script.is) {
				t.Run(fmt.Sprint(d.file, ":", script.line), func(t *testing.T) {
					t.Parallel()
					try(t, here)
				})
			}
		}
	}
	for _, known := range elsewhere {
		require.True(t, needed[known.command.String()], "no document has a command such as %s: remove it from the list", known.command)
	}
}

// TestWhatRunsCommandsElsewhereIsThere finds the words in what the tests and scripts of the list run.
func TestWhatRunsCommandsElsewhereIsThere(t *testing.T) {
	for _, known := range elsewhere {
		code := known.runs(t)
		require.NotEmpty(t, known.words, "%s", known.command)
		for _, word := range known.words {
			require.Contains(t, code, word, "%s, for %s", known.file, known.command)
		}
	}
}

// nameOf is a command that is only named, without what it acts on: `kubectl scale`.
var nameOf = regexp.MustCompile(`^(kubectl(?: gj)?(?: [a-z]+)?)((?: -[a-z](?: wide| yaml)?| --[a-z-]+=[a-z]+)*)$`)

var flagOf = regexp.MustCompile(`--?[a-z-]+`)

// try runs commands, in a namespace in which the jobs are that they name.
func try(t *testing.T, commands []string) {
	t.Helper()
	var script []string
	for _, command := range commands {
		switch goes := goCommands(command); {
		case strings.HasPrefix(command, "make "):
			tryMake(t, command)
		case len(goes) > 0:
			for _, g := range goes {
				tryGo(t, g)
			}
		case nameOf.MatchString(command):
			named := nameOf.FindStringSubmatch(command)
			script = append(script, named[1]+" --help >help.txt", "grep -qe '"+strings.Join(flagOf.FindStringSubmatch(named[2]), "")+"' help.txt")
		case strings.HasPrefix(command, "kubectl "):
			script = append(script, command)
		default:
			require.Fail(t, "nobody runs "+command, "name the test that does in elsewhere_test.go; what is no command stands in a block of ```text")
		}
	}
	if len(script) > 0 {
		s := newSpace(t)
		s.prepare(strings.Join(script, "\n"))
		s.run(strings.Join(script, "\n"))
	}
}

var (
	// waits is what ends with a job.
	waits = regexp.MustCompile(`--for=condition=(Completed|Succeeded)|gj wait|logs .*-f\b|tree .*-w`)
	name  = regexp.MustCompile(`\b(hello|train|mnist)\b`)
)

// prepare has the jobs that a script names run, or end if it waits for that. A job that it applies itself is a file.
func (s *space) prepare(script string) {
	s.t.Helper()
	if waits.MatchString(script) {
		nodes.end(s.name)
	}
	if strings.Contains(script, "training-operator") {
		s.run(kubeflows)
	}
	if strings.Contains(script, kubeflowJob) {
		s.run(`kubectl apply -f - <<<'{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: train}, spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}'`)
		s.awaitPhase(schema.GroupVersionKind{Group: "kubeflow.org", Version: "v1", Kind: "PyTorchJob"}, "train", "Running", "Succeeded")
	}
	for n, manifest := range jobs(s.t) {
		require.NoError(s.t, os.WriteFile(filepath.Join(s.folder, n+".yaml"), []byte(manifest), 0o600))
		if slices.Contains(name.FindAllString(script, -1), n) && !strings.Contains(script, kubeflowJob) && !strings.Contains(script, "-f "+n+".yaml") {
			s.run("kubectl apply -f " + n + ".yaml")
			made, _, err := translate.Read(strings.NewReader(manifest), true)
			require.NoError(s.t, err)
			require.Len(s.t, made, 1)
			s.awaitPhase(made[0].Kind.GroupVersionKind, n, "Running", "Succeeded")
		}
	}
}

// kubeflowJob is how documents call a job of one of Kubeflow's kinds.
const kubeflowJob = "pytorchjob/train"

// kubeflows are the objects of Kubeflow's operator that its users are told to take away.
const kubeflows = `kubectl create namespace kubeflow
kubectl -n kubeflow create deployment training-operator --image=i
kubectl apply -f - <<<'{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: validator.training-operator.kubeflow.org}}'`

// jobs are those that the documents speak of, by name. The first is the README's own.
func jobs(t *testing.T) map[string]string {
	t.Helper()
	var readme document
	raw, err := os.ReadFile(root + "/README.md")
	require.NoError(t, err)
	readme.read(strings.Split(string(raw), "\n"))
	require.NotEmpty(t, readme.yaml)
	return map[string]string{
		"hello": readme.yaml[0].text,
		"train": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: PyTorchTrainingJob, metadata: {name: train},
  spec: {torchrunConfig: {enabled: true}, elastic: {enabled: true, minReplicas: 2, maxReplicas: 8},
  replicaSpecs: [{type: node, template: {spec: {containers: [{name: python, image: i, args: [/train.py]}]}}}]}}`,
		"mnist": `{apiVersion: batch.tensorstack.dev/v1beta1, kind: TensorFlowTrainingJob, metadata: {name: mnist},
  spec: {replicaSpecs: [{type: worker, replicas: 3, template: {spec: {containers: [{name: tensorflow, image: i}]}}}]}}`,
	}
}
