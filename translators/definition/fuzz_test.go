package definition_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// FuzzDefinition checks any definition, and compiles any job with those that are accepted: neither may panic, and what comes out
// again comes out the same.
func FuzzDefinition(f *testing.F) {
	spec, known := definitionOf(f, "jax")
	whole, err := yaml.Marshal(spec)
	if err != nil {
		f.Fatal(err)
	}
	const job = `{"template":{"spec":{"containers":[{"name":"jax","image":"i"}]}},"replicas":2}`
	f.Add(whole, []byte(job))
	f.Add([]byte(`{genericJob: {replicaSpecs: "${job.spec.words.map(w, {'type': w})}"}, variables: [{name: a, expression: "1"}]}`), []byte(`{"words":["a"]}`))
	f.Add([]byte(`{genericJob: {cleanUpPolicy: "a${job.name}$${b}"}, data: {x: "${job.spec}"}}`), []byte(`{"words":null}`))
	f.Add([]byte(`{genericJob: {}, status: {phase: "${observed.phase}"}, phase: shown.phase}`), []byte(`[]`))
	f.Add([]byte(`{genericJob: {replicas: "${job.spec.n}"}, schema: {type: object, properties: {n: {type: integer}, t: {$ref: PodTemplateSpec}, l: {type: array, items: {type: string, default: a}}}}}`), []byte(`{"n":1}`))
	f.Fuzz(func(t *testing.T, text, job []byte) {
		spec := &v1beta1.TrainingFrameworkSpec{}
		if yaml.Unmarshal(text, spec) != nil {
			return
		}
		all := []definition.Schemas{{}, known}
		if own, made := ownSchemas(t, spec); made {
			all = append(all, own)
		}
		for _, s := range all {
			d, err := definition.New(spec, s)
			if err != nil {
				_ = err.Error()
				continue
			}
			r := d.Registration()
			one := &definition.Job{}
			one.Name, one.Spec.Raw, one.Status.Raw = "job", job, job
			first, err := d.Compile(one)
			second, again := d.Compile(one)
			if (err == nil) != (again == nil) || err == nil && definition.RevisionOf(spec) != d.Registration().Revision {
				t.Fatalf("%v, and then %v", err, again)
			}
			if err == nil && !sameJSON(t, first.Spec, second.Spec) {
				t.Fatalf("%v, and then %v", first.Spec, second.Spec)
			}
			_ = r.Mirror(one, v1beta1.GenericJobStatus{Phase: v1beta1.JobRunning}) // a drawn definition may be unable to
			r.Phase(one)
		}
	})
}

// ownSchemas are those of the kind that the operator would make. What is made can be made again of what is there.
func ownSchemas(t *testing.T, spec *v1beta1.TrainingFrameworkSpec) (own definition.Schemas, made bool) {
	t.Helper()
	crd, err := definition.CRDFor(spec)
	if crd == nil || err != nil {
		return own, false
	}
	if narrower := definition.Narrower(spec, crd); len(narrower) > 0 {
		t.Fatal(narrower)
	}
	own, err = definition.SchemasOf(crd, spec.Kind)
	return own, err == nil
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	one, err := yaml.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	other, err := yaml.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(one) == string(other)
}
