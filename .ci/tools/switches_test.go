package tools_test

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"
)

// switches is the table of what is optional in deploy/README.md: of each row the cells.
func switches(t *testing.T, page string) (rows [][]string) {
	t.Helper()
	_, table, found := strings.Cut(page, "<!-- switches: ")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[3:] {
		rows = append(rows, strings.Split(strings.Trim(line, "|"), "|"))
	}
	return rows
}

// optional are the values of a chart that are true or false, and their names with dots.
func optional(values map[string]any, in string) (names []string) {
	for name, value := range values {
		switch v := value.(type) {
		case bool:
			names = append(names, in+name)
		case map[string]any:
			names = append(names, optional(v, in+name+".")...)
		}
	}
	return names
}

// hasValue reports whether a chart has a value of that name.
func hasValue(values map[string]any, name string) bool {
	first, rest, deeper := strings.Cut(name, ".")
	value, has := values[first]
	if !has || !deeper {
		return has
	}
	inner, is := value.(map[string]any)
	return is && hasValue(inner, rest)
}

// Whoever runs the operator finds in one table how each optional thing is switched off.
func TestEachOptionalThingStandsInTheTableOfSwitches(t *testing.T) {
	rows := switches(t, read(t, "deploy/README.md"))
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "deploy/helm/genericjob/values.yaml")), &values))
	var schema struct {
		Properties struct {
			Flags struct {
				Properties map[string]any `json:"properties"`
			} `json:"flags"`
		} `json:"properties"`
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, "deploy/helm/genericjob/values.schema.json")), &schema))
	values["flags"] = schema.Properties.Flags.Properties
	require.NotEmpty(t, values["flags"])

	var named, linked []string
	for _, row := range rows {
		for _, word := range quoted.FindAllStringSubmatch(row[3], -1) {
			assert.True(t, hasValue(values, word[1]), "the chart has no value %s", word[1])
			named = append(named, word[1])
		}
		for _, link := range ofLink.FindAllStringSubmatch(row[4], -1) {
			linked = append(linked, path.Dir(path.Join("deploy", link[2])))
		}
	}
	delete(values, "flags") // a test of cmd/manager has all flags
	for _, name := range optional(values, "") {
		assert.Contains(t, named, name, "a value of the chart")
	}
	components := 0
	for _, file := range tracked(t) {
		if regexp.MustCompile(`^deploy/.*/kustomization\.yaml$`).MatchString(file) && strings.Contains(read(t, file), "\nkind: Component\n") {
			assert.True(t, slices.Contains(linked, path.Dir(file)), "the table has no component %s", path.Dir(file))
			components++
		}
	}
	require.Greater(t, components, 5)
}

func TestAnOptionalThingThatHasNoRowIsFound(t *testing.T) {
	values := map[string]any{"a": map[string]any{"enabled": false, "of": []any{}}, "b": true, "c": "text"}
	require.ElementsMatch(t, []string{"a.enabled", "b"}, optional(values, ""))
	require.True(t, hasValue(values, "a.of"))
	require.False(t, hasValue(values, "a.to"))
	require.False(t, hasValue(values, "c.d"))
	require.False(t, hasValue(values, "d"))
	require.Len(t, switches(t, "<!-- switches: x -->\n| a |\n|---|\n| b |\n| c |\n\n| d |\n"), 2)
}
