package translate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// Read reads the jobs of a manifest of one or several documents, and says what would be made of each. Documents of other kinds
// are left out; skipped names them. An error says that the manifest cannot be read.
func Read(manifest io.Reader, all bool) (made []Made, skipped []string, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(manifest))
	for n := 1; ; n++ {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return made, skipped, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(raw, &head); err != nil {
			return nil, nil, fmt.Errorf("document %d: %w", n, err)
		}
		kind := jobs.ByKind(schema.FromAPIVersionAndKind(head.APIVersion, head.Kind))
		switch {
		case head.Kind == "" && len(bytes.TrimSpace(withoutComments(raw))) == 0:
		case kind == nil:
			skipped = append(skipped, head.Kind)
		default:
			made = append(made, read(kind, raw, all))
		}
	}
}

// read reads one job. A field that the kind does not have is a mistake: the apiserver would drop it.
func read(kind *jobs.Kind, raw []byte, all bool) Made {
	job := kind.New()
	text, err := yaml.YAMLToJSONStrict(raw)
	if err != nil {
		return Made{Kind: kind, Job: job, Err: err}
	}
	mistakes, err := json.UnmarshalStrict(text, job)
	if err = errors.Join(append(mistakes, err)...); err != nil {
		return Made{Kind: kind, Job: job, Err: err}
	}
	if job.GetName() == "" {
		return Made{Kind: kind, Job: job, Err: errors.New("metadata.name is empty: give the job a name")}
	}
	return Of(kind, job, all)
}

// withoutComments are the lines of a document that say something.
func withoutComments(raw []byte) (out []byte) {
	for line := range bytes.Lines(raw) {
		if line := bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("---")) {
			out = append(out, line...)
		}
	}
	return out
}
