// Command trim makes generated CRDs small enough for a plain `kubectl apply`. It removes the descriptions inside
// embedded pod templates. These are Kubernetes' own documentation, and nine tenths of the size. Descriptions of our
// own fields stay, for `kubectl explain`. It also adds what controller-gen has no marker for; see boundContainers,
// completeRanks, boundNumbers and boundLists.
//
// Usage: trim FILE...
package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	for _, file := range os.Args[1:] {
		if err := trim(file); err != nil {
			fmt.Fprintln(os.Stderr, "trim:", err)
			os.Exit(1)
		}
	}
}

// trim rewrites one CRD file in place.
func trim(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var crd map[string]any
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	trimTemplates(crd)
	completeRanks(crd)
	boundNumbers(crd)
	boundLists(crd)
	out, err := yaml.Marshal(crd)
	if err != nil {
		return fmt.Errorf("render %s: %w", file, err)
	}
	return os.WriteFile(file, append([]byte("---\n"), out...), 0o644)
}

// trimTemplates finds the schemas of pod templates: properties named "template".
func trimTemplates(node any) {
	switch n := node.(type) {
	case map[string]any:
		if properties, ok := n["properties"].(map[string]any); ok {
			if template, ok := properties["template"].(map[string]any); ok {
				dropDescriptions(template["properties"])
				boundContainers(template)
			}
		}
		for _, child := range n {
			trimTemplates(child)
		}
	case []any:
		for _, child := range n {
			trimTemplates(child)
		}
	}
}

// dropDescriptions removes the description of every schema below node. A description is text: a property that is
// called "description" is a schema, and stays.
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

// boundContainers gives the names of containers a bound. Without it the apiserver refuses any rule about them: it reckons a rule's cost
// by the longest text that the schema allows. A name is a DNS label anyway.
func boundContainers(template map[string]any) {
	containers, found, err := unstructured.NestedMap(template, "properties", "spec", "properties", "containers")
	if !found || err != nil {
		return
	}
	if err := unstructured.SetNestedField(containers, int64(63), "items", "properties", "name", "maxLength"); err != nil {
		return
	}
	_ = unstructured.SetNestedMap(template, containers, "properties", "spec", "properties", "containers")
}

// completeRanks completes the schema of FinishRule, the one map with lists as values. A null there means an empty list,
// as it does to Go. Were it not nullable, the apiserver would drop the key, and a rule would hold without it. Ranks
// given as integers begin at 0, as those given as strings do.
func completeRanks(node any) {
	switch n := node.(type) {
	case map[string]any:
		if ranks, ok := n["additionalProperties"].(map[string]any); ok && ranks["type"] == "array" {
			ranks["nullable"] = true
			ranks["items"].(map[string]any)["minimum"] = 0
		}
		for _, child := range n {
			completeRanks(child)
		}
	case []any:
		for _, child := range n {
			completeRanks(child)
		}
	}
}
