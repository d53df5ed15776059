package translate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/translate"
)

// manifestOf returns a job of one replica.
func manifestOf(kind, metadata, spec, replica, container string) string {
	return `{apiVersion: batch.tensorstack.dev/v1beta1, kind: ` + kind + `, metadata: {name: x` + metadata + `}, spec: {` + spec +
		`replicaSpecs: [{type: worker` + replica + `, template: {spec: {hostname: mine, containers: [{name: main, image: i` + container + `}]}}}]}}`
}

// TestWhatTheOperatorWouldWarnOf names all warnings, in the words of the operator's events.
func TestWhatTheOperatorWouldWarnOf(t *testing.T) {
	const (
		replaced = `HostNameReplaced: spec.replicaSpecs[worker].template.spec.hostname is "mine", where each pod gets <job>-<type>-<rank>: ` +
			"replicas find each other by the operator's names, so these have no effect. Remove them."
		noEffect = `HostNameReplaced: spec.replicaSpecs[worker].template.spec.hostname is "mine", which has no effect: ` +
			"replicas find each other by the operator's, <job>-<type>-<rank>. Remove it."
		inPlace  = "restartStrategy is InPlace, but pods of type worker are replaced: container main has no command, and what its image runs is not known: set command"
		noProg   = "failurePolicy.noProgress is set, but nobody reads steps that can be compared: set progress.stdout to an expression with a group named step"
		misnamed = `spec.runMode.debug.replicaSpecs names type "wrker", which the job does not have: `
	)
	for name, tc := range map[string]struct {
		manifest string
		want     []string
	}{
		"a GenericJob": {manifestOf("GenericJob", "", "restartStrategy: InPlace, restartScope: Job, failurePolicy: {noProgress: {rounds: 3}}, runMode: {debug: {enabled: true, replicaSpecs: [{type: wrker}]}}, ",
			", restartPolicy: {policy: Never, limit: 2}", ""),
			[]string{replaced, "FieldIgnored: spec.replicaSpecs[worker].restartPolicy.limit is 2, but policy Never restarts nothing: use OnFailure, or remove the limit; spec." + inPlace +
				"; spec." + noProg + "; " + misnamed + "correct or remove the entry."}},
		"a training job": {manifestOf("PyTorchTrainingJob", "", "runPolicy: {restartStrategy: InPlace, restartScope: Job, failurePolicy: {noProgress: {rounds: 3}}}, runMode: {debug: {enabled: true, replicaSpecs: [{type: wrker}]}}, ", "", ""),
			[]string{noEffect, "FieldIgnored: spec.runPolicy." + inPlace + ".", "FieldIgnored: spec.runPolicy." + noProg + ".",
				"FieldIgnored: " + misnamed + "the entry is ignored. Correct or remove it."}},
		"a job whose gang scheduler no cluster was asked for": {manifestOf("GenericJob", "", "scheduler: {volcano: {}}, ", "", ""), []string{replaced}},
		"a job in a queue": {manifestOf("GenericJob", "", "scheduler: {kueue: {queueName: q}}, ", "", ""), []string{replaced}},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := translate.Read(strings.NewReader(tc.manifest), false)
			require.NoError(t, err)
			require.Len(t, made, 1)
			require.NoError(t, made[0].Err)
			require.ElementsMatch(t, tc.want, made[0].Warnings)
			require.NotEmpty(t, made[0].Objects)
		})
	}
}

// TestWhatKeepsAJobFromRunning has mistakes that the CRDs let pass.
func TestWhatKeepsAJobFromRunning(t *testing.T) {
	const label = ", labels: {kueue.x-k8s.io/queue-name: q, kueue.x-k8s.io/prebuilt-workload-name: theirs}"
	for name, tc := range map[string]struct{ manifest, want string }{
		"a GenericJob with another's Workload":   {manifestOf("GenericJob", label, "", "", ""), "The job names a Workload that somebody else has made for it, theirs"},
		"a training job with another's Workload": {manifestOf("PyTorchTrainingJob", label, "", "", ""), "The job names a Workload that somebody else has made for it, theirs"},
		"a rule of the wrong type":               {manifestOf("GenericJob", "", "failurePolicy: {rules: [{match: {types: [wrker]}, action: Fail}]}, ", "", ""), `"wrker": no replica spec has this type`},
		"a rule of the wrong type of a training job": {manifestOf("PyTorchTrainingJob", "", "runPolicy: {failurePolicy: {rules: [{match: {types: [wrker]}, action: Fail}]}}, ", "", ""),
			`"wrker": no replica spec has this type`},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := translate.Read(strings.NewReader(tc.manifest), false)
			require.NoError(t, err)
			require.ErrorContains(t, made[0].Err, tc.want)
			lines := made[0].Lines()
			require.Contains(t, lines[len(lines)-1], "└─ ERROR: ")
			require.Contains(t, strings.Join(lines, "\n"), "├─ WARNING: HostNameReplaced", "it is told beside the mistake")
		})
	}
	// Kubeflow's kinds are known to Kueue, which uses such a Workload itself.
	made, _, err := translate.Read(strings.NewReader(`{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: x`+label+`}, spec: {pytorchReplicaSpecs: {Master: {template: {spec: {containers: [{name: pytorch, image: i}]}}}}}}`), false)
	require.NoError(t, err)
	require.NoError(t, made[0].Err)
}
