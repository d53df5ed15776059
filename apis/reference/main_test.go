package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a CRD that has one field of each sort.
const small = `
spec:
  group: example.com
  names: {kind: Toy, plural: toys, shortNames: [t]}
  versions:
    - {name: v0, storage: false}
    - name: v1
      storage: true
      additionalPrinterColumns: [{name: Phase}, {name: Message, priority: 1}]
      subresources: {scale: {specReplicasPath: .spec.count}}
      schema:
        openAPIV3Schema:
          description: Toy is one.
          x-kubernetes-validations: [{message: the name is short}]
          properties:
            spec:
              required: [count]
              properties:
                count: {type: integer, minimum: 0, maximum: 2147483647, description: "count counts <things>.\nDefault 3."}
                size: {x-kubernetes-int-or-string: true, pattern: '^[+-]?([0-9]+(x', description: size.}
                word: {type: string, pattern: ^(a|b)$, maxLength: 5, description: word.}
                choice: {type: string, enum: ["", "A"], description: choice.}
                template: {type: object, properties: {hidden: {type: string}}, description: template.}
                entries: &entries
                  type: array
                  maxItems: 4
                  description: entries.
                  items: &entry
                    type: object
                    x-kubernetes-validations: [{message: a before b, fieldPath: .a}]
                    properties:
                      a: {type: string, description: a.}
                      b: {type: boolean, description: b.}
                      c: {type: string, format: date-time, description: c.}
                map: {type: object, additionalProperties: *entry, description: map.}
            status:
              properties:
                entries: *entries
`

func TestReferenceTellsFieldsLimitsAndRules(t *testing.T) {
	file := filepath.Join(t.TempDir(), "toy.yaml")
	require.NoError(t, os.WriteFile(file, []byte(small), 0o600))
	text, err := reference([]string{file})
	require.NoError(t, err)
	for _, line := range []string{
		"| [Toy](#toy) | `example.com/v1` | `t` | [spec](#toy-spec), [status](#toy-status), [rules](#toy-rules) |",
		"`kubectl get toys` shows PHASE; with `-o wide` also MESSAGE. `kubectl scale` sets `spec.count`. Also served as `v0`, with the same fields.",
		"| `spec.count` | **required**, integer, at least 0 | count counts \\<things>. Default 3. |",
		"| `spec.size` | quantity | size. |",
		"| `spec.word` | string, at most 5 characters, matches `^(a\\|b)$` | word. |",
		"| `spec.choice` | one of `\"\"`, `A` | choice. |",
		"| `spec.template` | pod template | template. |",
		"| <a id=\"toy.spec.entries\"></a>`spec.entries` | list of object, at most 4 entries | entries. |",
		"| `spec.entries[].b` | `true` or `false` | b. |",
		"| `spec.entries[].c` | time | c. |",
		"| `spec.map` | map to object | map. Its fields are those of [Toy `spec.entries`](#toy.spec.entries). |",
		"| `status.entries` | list of object, at most 4 entries | entries. Its fields are those of [Toy `spec.entries`](#toy.spec.entries). |",
		"- the name is short",
		"- `spec.entries[].a`: a before b",
	} {
		require.Contains(t, "\n"+string(text), "\n"+line+"\n")
	}
	require.NotContains(t, string(text), "hidden", "a template's fields are Kubernetes' own")
	require.NotContains(t, string(text), "`status.entries[].a`", "they are listed once")
}

func TestReferenceRefusesWhatIsNoCRD(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kustomization.yaml")
	require.NoError(t, os.WriteFile(file, []byte("resources: [a.yaml]\n"), 0o600))
	_, err := reference([]string{file})
	require.ErrorContains(t, err, "it is not a CRD")
	_, err = reference([]string{strings.TrimSuffix(file, ".yaml")})
	require.ErrorContains(t, err, "no such file")
}
