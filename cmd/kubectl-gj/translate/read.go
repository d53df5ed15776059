package translate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// document is one of a manifest.
type document struct {
	raw  []byte
	kind schema.GroupVersionKind
}

// Read reads the jobs of a manifest of one or several documents, and says what would be made of each. TrainingFrameworks among them
// compile the jobs of their kinds. Documents of other kinds are left out; skipped names them. An error says that the manifest cannot
// be read.
func Read(manifest io.Reader, all bool) (made []Made, skipped []string, err error) {
	documents, err := split(manifest)
	if err != nil {
		return nil, nil, err
	}
	made, defined := define(documents)
	for _, d := range documents {
		kind := jobs.ByKind(d.kind)
		its, ok := defined[d.kind]
		if kind == nil {
			kind = its
		}
		switch {
		case kind != nil:
			made = append(made, read(kind, d, all))
		case !ok && d.kind != trainingFramework && d.kind != crd:
			skipped = append(skipped, d.kind.Kind)
		}
	}
	return made, skipped, nil
}

// split finds the documents of a manifest, without those that are empty.
func split(manifest io.Reader) (list []document, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(manifest))
	for n := 1; ; n++ {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if err := yaml.Unmarshal(raw, &head); err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		if head.Kind != "" || len(bytes.TrimSpace(withoutComments(raw))) > 0 {
			list = append(list, document{raw, schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)})
		}
	}
}

// read reads one job.
func read(kind *jobs.Kind, d document, all bool) Made {
	job := kind.New()
	if err := d.into(job); err != nil {
		return Made{Kind: kind, Job: job, Err: shaped(kind, err)}
	}
	if job.GetName() == "" {
		return Made{Kind: kind, Job: job, Err: errors.New("metadata.name is empty: give the job a name")}
	}
	return Of(kind, job, all)
}

// shaped says which shape a field has that is a word in other kinds.
func shaped(kind *jobs.Kind, err error) error {
	if kind.Framework == nil && strings.Contains(err.Error(), "restartPolicy") {
		return fmt.Errorf("%w: in a GenericJob it is an object, as in restartPolicy: {policy: OnFailure, limit: 3}", err)
	}
	return err
}

// withoutComments returns the lines of a document that say something.
func withoutComments(raw []byte) (out []byte) {
	for line := range bytes.Lines(raw) {
		if line := bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("#")) && !bytes.HasPrefix(line, []byte("---")) {
			out = append(out, line...)
		}
	}
	return out
}
