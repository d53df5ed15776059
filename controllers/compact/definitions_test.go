package compact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// A job whose kind a definition serves is JSON anyway; a large one is packed as all are.
func TestAJobOfADefinitionIsOpenedAsItWas(t *testing.T) {
	job := &definition.Job{}
	job.Name, job.Labels = "large", map[string]string{"a": "b"}
	job.Spec.Raw = []byte(`{"args":["` + strings.Repeat("x", 100_000) + `"]}`)
	job.Status.Raw = []byte(`{"phase":"Running"}`)
	want := job.DeepCopyObject()
	_, err := Object(job)
	require.NoError(t, err)
	require.Empty(t, job.Spec.Raw)
	require.JSONEq(t, `{"phase":"Running"}`, string(job.Status.Raw))
	require.InDelta(t, 100_000, size(job), 2000)
	require.NoError(t, open(job))
	require.Equal(t, want, job)
}

// Which revision compiled a GenericJob is asked before it is opened. A text of any length is none.
func TestARevisionCanBeReadOfAPackedGenericJob(t *testing.T) {
	for revision, want := range map[string]string{"0123456789": "0123456789", strings.Repeat("x", 64): ""} {
		job := worker(100_000)
		job.Annotations = map[string]string{v1beta1.AnnotationFrameworkRevision: revision, "other": "text"}
		before := job.DeepCopy()
		_, err := Object(job)
		require.NoError(t, err)
		require.Equal(t, want, job.Annotations[v1beta1.AnnotationFrameworkRevision])
		require.NotContains(t, job.Annotations, "other")
		require.NoError(t, open(job))
		require.Equal(t, before.Annotations, job.Annotations)
	}
}
