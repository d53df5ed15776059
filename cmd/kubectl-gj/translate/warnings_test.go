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

// TestWhatTheOperatorWouldWarnOf compares with the words of the operator's events.
func TestWhatTheOperatorWouldWarnOf(t *testing.T) {
	const (
		host     = `HostNameReplaced: spec.replicaSpecs[worker].template.spec.hostname is "mine"`
		noProg   = "failurePolicy.noProgress is set, but nobody reads steps that can be compared"
		commands = "but pods of type worker are replaced: container main has no command"
	)
	for name, tc := range map[string]struct {
		manifest string
		want     []string
	}{
		"a GenericJob": {manifestOf("GenericJob", "", "restartStrategy: InPlace, restartScope: Job, failurePolicy: {noProgress: {rounds: 3}}, runMode: {debug: {enabled: true, replicaSpecs: [{type: wrker}]}}, ",
			", restartPolicy: {policy: Never, limit: 2}", ""),
			[]string{host, "FieldIgnored: spec.replicaSpecs[worker].restartPolicy.limit is 2, but policy Never restarts nothing", "spec.restartStrategy is InPlace, " + commands,
				"spec." + noProg, `spec.runMode.debug.replicaSpecs names type "wrker"`}},
		"a training job": {manifestOf("PyTorchTrainingJob", "", "runPolicy: {restartStrategy: InPlace, restartScope: Job, failurePolicy: {noProgress: {rounds: 3}}}, runMode: {debug: {enabled: true, replicaSpecs: [{type: wrker}]}}, ", "", ""),
			[]string{host, "FieldIgnored: spec.runPolicy.restartStrategy is InPlace, " + commands, "FieldIgnored: spec.runPolicy." + noProg, `FieldIgnored: spec.runMode.debug.replicaSpecs names type "wrker"`}},
		"a job whose gang scheduler no cluster was asked for": {manifestOf("GenericJob", "", "scheduler: {volcano: {}}, ", "", ""), []string{host}},
		"a job in a queue": {manifestOf("GenericJob", "", "scheduler: {kueue: {queueName: q}}, ", "", ""), []string{host}},
	} {
		t.Run(name, func(t *testing.T) {
			made, _, err := translate.Read(strings.NewReader(tc.manifest), false)
			require.NoError(t, err)
			require.Len(t, made, 1)
			require.NoError(t, made[0].Err)
			all := strings.Join(made[0].Warnings, "\n")
			for _, want := range tc.want {
				require.Equal(t, 1, strings.Count(all, want), "%s\nin\n%s", want, all)
			}
			require.Equal(t, len(tc.want) == 1, len(made[0].Warnings) == 1, all)
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
