// Command olderversion completes the generated CRDs of kubeflow.org. It adds the version v1beta2, which older manifests
// name. It removes the descriptions inside autoscaler metrics, which are Kubernetes' own documentation.
//
// Both versions have one schema, for the fields of the older one are accepted in the newer one too: nothing need be
// converted.
//
// MPIJob gets the version v1, which is not served. The training operator's CRD has stored it, and the apiserver takes no CRD that lacks
// a version which was stored.
//
// Usage: olderversion FILE...
package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const (
	older   = "v1beta2"
	mpi     = "v2beta1"
	warning = "kubeflow.org/v1beta2 is served for older manifests: write apiVersion kubeflow.org/v1, everything else may stay"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := complete(file); err != nil {
			fmt.Fprintf(os.Stderr, "olderversion: %s: %v\n", file, err)
			os.Exit(1)
		}
	}
}

// complete rewrites one CRD file in place.
func complete(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	crd := map[string]any{}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return err
	}
	spec, _ := crd["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	if len(versions) != 1 {
		return errors.New("want one version, as controller-gen has just written it")
	}
	newer, _ := versions[0].(map[string]any)
	if newer["name"] == mpi {
		spec["versions"] = []any{newer, map[string]any{
			"name": "v1", "served": false, "storage": false, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		}}
		return write(file, crd)
	}
	eachProperty(newer, "metrics", func(schema map[string]any) {
		for name, child := range schema {
			if name != "description" {
				dropDescriptions(child)
			}
		}
	})
	copied := runtime.DeepCopyJSON(newer)
	copied["name"], copied["storage"] = older, false
	copied["deprecated"], copied["deprecationWarning"] = true, warning
	spec["versions"] = []any{newer, copied}
	return write(file, crd)
}

func write(file string, crd map[string]any) error {
	out, err := yaml.Marshal(crd)
	if err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), out...), 0o644)
}

// eachProperty visits the schemas of the properties of a name.
func eachProperty(node any, name string, visit func(map[string]any)) {
	switch n := node.(type) {
	case map[string]any:
		if properties, ok := n["properties"].(map[string]any); ok {
			if schema, ok := properties[name].(map[string]any); ok {
				visit(schema)
			}
		}
		for _, child := range n {
			eachProperty(child, name, visit)
		}
	case []any:
		for _, child := range n {
			eachProperty(child, name, visit)
		}
	}
}

// dropDescriptions removes the description of every schema below node. A description is text: a property that is called
// "description" is a schema, and stays.
func dropDescriptions(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, isText := n["description"].(string); isText {
			delete(n, "description")
		}
		for _, child := range n {
			dropDescriptions(child)
		}
	case []any:
		for _, child := range n {
			dropDescriptions(child)
		}
	}
}
