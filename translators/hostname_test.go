package translators_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// A host name of the user's own was replaced without a word.
func TestAHostNameThatIsReplacedIsToldOf(t *testing.T) {
	const template = `template: {spec: {hostname: mine, subdomain: ours, containers: [{name: tensorflow, image: a}, {name: pytorch, image: a}]}}`
	for field, spec := range map[string]string{
		"spec.replicaSpecs[worker]":        `replicaSpecs: [{type: worker, ` + template + `}]`,
		"spec.tfReplicaSpecs[Worker]":      `tfReplicaSpecs: {Worker: {` + template + `}}`,
		"spec.pytorchReplicaSpecs[Worker]": `pytorchReplicaSpecs: {Worker: {` + template + `}}`,
	} {
		asked := 0
		for _, r := range append(translators.All(), kubeflow.All("", true)...) {
			job := r.New()
			require.NoError(t, yaml.Unmarshal([]byte(`{metadata: {name: job}, spec: {`+spec+`}}`), job))
			program, err := r.Compile(job)
			if err != nil {
				continue // another kind's spec
			}
			asked++
			require.Len(t, program.Warnings, 2, "%T", job)
			for i, own := range []string{`.template.spec.hostname is "mine"`, `.template.spec.subdomain is "ours"`} {
				require.Equal(t, "HostNameReplaced", program.Warnings[i].Reason)
				require.Contains(t, program.Warnings[i].Message, field+own)
			}
		}
		require.NotZero(t, asked, field)
	}
}
