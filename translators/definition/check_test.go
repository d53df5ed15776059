package definition_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// checked is what Check says of a definition, for a kind whose jobs have all of template and some of the rest.
func checked(t *testing.T, text string) error {
	t.Helper()
	spec := &v1beta1.TrainingFrameworkSpec{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), spec))
	spec.Kind = v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "TestJob"}
	s := schemas(t)
	s.Spec.Required = []string{"template", "words"}
	return definition.Check(spec, s)
}

const podOfJob = "type: w, template: \"${job.spec.template}\""

// TestWhatWouldFailJobsIsFoundInTheDefinition: the author hears of it, and no user.
func TestWhatWouldFailJobsIsFoundInTheDefinition(t *testing.T) {
	const hasMain = `validations: [{expression: "job.spec.template.findContainer('main').hasValue()", message: none is named main}], `
	for text, want := range map[string]string{
		`genericJob: {replicaSpecs: [{` + podOfJob + `}]}`: "",
		// What a job may leave out.
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${job.spec.count}"}]}`:                                                                                       "spec.genericJob.replicaSpecs[0].replicas: a job may leave out count, and would then fail: write .?count",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${job.spec.?count}"}]}`:                                                                                      "",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${has(job.spec.count) ? job.spec.count : 1}"}]}`:                                                             "",
		`{validations: [{expression: has(job.spec.count), message: "spec.count is missing"}], genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${job.spec.count}"}]}}`: "",
		`{validations: [{expression: job.spec.count > 1, message: more}], genericJob: {replicaSpecs: [{` + podOfJob + `}]}}`:                                                    "spec.validations[0].expression: a job may leave out count",
		`{variables: [{name: has, expression: has(job.spec.count)}], genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${variables.has ? job.spec.count : 1}"}]}}`:      "",
		`{genericJob: {replicaSpecs: [{` + podOfJob + `}]}, data: {a: "${job.spec.words.join(job.spec.name)}"}}`:                                                                "spec.data[a]: a job may leave out name",
		`{genericJob: {replicaSpecs: [{` + podOfJob + `}]}, data: {a: "${job.spec.template.spec.containers.map(c, c.image).join(',')}"}}`:                                       "spec.data[a]: a job may leave out image",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${job.spec.?any.orValue({}).size()}"}]}`:                                                                     "",
		// Containers that a user may call otherwise.
		`genericJob: {replicaSpecs: [{type: w, template: "${job.spec.template.ensurePort('main', 'p', 1)}"}]}`:                                                                                            "spec.genericJob.replicaSpecs[0].template: a template of the job may have no container named main",
		`{` + hasMain + `genericJob: {replicaSpecs: [{type: w, template: "${job.spec.template.setMainContainer('main').ensurePort('main', 'p', 1)}"}]}}`:                                                  "",
		`{` + hasMain + `genericJob: {replicaSpecs: [{type: w, template: "${job.spec.template.ensurePort('other', 'p', 1)}"}]}}`:                                                                          "no container named other",
		`{variables: [{name: t, expression: "job.spec.template.setMainContainer('main')"}], genericJob: {replicaSpecs: [{type: w, template: "${variables.t.putEnvFirst('main', [])}"}]}}`:                 "no container named main",
		`{variables: [{name: c, expression: "job.spec.template.findContainer('main').value()"}], genericJob: {replicaSpecs: [{` + podOfJob + `}]}}`:                                                       "spec.variables[0].expression: a template of the job may have no container named main",
		`{variables: [{name: c, expression: "job.spec.template.findContainer('main').hasValue() ? job.spec.template.portNumber('main', 'p', 1) : 1"}], genericJob: {replicaSpecs: [{` + podOfJob + `}]}}`: "",
		`genericJob: {replicaSpecs: [{type: w, template: "${job.spec.template.merge({'spec': {'containers': [{'name': 'side'}]}}).ensurePort('side', 'p', 1)}"}]}`:                                        "",
		// Values that no GenericJob has.
		`genericJob: {restartScope: All, replicaSpecs: [{` + podOfJob + `}]}`:                                                                                   "spec.genericJob.restartScope: is All: Replica, Job are allowed",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, restartPolicy: {policy: OnFail}}]}`:                                                                     "spec.genericJob.replicaSpecs[0].restartPolicy.policy: is OnFail: Always, OnFailure, Never, ExitCode are allowed",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, restartPolicy: "${restartPolicy('Onfailure')}"}]}`:                                                      "spec.genericJob.replicaSpecs[0].restartPolicy.policy: is Onfailure: ",
		`{variables: [{name: p, expression: "restartPolicy('Sometimes')"}], genericJob: {replicaSpecs: [{` + podOfJob + `, restartPolicy: "${variables.p}"}]}}`: "restartPolicy.policy: is Sometimes: ",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: -1}]}`:                                                                                        "spec.genericJob.replicaSpecs[0].replicas: is -1: at least 1 is wanted",
		`genericJob: {replicaSpecs: [{` + podOfJob + `, replicas: "${job.spec.?count.orValue(20000)}"}]}`:                                                       "spec.genericJob.replicaSpecs[0].replicas: is 20000: at most 10000 is allowed",
		`genericJob: {backoffLimit: "${job.spec.words.size() > 1 ? 1 : -5}", replicaSpecs: [{` + podOfJob + `}]}`:                                               "spec.genericJob.backoffLimit: is -5",
		`genericJob: {replicaSpecs: [{type: Worker, template: "${job.spec.template}"}]}`:                                                                        `spec.genericJob.replicaSpecs[0].type: is "Worker", which does not match `,
		`genericJob: {replicaSpecs: [{type: w}]}`:                                                                                                               "spec.genericJob.replicaSpecs[0].template: is missing",
		`genericJob: {replicaSpecs: "${[{'type': 'w', 'tmplate': job.spec.template}]}"}`:                                                                        "spec.genericJob.replicaSpecs: there is no field tmplate: ",
		`{genericJob: {replicaSpecs: [{` + podOfJob + `}]}, runPolicy: "{'cleanUpPolicy': 'Everything'}"}`:                                                      "spec.runPolicy.cleanUpPolicy: is Everything: None, Unfinished, All",
		`{genericJob: {replicaSpecs: [{` + podOfJob + `}]}, runPolicy: "{'backofLimit': 3}"}`:                                                                   "spec.runPolicy: there is no field backofLimit: ",
		`{genericJob: {replicaSpecs: [{` + podOfJob + `}]}, runPolicy: "{'backoffLimit': 3, ?'cleanUpPolicy': job.spec.?name}"}`:                                "",
		// New's own.
		`genericJob: {nope: 1, replicaSpecs: [{` + podOfJob + `}]}`: "spec.genericJob.nope: there is no such field",
	} {
		err := checked(t, text)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		var mistakes definition.MistakesError
		require.ErrorAs(t, err, &mistakes, text)
	}
}

// TestChecksEnd: variables that stand twice in each other would take for ever.
func TestChecksEnd(t *testing.T) {
	variables := []string{"{name: v0, expression: 'job.spec.words[0]'}"}
	for i := 1; i < 64; i++ {
		variables = append(variables, fmt.Sprintf("{name: v%d, expression: 'job.spec.words.size() > 1 ? variables.v%d : variables.v%d'}", i, i-1, i-1))
	}
	require.NoError(t, checked(t, `{genericJob: {replicaSpecs: [{type: "${variables.v63}", template: "${job.spec.template}"}]}, variables: [`+strings.Join(variables, ", ")+"]}"))
}

// TestTheCatalogHasNoSuchMistake: what this repository offers is an example.
func TestTheCatalogHasNoSuchMistake(t *testing.T) {
	for _, name := range []string{"jax", "mpi", "xgboost"} {
		spec := load[v1beta1.TrainingFramework](t, catalog+name+"/framework.yaml").Spec
		kind := load[apiextensionsv1.CustomResourceDefinition](t, catalog+name+"/crd.yaml")
		s, err := definition.SchemasOf(kind, spec.Kind)
		require.NoError(t, err)
		require.NoError(t, definition.Check(&spec, s), name)
	}
}
