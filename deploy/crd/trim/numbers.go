package main

import "math"

// boundNumbers gives every number the bounds of the Go type that it is read into. What the schema lets in must be
// readable. An operator lists all objects of a kind at once. So a single one that does not decode blinds it to the
// objects of everybody. Apiservers before 1.36 do not look at format, and none does where an integer or a string is
// allowed.
func boundNumbers(node any) {
	switch n := node.(type) {
	case map[string]any:
		switch {
		case n["pattern"] == anyQuantity:
			n["pattern"], n["maxLength"] = quantity, maxQuantity
		case n["x-kubernetes-int-or-string"] == true, n["type"] == "integer" && n["format"] == "int32":
			bound(n)
		}
		for _, child := range n {
			boundNumbers(child)
		}
	case []any:
		for _, child := range n {
			boundNumbers(child)
		}
	}
}

// bound adds the bounds of an int32 where there are none.
func bound(schema map[string]any) {
	if _, has := schema["minimum"]; !has {
		schema["minimum"] = math.MinInt32
	}
	if _, has := schema["maximum"]; !has {
		schema["maximum"] = math.MaxInt32
	}
}

// anyQuantity is controller-gen's pattern for resource.Quantity. It lets through what does not parse (1e1.5), and what
// takes for ever to parse (1e-2147483648).
const anyQuantity = `^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$`

// quantity is what parses, with an exponent of two digits at most, and maxQuantity how long it may be.
const (
	quantity    = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
	maxQuantity = 64
)
