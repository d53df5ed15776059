package operator

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// setNamespaces reads the flag --namespaces. What names no namespace is an error: an operator of one tenant's that a mistake made
// everybody's would be worse than none.
func (c *config) setNamespaces(names string) error {
	for name := range strings.SplitSeq(names, ",") {
		if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
			return fmt.Errorf("%q is no name of a namespace (%s); write a,b, or leave the flag out to serve all", name, wrong[0])
		}
		if !slices.Contains(c.options.Namespaces, name) {
			c.options.Namespaces = append(c.options.Namespaces, name)
		}
	}
	return nil
}
