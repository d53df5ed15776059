package definition_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// specSchema is that of the jobs of these tests.
const specSchema = `
type: object
properties:
  count: {type: integer}
  name: {type: string}
  flag: {type: boolean}
  rate: {type: number}
  words: {type: array, items: {type: string}}
  few: {type: array, maxItems: 8, items: {type: string, maxLength: 8}}
  env: {type: object, additionalProperties: {type: string}}
  any: {type: object, x-kubernetes-preserve-unknown-fields: true}
  either: {x-kubernetes-int-or-string: true}
  namespace: {type: string}
  template:
    type: object
    properties:
      spec: {type: object, properties: {containers: {type: array, items: {type: object, properties: {name: {type: string}, image: {type: string}}}}}}
`

// statusSchema is that of jobs whose status has a shape of its own.
const statusSchema = `{type: object, properties: {state: {type: string}}}`

func schemas(t testing.TB) definition.Schemas {
	t.Helper()
	s := definition.Schemas{Spec: &apiextensionsv1.JSONSchemaProps{}, Status: &apiextensionsv1.JSONSchemaProps{}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(specSchema), s.Spec))
	require.NoError(t, yaml.UnmarshalStrict([]byte(statusSchema), s.Status))
	return s
}

// defined is a definition of the YAML of its spec without the kind.
func defined(t testing.TB, text string) (*definition.Definition, error) {
	t.Helper()
	spec := &v1beta1.TrainingFrameworkSpec{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), spec))
	spec.Kind = v1beta1.FrameworkKind{Group: "example.com", Version: "v1", Kind: "TestJob"}
	return definition.New(spec, schemas(t))
}

func jobOf(t testing.TB, spec string) *definition.Job {
	t.Helper()
	job := &definition.Job{}
	job.Name, job.Namespace = "job", "ns"
	raw, err := yaml.YAMLToJSON([]byte(spec))
	require.NoError(t, err)
	job.Spec.Raw = raw
	return job
}

// compiled is the GenericJob's spec as JSON, or what is wrong.
func compiled(t testing.TB, text, spec string) (framework.Program, string) {
	t.Helper()
	d, err := defined(t, text)
	require.NoError(t, err)
	program, err := d.Compile(jobOf(t, spec))
	if err != nil {
		return program, err.Error()
	}
	raw, err := json.Marshal(program.Spec)
	require.NoError(t, err)
	return program, string(raw)
}

func threeLoops(list string) string {
	return strings.ReplaceAll("L.map(a, L.map(b, L.map(c, a == b && b == c)))", "L", "job.spec."+list)
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	for text, want := range map[string][]string{
		`genericJob: {replicaSpec: []}`:                                                           {"spec.genericJob.replicaSpec: there is no such field"},
		`genericJob: {replicaSpecs: [{typ: a}]}`:                                                  {"spec.genericJob.replicaSpecs[0].typ: there is no such field"},
		`genericJob: {replicaSpecs: [{template: {spec: {nodeName: 3}}}]}`:                         {"spec.genericJob.replicaSpecs[0].template.spec.nodeName: this is of type int, but a text is wanted"},
		`genericJob: {replicaSpecs: [{replicas: "3"}]}`:                                           {"replicas: this is of type string, but a number is wanted"},
		`genericJob: {replicaSpecs: [{replicas: "${job.spec.name}"}]}`:                            {"replicas: ${job.spec.name} is of type string, but a number is wanted"},
		`genericJob: {replicaSpecs: [{template: "${job.spec.count}"}]}`:                           {"template: ${job.spec.count} is of type int, but a PodTemplateSpec object is wanted"},
		`genericJob: {replicaSpecs: "${job.spec.words}"}`:                                         {"replicaSpecs: ${job.spec.words}[] is of type string, but a ReplicaSpec object is wanted"},
		`genericJob: {runMode: "${job.spec.template}"}`:                                           nil, // has none of its fields
		`genericJob: {service: {ports: {}}}`:                                                      {"spec.genericJob.service.ports: this is of type map(string, dyn), but a list is wanted"},
		`genericJob: {restartScope: "${job.spec.nope}"}`:                                          {"spec.genericJob.restartScope: undefined field 'nope' (character 9)"},
		"genericJob: {restartScope: \"${job.spec.name // no } ends it\"}":                         {"spec.genericJob.restartScope: a ${ is never closed"},
		`genericJob: {restartScope: "${job.spec.name"}`:                                           {"spec.genericJob.restartScope: a ${ is never closed"},
		`genericJob: {restartScope: "${ }"}`:                                                      {"${} holds no expression"},
		`genericJob: {restartScope: "a${job.spec.words}"}`:                                        {"is of type list(string), and text stands around it"},
		`genericJob: {restartScope: "${now()}"}`:                                                  {"undeclared reference to 'now'"},
		`{genericJob: {}, variables: [{name: a, expression: "1 +"}]}`:                             {"spec.variables[0].expression: Syntax error"},
		`{genericJob: {}, variables: [{name: a, expression: "variables.b"}]}`:                     {"spec.variables[0].expression: undeclared reference to 'variables'"},
		`{genericJob: {}, validations: [{expression: "1", message: m}]}`:                          {"spec.validations[0].expression: this is of type int, but a truth value is wanted"},
		`{genericJob: {}, validations: [{expression: "true", message: "${1"}]}`:                   {"spec.validations[0].message: a ${ is never closed"},
		`{genericJob: {}, runPolicy: "{'backoffLimit': 'x'}"}`:                                    nil, // a map of texts: it is found out when a job comes
		`{genericJob: {}, runPolicy: "job.spec.count"}`:                                           {"spec.runPolicy: this is of type int, but a RunPolicy object is wanted"},
		`{genericJob: {}, data: {hosts: "${job.spec.words}"}}`:                                    {"spec.data[hosts]: ${job.spec.words} is of type list(string), but a text is wanted"},
		`{genericJob: {cleanUpPolicy: "${data.name}"}}`:                                           {"undeclared reference to 'data'"},
		`{genericJob: {}, status: {state: "${observed.fase}"}, phase: shown.state}`:               {"spec.status.state: undefined field 'fase'"},
		`{genericJob: {}, status: {state: "${observed.phase}"}, phase: shown.stat}`:               {"spec.phase: undefined field 'stat'"},
		`{genericJob: {}, status: {state: "${observed.phase}"}, phase: "'Running'"}`:              {`spec.phase: reads "Running" from the status {"state":"Succeeded"} of a job that is Succeeded`},
		`{genericJob: {}, status: {state: "${observed.conditions[0].type}"}, phase: shown.state}`: {"spec.status: for a job that is Pending, and has no more to tell: spec.status.state: "},
		`{genericJob: {}, status: {state: "${observed.phase}", count: "${has(observed.tasks) ? observed.tasks[0].replicas.size() : 0}"}, phase: shown.state}`: {
			"spec.status: for a job that is Pending, and so large that its tasks have no replicas: spec.status.count: no such key: replicas. Ask whether there is what may be missing, as in observed.?tasks[?0].?replicas.orValue([])"},
		`{genericJob: {}, status: {state: "${observed.phase}", end: "${has(observed.startTime) ? string(observed.completionTime) : ''}"}, phase: shown.state}`: {
			"spec.status: for a job that is Pending, and has no more to tell than startTime: spec.status.end: no such key: completionTime"},
		`{genericJob: {}, status: {state: "${observed.phase}", first: "${has(observed.conditions) ? observed.tasks[0].type : ''}"}, phase: shown.state}`: {
			"spec.status: for a job that is Pending, and has no tasks: spec.status.first: no such key: tasks"},
		`{genericJob: {}, status: {state: "${observed.phase}", count: "${observed.?tasks[?0].?replicas.orValue([]).size()}", s: "${has(observed.startTime)}"}, phase: "shown.?state.orValue('')"}`: nil,
		`{genericJob: {a: 1}, variables: [{name: a, expression: nope}]}`:                 {"spec.variables[0].expression: undeclared", "spec.genericJob.a: there is no such field"},
		`genericJob: {ttlSecondsAfterFinished: 3}`:                                       {"spec.genericJob.ttlSecondsAfterFinished: a GenericJob that goes before its job would be missed"},
		`genericJob: {restartScope: "${string(` + threeLoops("words") + `.size())}"}`:    {"spec.genericJob.restartScope: may cost up to 2255696, and 1000000 are allowed"},
		`genericJob: {restartScope: "${string(` + threeLoops("few") + `.size())}"}`:      nil, // the schema bounds it
		`genericJob: {restartScope: "${string('a'.matches(job.spec.name))}"}`:            {"spec.genericJob.restartScope: matches takes a pattern that stands in the definition"},
		`genericJob: {restartScope: "${string(matches('a', 'a' + job.spec.name))}"}`:     {"spec.genericJob.restartScope: matches takes a pattern that stands in the definition"},
		`genericJob: {restartScope: "${string(job.spec.words.all(w, 'a'.matches(w)))}"}`: {"spec.genericJob.restartScope: matches takes a pattern that stands in the definition"},
		`genericJob: {restartScope: "${string('a'.matches(dyn(job.spec.any)))}"}`:        {"spec.genericJob.restartScope: matches takes a pattern that stands in the definition"},
		`genericJob: {restartScope: "${string(job.spec.name.matches('^[a-z]+$'))}"}`:     nil,
		`genericJob: {managedBy: other}`:                                                 {"spec.genericJob.managedBy: the operator runs the GenericJobs that it makes"},
	} {
		_, err := defined(t, text)
		if want == nil {
			require.NoError(t, err, text)
			continue
		}
		require.Error(t, err, text)
		var mistakes definition.MistakesError
		require.ErrorAs(t, err, &mistakes, text)
		require.Len(t, mistakes, len(want), "%s: %v", text, err)
		for _, words := range want {
			require.ErrorContains(t, err, words, text)
		}
	}
}

func TestWhatTemplatesBecome(t *testing.T) {
	for name, tc := range map[string]struct{ definition, job, want string }{
		"a value keeps its type": {`genericJob: {replicas: "${job.spec.count}", replicaSpecs: []}`, "count: 3", `{"replicaSpecs":[],"replicas":3}`},
		"text around it":         {`genericJob: {cleanUpPolicy: "a${job.spec.count}-${job.spec.flag}b", replicaSpecs: []}`, "{count: 3, flag: true}", `{"cleanUpPolicy":"a3-trueb","replicaSpecs":[]}`},
		"variables of the job":   {`genericJob: {cleanUpPolicy: "$(rank)$${job}", replicaSpecs: []}`, "{}", `{"cleanUpPolicy":"$(rank)${job}","replicaSpecs":[]}`},
		"braces and quotes":      {`genericJob: {cleanUpPolicy: "${{'a}': '}'}['a}'] + \"\\\"\"}", replicaSpecs: []}`, "{}", `{"cleanUpPolicy":"}\"","replicaSpecs":[]}`},
		"an optional without a value is left out": {`genericJob: {replicas: "${job.spec.?count}", replicaSpecs: [{type: a, template: {}}, "${job.spec.?any}"]}`, "{}",
			`{"replicaSpecs":[{"type":"a","template":{"metadata":{},"spec":{"containers":null}}}]}`},
		"null is left out":            {`genericJob: {replicas: "${job.spec.count > 1 ? dyn(job.spec.count) : null}", replicaSpecs: []}`, "count: 1", `{"replicaSpecs":[]}`},
		"lists from lists":            {`genericJob: {replicaSpecs: "${job.spec.words.map(w, {'type': w, 'replicas': job.spec.count, 'template': {'spec': {'containers': [{'name': w}]}}})}"}`, "{count: 2, words: [a]}", `{"replicaSpecs":[{"type":"a","replicas":2,"template":{"metadata":{},"spec":{"containers":[{"name":"a","resources":{}}]}}}]}`},
		"lists from maps":             {`genericJob: {replicaSpecs: "${job.spec.env.transformList(k, v, {'type': k})}"}`, "env: {w: x}", `{"replicaSpecs":[{"type":"w","template":{"metadata":{},"spec":{"containers":null}}}]}`},
		"what the schema leaves open": {`genericJob: {replicas: "${job.spec.any.deep.count}", replicaSpecs: []}`, "any: {deep: {count: 4}}", `{"replicaSpecs":[],"replicas":4}`},
		"a number":                    {`genericJob: {cleanUpPolicy: "${string(job.spec.rate * 2.0)}", replicaSpecs: []}`, "rate: 1.5", `{"cleanUpPolicy":"3","replicaSpecs":[]}`},
		"an integer as a number":      {`genericJob: {cleanUpPolicy: "${job.spec.rate < 2.5}.", replicaSpecs: []}`, "rate: 2", `{"cleanUpPolicy":"true.","replicaSpecs":[]}`},
		"a reserved word":             {`genericJob: {cleanUpPolicy: "${job.spec.namespace}", replicaSpecs: []}`, "namespace: x", `{"cleanUpPolicy":"x","replicaSpecs":[]}`},
		"name and namespace":          {`genericJob: {cleanUpPolicy: "${job.namespace}/${job.name}", replicaSpecs: []}`, "{}", `{"cleanUpPolicy":"ns/job","replicaSpecs":[]}`},
		"a comment":                   {`genericJob: {cleanUpPolicy: "${job.spec.words[0] // the user's } word\n}", replicaSpecs: []}`, "words: [a]", `{"cleanUpPolicy":"a","replicaSpecs":[]}`},
		"texts":                       {`genericJob: {cleanUpPolicy: "${job.spec.words.join(',').replace('a', 'x').lowerAscii().trim().split(',')[1]}", replicaSpecs: []}`, "words: [a, BA]", `{"cleanUpPolicy":"ba","replicaSpecs":[]}`},
		"the largest":                 {`genericJob: {replicas: "${math.greatest(job.spec.count, 1)}", replicaSpecs: []}`, "count: 0", `{"replicaSpecs":[],"replicas":1}`},
		"inside a pod template": {`genericJob: {cleanUpPolicy: "${job.spec.template.spec.containers[0].name}, ${has(job.spec.template.spec)}, ${has(dyn(job.spec.template).nope)}, ${job.spec.template == job.spec.template}, ${size(dyn(job.spec.template))}", replicaSpecs: []}`,
			"template: {spec: {containers: [{name: a}]}}", `{"cleanUpPolicy":"a, true, false, true, 1","replicaSpecs":[]}`},
		"a pod template in a list": {`genericJob: {replicaSpecs: "${job.spec.any.roles.map(r, {'type': r.name, 'template': r.template.setMainContainer('a')})}"}`, "any: {roles: [{name: w, template: {spec: {containers: [{name: a}]}}}]}",
			`{"replicaSpecs":[{"type":"w","template":{"metadata":{"annotations":{"kubectl.kubernetes.io/default-container":"a"}},"spec":{"containers":[{"name":"a","resources":{}}]}}}]}`},
		"rules":                    {`genericJob: {failureRules: ["${anyOf('w')}"], replicaSpecs: []}`, "{}", `{"failureRules":[{"w":["any"]}],"replicaSpecs":[]}`},
		"a variable of a variable": {`{genericJob: {replicas: "${variables.b}", replicaSpecs: []}, variables: [{name: a, expression: job.spec.count}, {name: b, expression: variables.a * 2}]}`, "count: 2", `{"replicaSpecs":[],"replicas":4}`},
		"a run policy":             {`{genericJob: {replicaSpecs: []}, runPolicy: "{'backoffLimit': job.spec.count, ?'cleanUpPolicy': job.spec.?name}"}`, "count: 2", `{"cleanUpPolicy":"Unfinished","replicaSpecs":[],"backoffLimit":2}`},
		"rules of the framework":   {`{genericJob: {replicaSpecs: [], failurePolicy: {rules: [{match: {exitCodes: [93]}, action: Fail}]}}, runPolicy: "job.spec.?any"}`, "{}", `{"cleanUpPolicy":"Unfinished","replicaSpecs":[],"backoffLimit":3,"failurePolicy":{"rules":[{"match":{"exitCodes":[93]},"action":"Fail"}]}}`},
		"a run policy by default":  {`{genericJob: {replicaSpecs: []}, runPolicy: "job.spec.?any"}`, "{}", `{"cleanUpPolicy":"Unfinished","replicaSpecs":[],"backoffLimit":3}`},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := compiled(t, tc.definition, tc.job)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWhatFailsAJob(t *testing.T) {
	const loop = `job.spec.words.map(a, job.spec.words.map(b, a == b))`
	many := "words: [" + strings.Repeat("abcdefgh,", 300) + "]"
	for name, tc := range map[string]struct{ definition, job, want string }{
		"what is not there":              {`genericJob: {replicas: "${job.spec.count}", replicaSpecs: []}`, "{}", "spec.genericJob.replicas: no such key: count"},
		"in a variable":                  {`{genericJob: {replicas: "${variables.a + 1}", replicaSpecs: []}, variables: [{name: a, expression: job.spec.count}]}`, "{}", "spec.variables[0].expression: no such key: count"},
		"of another type":                {`genericJob: {replicas: "${job.spec.either}", replicaSpecs: []}`, "either: x", "spec.genericJob: "},
		"an unknown field":               {`genericJob: {runMode: "${job.spec.any}", replicaSpecs: []}`, "any: {nope: 1}", `spec.genericJob: unknown field "runMode.nope"`},
		"a validation":                   {`{genericJob: {replicaSpecs: []}, validations: [{expression: job.spec.count > 1, message: "spec.count is ${job.spec.count}: more than 1 is wanted"}]}`, "count: 1", "spec.count is 1: more than 1 is wanted"},
		"too dear":                       {`genericJob: {cleanUpPolicy: "${` + loop + `.size()}.", replicaSpecs: []}`, strings.Replace(many, "[", "["+strings.Repeat("abcdefgh,", 300), 1), "spec.genericJob.cleanUpPolicy: the expression costs more than 1000000 for this job: it takes too long"},
		"a text without end":             {`genericJob: {cleanUpPolicy: "${job.spec.words.join('x').replace('a', job.spec.words.join('x')).replace('a', job.spec.words.join('x'))}", replicaSpecs: []}`, many, "replace: the text would be longer than 1 MiB"},
		"no port":                        {`genericJob: {replicaSpecs: [{template: "${job.spec.template.ensurePort('a', 'p', 70000)}"}]}`, "template: {spec: {containers: [{name: a}]}}", "ensurePort: 70000 is no port: 1 to 65535 are"},
		"no such container":              {`genericJob: {replicaSpecs: [{template: "${job.spec.template.ensurePort('x', 'p', 1)}"}]}`, "template: {spec: {containers: [{name: a}]}}", `ensurePort: no container is named "x"`},
		"no pod template":                {`genericJob: {replicaSpecs: [{template: "${job.spec.either.setMainContainer('x')}"}]}`, "either: 3", "setMainContainer: int is no pod template"},
		"an unknown field of a template": {`genericJob: {replicaSpecs: [{template: "${job.spec.any.setMainContainer('x')}"}]}`, "any: {spec: {contaners: []}}", `unknown field "spec.contaners"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, got := compiled(t, tc.definition, tc.job)
			require.Contains(t, got, tc.want)
			require.Less(t, len(got), 1000)
		})
	}
}

// TestNoExpressionGrowsWithoutABound: what doubles its value again and again is refused, or stopped after some of it.
func TestNoExpressionGrowsWithoutABound(t *testing.T) {
	double := "job.spec.words" + strings.Repeat(" + job.spec.words", 9)
	nested := "[job.spec.words]" + strings.Repeat(".map(a, [a, a])", 9)
	for _, e := range []string{double, nested} {
		_, err := defined(t, fmt.Sprintf(`{genericJob: {replicaSpecs: []}, variables: [{name: a, expression: %q}]}`, e))
		require.Error(t, err)
		require.Regexp(t, "concatenations of lists in one expression: 8 are allowed|exceeds nesting limit", err.Error())
	}
	variables := []string{"{name: v0, expression: job.spec.words}"}
	for i := 1; i < 64; i++ {
		variables = append(variables, fmt.Sprintf("{name: v%d, expression: '[variables.v%d, variables.v%d]'}", i, i-1, i-1))
	}
	text := `{genericJob: {cleanUpPolicy: "${variables.v63 == variables.v63}.", replicaSpecs: []}, variables: [` + strings.Join(variables, ", ") + "]}"
	_, got := compiled(t, text, "words: [a]")
	require.Contains(t, got, "the value is too large")

	_, err := defined(t, fmt.Sprintf(`{genericJob: {replicaSpecs: []}, runPolicy: %q}`, strings.Repeat("(", 65)+"1"+strings.Repeat(")", 65)))
	require.ErrorContains(t, err, "recursion limit")
	_, err = defined(t, fmt.Sprintf(`{genericJob: {restartScope: "${%s}"}}`, strings.Repeat(" ", 5000)+"1"))
	require.ErrorContains(t, err, "exceeds limit")
	_, err = defined(t, fmt.Sprintf(`{genericJob: {restartScope: %q}}`, strings.Repeat("x", 70_000)))
	require.ErrorContains(t, err, "65536 are allowed")
}

// TestExpressionsShareWhatTheyMayCost: many that are not too dear by themselves are, together.
func TestExpressionsShareWhatTheyMayCost(t *testing.T) {
	var entries []string
	for i := range 16 {
		entries = append(entries, fmt.Sprintf("k%d: \"${job.spec.words.map(a, job.spec.words.filter(b, a == b).size()).size()}.\"", i))
	}
	_, got := compiled(t, "{genericJob: {replicaSpecs: []}, data: {"+strings.Join(entries, ", ")+"}}", "words: ["+strings.Repeat("abcdefgh,", 150)+"]")
	require.Contains(t, got, "together cost more than 3000000 for this job")
}

func TestDataHasANameInTheGenericJob(t *testing.T) {
	program, got := compiled(t, `{genericJob: {cleanUpPolicy: "${data.name}", replicaSpecs: []}, data: {hosts: "${job.spec.words.join('-')}"}}`, "words: [a, b]")
	require.Equal(t, map[string]string{"hosts": "a-b"}, program.Data)
	require.Contains(t, got, framework.ConfigMapName("job", program.Data))
}

// TestAHostFileHasALineForEachRank, of as many replicas as the document says.
func TestAHostFileHasALineForEachRank(t *testing.T) {
	const hosts = `{genericJob: {cleanUpPolicy: "${data.name}", replicaSpecs: []}, data: {hosts: "${ranks(job.spec.count).map(r, job.name + '-worker-' + string(r) + ' slots=8').join('\\n')}"}}`
	program, _ := compiled(t, hosts, "count: 3")
	require.Equal(t, map[string]string{"hosts": "job-worker-0 slots=8\njob-worker-1 slots=8\njob-worker-2 slots=8"}, program.Data)
	program, _ = compiled(t, hosts, "count: 0")
	require.Equal(t, map[string]string{"hosts": ""}, program.Data)
	program, problem := compiled(t, hosts, "count: 10000")
	require.Equal(t, 9_999, strings.Count(program.Data["hosts"], "\n"), problem)
	for _, n := range []string{"-1", "20001"} {
		_, problem := compiled(t, hosts, "count: "+n)
		require.Contains(t, problem, "spec.data[hosts]: ranks: "+n+" is no number of replicas: 0 to 20000 are")
	}
}

func TestRevisionsAreMadeOfContent(t *testing.T) {
	name := func(text string) string {
		d, err := defined(t, text)
		require.NoError(t, err)
		return d.Registration().Revision
	}
	a := name(`genericJob: {replicas: 1, replicaSpecs: []}`)
	require.Len(t, a, 10)
	require.Equal(t, a, name(`genericJob: {replicaSpecs: [], replicas: 1}`))
	require.NotEqual(t, a, name(`genericJob: {replicaSpecs: [], replicas: 2}`))
}

// TestMerge: what a patch adds is told apart by names; a list without names is replaced; the template itself stays as it was.
func TestMerge(t *testing.T) {
	const definition = `{variables: [{name: t, expression: "job.spec.template.merge({'spec': {
      'volumes': [{'name': 'keys', 'secret': {'secretName': 'keys'}}], 'hostname': job.spec.?name,
      'containers': [{'name': 'main', 'args': [], 'volumeMounts': [{'name': 'keys', 'mountPath': '/keys'}]}]}})"}],
      genericJob: {replicaSpecs: [{type: a, template: "${variables.t}"}, {type: b, template: "${job.spec.template}"}]}}`
	program, problem := compiled(t, definition, `template: {spec: {containers: [{name: side}, {name: main, image: x, args: [a], volumeMounts: [{name: own, mountPath: /own}]}], volumes: [{name: own, emptyDir: {}}]}}`)
	require.NotEmpty(t, program.Spec.ReplicaSpecs, problem)
	merged, plain := program.Spec.ReplicaSpecs[0].Template.Spec, program.Spec.ReplicaSpecs[1].Template.Spec
	require.Equal(t, "x", merged.Containers[1].Image)
	require.Empty(t, merged.Containers[1].Args)
	require.Empty(t, merged.Hostname)
	require.Len(t, merged.Containers[1].VolumeMounts, 2)
	require.Len(t, merged.Volumes, 2)
	require.Equal(t, []string{"a"}, plain.Containers[1].Args)
	require.Len(t, plain.Volumes, 1)

	_, problem = compiled(t, strings.Replace(definition, "'hostname'", "'hostnam'", 1), "{name: x, template: {spec: {containers: [{name: main}]}}}")
	require.Contains(t, problem, `spec.variables[0].expression: merge: unknown field "spec.hostnam"`)
	many := strings.Repeat("{name: main, image: x}, ", 20_000)
	_, problem = compiled(t, definition, "template: {spec: {containers: ["+many+"]}}")
	require.Contains(t, problem, "costs more than")
}
