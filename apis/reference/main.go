// Command reference writes the API reference: one table for the spec and one for the status of each kind. It reads the CRDs that controller-gen has
// made from the types of this folder.
//
// Usage: reference CRD... > README.md
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed head.txt
var head string

func main() {
	text, err := reference(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
	if _, err := os.Stdout.Write(text); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// reference is the page that describes the CRDs in these files.
func reference(files []string) ([]byte, error) {
	p := page{first: map[string]string{}}
	p.WriteString(head)
	var crds []crd
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var c crd
		if err := yaml.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		if len(c.Spec.Versions) == 0 {
			return nil, fmt.Errorf("%s has no spec.versions: it is not a CRD", file)
		}
		crds = append(crds, c)
	}
	p.index(crds)
	for _, c := range crds {
		p.kind(c)
	}
	return bytes.TrimLeft(p.Bytes(), "\n"), nil
}

// crd is what the page tells of a CustomResourceDefinition.
type crd struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind       string   `json:"kind"`
			Plural     string   `json:"plural"`
			ShortNames []string `json:"shortNames"`
		} `json:"names"`
		Versions []version `json:"versions"`
	} `json:"spec"`
}

type version struct {
	Name    string `json:"name"`
	Storage bool   `json:"storage"`
	Columns []struct {
		Name     string `json:"name"`
		Priority int    `json:"priority"`
	} `json:"additionalPrinterColumns"`
	Subresources struct {
		Scale *struct {
			Spec string `json:"specReplicasPath"`
		} `json:"scale"`
	} `json:"subresources"`
	Schema struct {
		Root schema `json:"openAPIV3Schema"`
	} `json:"schema"`
}

// stored is the version that the page describes, and others are the names of the rest.
func (c crd) stored() (stored version, others []string) {
	for _, v := range c.Spec.Versions {
		if v.Storage {
			stored = v
		} else {
			others = append(others, "`"+v.Name+"`")
		}
	}
	return stored, others
}

// columns are those of `kubectl get`, or with wide those that `-o wide` adds.
func (v version) columns(wide bool) string {
	var names []string
	for _, column := range v.Columns {
		if (column.Priority > 0) == wide {
			names = append(names, strings.ToUpper(column.Name))
		}
	}
	return strings.Join(names, ", ")
}
