package definition_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/translatortest"
)

// BenchmarkCompile is what a reconcile over a job pays for the definition.
func BenchmarkCompile(b *testing.B) {
	spec, schemas := definitionOf(b, "jax")
	d, err := definition.New(spec, schemas)
	require.NoError(b, err)
	raw, err := os.ReadFile(filepath.Join(extension, "jax", "testdata", "users-wishes.yaml"))
	require.NoError(b, err)
	r := d.Registration()
	job := translatortest.Decode(b, r, raw)
	for b.Loop() {
		if _, err := r.Compile(job); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNew is what an edit of a definition pays.
func BenchmarkNew(b *testing.B) {
	spec, schemas := definitionOf(b, "jax")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := definition.New(spec, schemas); err != nil {
			b.Fatal(err)
		}
	}
}
