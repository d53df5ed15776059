package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// schema is what the page tells of an OpenAPI schema.
type schema struct {
	Description string            `json:"description"`
	Type        string            `json:"type"`
	Format      string            `json:"format"`
	Enum        []string          `json:"enum"`
	Pattern     string            `json:"pattern"`
	Default     any               `json:"default"`
	IntOrString bool              `json:"x-kubernetes-int-or-string"`
	Required    []string          `json:"required"`
	Properties  map[string]schema `json:"properties"`
	Items       *schema           `json:"items"`
	Values      *schema           `json:"additionalProperties"`
	Rules       []rule            `json:"x-kubernetes-validations"`

	Minimum       *float64 `json:"minimum"`
	Maximum       *float64 `json:"maximum"`
	MinLength     *float64 `json:"minLength"`
	MaxLength     *float64 `json:"maxLength"`
	MinItems      *float64 `json:"minItems"`
	MaxItems      *float64 `json:"maxItems"`
	MinProperties *float64 `json:"minProperties"`
	MaxProperties *float64 `json:"maxProperties"`
}

type rule struct {
	FieldPath string `json:"fieldPath"`
	Message   string `json:"message"`
}

// kubernetes are the types of Kubernetes' own that are named instead of listed, by the name of the field that has them.
var kubernetes = map[string]string{
	"template":      "pod template",
	"ports":         "list of Service ports",
	"metrics":       "list of autoscaling/v2 MetricSpec",
	"resources":     "resource requirements of a container",
	"labelSelector": "label selector",
	"dependent":     "object reference",
}

// quantity is how the pattern of a quantity of Kubernetes' begins.
const quantity = `^[+-]?([0-9]+(`

// kindOf is what values of the schema are, with the limits of each.
func (s schema) kindOf() string {
	switch {
	case s.Items != nil:
		return joined("list of "+s.Items.kindOf(), span(s.MinItems, s.MaxItems, "entries"))
	case s.Values != nil:
		return joined("map to "+s.Values.kindOf(), span(s.MinProperties, s.MaxProperties, "keys"))
	case strings.HasPrefix(s.Pattern, quantity):
		return "quantity"
	case s.IntOrString:
		return joined("integer or string", s.limits())
	case len(s.Enum) > 0:
		return strings.ReplaceAll("one of `"+strings.Join(s.Enum, "`, `")+"`", "``", "`\"\"`")
	case s.Format == "date-time":
		return "time"
	case s.Type == "boolean":
		return "`true` or `false`"
	}
	return joined(s.Type, s.limits())
}

func (s schema) limits() string {
	pattern := ""
	if s.Pattern != "" {
		pattern = "matches `" + s.Pattern + "`"
	}
	return joined(span(s.Minimum, s.Maximum, ""), span(s.MinLength, s.MaxLength, "characters"), pattern)
}

// span says within which bounds something is, each of which may be absent.
func span(least, most *float64, unit string) string {
	if least != nil && (*least == math.MinInt32 || *least == 0 && unit != "") {
		least = nil // no number of 32 bits is smaller; no text, list or map is shorter
	}
	if most != nil && *most == math.MaxInt32 {
		most = nil
	}
	switch {
	case least != nil && most != nil:
		return strings.TrimSpace(fmt.Sprintf("%s to %s %s", number(*least), number(*most), unit))
	case least != nil:
		return strings.TrimSpace(fmt.Sprintf("at least %s %s", number(*least), unit))
	case most != nil:
		return strings.TrimSpace(fmt.Sprintf("at most %s %s", number(*most), unit))
	}
	return ""
}

func number(n float64) string {
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// joined is what there is of the parts, with commas between.
func joined(parts ...string) string {
	var there []string
	for _, part := range parts {
		if part != "" {
			there = append(there, part)
		}
	}
	return strings.Join(there, ", ")
}
