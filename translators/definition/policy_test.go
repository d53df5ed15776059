package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAJobThatIsRefusedIsDeletedInTimeToo: it is Failed for good, and would stay for ever.
func TestAJobThatIsRefusedIsDeletedInTimeToo(t *testing.T) {
	const whole = `genericJob: {replicaSpecs: []}`
	dear := "job.spec.words.map(a, job.spec.words.filter(b, a == b).size()).size() >= 0"
	dearest := strings.TrimSuffix(strings.Repeat("{expression: '"+dear+"', message: m}, ", 16), ", ")
	for name, tc := range map[string]struct{ definition, job, problem string }{
		"a validation refuses it": {
			`{` + whole + `, runPolicy: "{'ttlSecondsAfterFinished': 60}", validations: [{expression: job.spec.count < 3, message: too many}]}`, "count: 5", "too many",
		},
		"a variable cannot be computed": {
			`{variables: [{name: each, expression: 8 / job.spec.count}], genericJob: {replicas: "${variables.each}", replicaSpecs: []}, runPolicy: "{'ttlSecondsAfterFinished': 60}"}`,
			"count: 0", "spec.variables[0].expression: division by zero",
		},
		"another field of its run policy is wrong": {
			`{` + whole + `, runPolicy: "{'ttlSecondsAfterFinished': dyn(60), 'backoffLimit': dyn('x')}"}`, "{}", "spec.runPolicy",
		},
		"its run policy knows its data": {
			`{genericJob: {replicas: "${8 / job.spec.count}", replicaSpecs: []}, data: {a: b}, runPolicy: "{'ttlSecondsAfterFinished': data.name == '' ? 1 : 60}"}`,
			"count: 0", "spec.genericJob.replicas: division by zero",
		},
		"its expressions cost too much": {
			`{` + whole + `, runPolicy: "{'ttlSecondsAfterFinished': 60}", validations: [` + dearest + `]}`, "words: [" + strings.Repeat("abcdefgh,", 150) + "]", "together cost more than",
		},
	} {
		t.Run(name, func(t *testing.T) {
			program, problem := compiled(t, tc.definition, tc.job)
			require.Contains(t, problem, tc.problem)
			require.NotNil(t, program.TTLSecondsAfterFinished)
			require.EqualValues(t, 60, *program.TTLSecondsAfterFinished)
			require.Empty(t, program.Spec, "nothing else of it is used")
		})
	}
}

func TestAJobThatIsRefusedIsKeptWhereNothingSaysForHowLong(t *testing.T) {
	for _, policy := range []string{"", ", runPolicy: \"{'backoffLimit': 1}\"", ", runPolicy: \"{'ttlSecondsAfterFinished': 8 / job.spec.count}\"", ", runPolicy: 'job.spec.?any'"} {
		program, problem := compiled(t, fmt.Sprintf(`{genericJob: {replicaSpecs: []}, validations: [{expression: "false", message: never}]%s}`, policy), "count: 0")
		require.Equal(t, "never", problem)
		require.Nil(t, program.TTLSecondsAfterFinished)
	}
}
