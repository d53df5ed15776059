package definitions

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var largeKind = schema.GroupVersionKind{Group: "example.com", Version: "v2", Kind: "LargeJob"}

// narrowed is the CRD of a kind whose jobs have a queue, and at least one replica. No two hosts are alike, and slots come in pairs.
func narrowed() *apiextensionsv1.CustomResourceDefinition {
	type props = apiextensionsv1.JSONSchemaProps
	spec := props{Type: "object", Required: []string{"queue"}, Properties: map[string]props{
		"queue":    {Type: "string", MaxLength: ptr.To[int64](10)},
		"replicas": {Type: "integer", Minimum: ptr.To(1.0)},
		"slots":    {Type: "integer"},
		"hosts":    {Type: "array", XListType: ptr.To("set"), Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &props{Type: "string"}}},
	}, XValidations: apiextensionsv1.ValidationRules{{Rule: "!has(self.slots) || self.slots % 2 == 0", Message: "slots come in pairs"}}}
	status := props{Type: "object", Properties: map[string]props{"phase": {Type: "string"}}}
	return largeCRD(apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true, Schema: &apiextensionsv1.CustomResourceValidation{
		OpenAPIV3Schema: &props{Type: "object", Properties: map[string]props{"spec": spec, "status": status}},
	}})
}

// stored is an apiserver with these jobs. It has pages of four, and as many of each as are asked for.
type stored struct {
	client.Reader
	jobs   []*unstructured.Unstructured
	copies int
	err    error
	read   int
}

// List implements client.Reader.
func (s *stored) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	page := list.(*unstructured.UnstructuredList)
	for range o.Limit {
		if s.read < len(s.jobs)*s.copies {
			page.Items = append(page.Items, *s.jobs[s.read%len(s.jobs)].DeepCopy())
			s.read++
		}
	}
	if s.read < len(s.jobs)*s.copies {
		page.SetContinue("more")
	}
	return s.err
}

// TestAKindBecomesNarrowerOnlyIfAllJobsFit: the apiserver would refuse to write the status of one that does not.
func TestAKindBecomesNarrowerOnlyIfAllJobsFit(t *testing.T) {
	secret := strings.Repeat("s", 11)
	for name, tc := range map[string]struct {
		spec map[string]any
		why  string
	}{
		"it fits":                    {map[string]any{"queue": "a", "replicas": int64(1), "slots": int64(2)}, ""},
		"it breaks a bound":          {map[string]any{"queue": "a", "replicas": int64(0)}, "spec.replicas: spec.replicas in body should be greater than or equal to 1."},
		"it lacks a field":           {map[string]any{}, "spec.queue is missing."},
		"it has a field more":        {map[string]any{"queue": "a", "old": "b"}, "it has spec.old."},
		"it breaks a rule":           {map[string]any{"queue": "a", "slots": int64(3)}, "spec: slots come in pairs."},
		"it has an entry twice":      {map[string]any{"queue": "a", "hosts": []any{"a", "a"}}, "spec.hosts[1]: "},
		"a value that is of anybody": {map[string]any{"queue": secret}, "spec.queue: may not be more than 10 bytes."},
	} {
		t.Run(name, func(t *testing.T) {
			fits, job := jobOf(largeKind, "fits"), jobOf(largeKind, "waits")
			fits.Object["spec"] = map[string]any{"queue": "a"}
			job.Object["spec"] = tc.spec
			job.Object["status"] = map[string]any{"phase": int64(1), "old": "the operator writes the status anew"}
			why, err := (&Reconciler{Live: &stored{jobs: []*unstructured.Unstructured{fits, job}, copies: 1}}).unfit(t.Context(), largeKind, narrowed())
			require.NoError(t, err)
			require.Equal(t, tc.why == "", why == "", why)
			if tc.why != "" {
				require.Contains(t, why, "LargeJob team/waits is in the way: "+tc.why)
				require.NotContains(t, why, secret)
			}
		})
	}
}

// TestJobsThatCannotAllBeLookedAtMayBeInTheWay: a kind does not become narrower by mistake.
func TestJobsThatCannotAllBeLookedAtMayBeInTheWay(t *testing.T) {
	fits := jobOf(largeKind, "fits")
	fits.Object["spec"] = map[string]any{"queue": "a"}
	jobs := []*unstructured.Unstructured{fits}
	look := func(s *stored) (string, error) {
		return (&Reconciler{Live: s}).unfit(t.Context(), largeKind, narrowed())
	}
	why, err := look(&stored{jobs: jobs, copies: maxStored})
	require.NoError(t, err)
	require.Empty(t, why)
	many := &stored{jobs: jobs, copies: 2 * maxStored}
	why, err = look(many)
	require.NoError(t, err)
	require.Contains(t, why, "There are more than 5000 jobs of the kind")
	require.Less(t, many.read, maxStored+2*storedPage, "no more are read")
	why, err = look(&stored{err: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no"))})
	require.NoError(t, err)
	require.Contains(t, why, "The operator may not list the jobs of kind LargeJob")
	_, err = look(&stored{err: errors.New("no answer")})
	require.ErrorContains(t, err, "list the jobs of kind LargeJob: no answer")
}

// TestAnEditWaitsForTheJobsInItsWay, and no longer.
func TestAnEditWaitsForTheJobsInItsWay(t *testing.T) {
	d := &v1beta1.TrainingFramework{}
	d.Spec.Kind = v1beta1.FrameworkKind(largeKind)
	d.Spec.Schema = &runtime.RawExtension{Raw: []byte(`{"type": "object", "required": ["queue"], "properties": {"queue": {"type": "string"}}}`)}
	have := narrowed()
	have.Spec.Scope = apiextensionsv1.NamespaceScoped
	have.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	have.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"queue": {Type: "string"}},
	}
	job := jobOf(largeKind, "waits")
	job.Object["spec"] = map[string]any{"replicas": int64(0)}
	jobs := &stored{jobs: []*unstructured.Unstructured{job}, copies: 1}
	for name, tc := range map[string]struct {
		crd   *apiextensionsv1.CustomResourceDefinition
		waits bool
	}{
		"the kind is not there":    {nil, false},
		"somebody else's is kept":  {&apiextensionsv1.CustomResourceDefinition{}, false},
		"the operator has made it": {have, true},
	} {
		jobs.read = 0
		j := &judgement{Reconciler: &Reconciler{Live: jobs}, definition: d, kindFound: kindFound{crd: tc.crd}, made: narrowed()}
		require.NoError(t, j.checkNarrower(t.Context()), name)
		require.Equal(t, tc.waits, j.waitsForJobs, name)
		require.Equal(t, tc.waits, j.mistakes != nil, name)
		require.Equal(t, tc.waits, j.orSooner(askAgain) == askForJobs, name)
	}
}

// TestOnlyTheSpecOfAJobCounts: a spec without fields of its own names its values in brackets.
func TestOnlyTheSpecOfAJobCounts(t *testing.T) {
	for path, want := range map[string]bool{"spec": true, "spec.a": true, "spec[a]": true, "special": false, "status.spec": false, "": false} {
		require.Equal(t, want, ofSpec(path), path)
	}
}
