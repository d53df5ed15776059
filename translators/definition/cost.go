package definition

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// What is assumed of values whose schema gives no bound. A job with more may still do: what an expression costs is counted when it
// runs, too.
const (
	assumedEntries    = 32
	assumedCharacters = 256
	// assumedCall is the cost of one call of a function about a pod template, or a text.
	assumedCall = 2000
)

// estimator tells cel-go how large values may be.
type estimator struct {
	variables map[string]*apiservercel.DeclType
}

// EstimateSize implements checker.CostEstimator.
func (e estimator) EstimateSize(n checker.AstNode) *checker.SizeEstimate {
	most := uint64(assumedEntries)
	if kind := n.Type().Kind(); kind == cel.StringKind || kind == cel.BytesKind {
		most = assumedCharacters
	}
	if declared := e.at(n.Path()); declared != nil && declared.MaxElements > 0 && declared.MaxElements < noLimit {
		most = uint64(declared.MaxElements)
	}
	return &checker.SizeEstimate{Max: most}
}

// EstimateCallCost implements checker.CostEstimator.
func (estimator) EstimateCallCost(_, overload string, _ *checker.AstNode, _ []checker.AstNode) *checker.CallEstimate {
	if !strings.HasPrefix(overload, overloadPrefix) {
		return nil
	}
	return &checker.CallEstimate{CostEstimate: checker.CostEstimate{Max: assumedCall}}
}

// at returns the type of what stands at a path; nil if nothing is known of it.
func (e estimator) at(path []string) *apiservercel.DeclType {
	if len(path) == 0 {
		return nil
	}
	t := e.variables[path[0]]
	for _, name := range path[1:] {
		switch {
		case t == nil:
			return nil
		case name == "@items" || name == "@values":
			t = t.ElemType
		case name == "@keys":
			t = t.KeyType
		case t.Fields[name] == nil:
			return nil
		default:
			t = t.Fields[name].Type
		}
	}
	return t
}

// checkCost returns an error if an expression may cost more than is allowed; nil if it may not.
func (e *environment) checkCost(checked *cel.Ast) error {
	cost, err := e.EstimateCost(checked, estimator{e.variables})
	if err != nil {
		return err
	}
	if cost.Max > maxCost {
		return fmt.Errorf("may cost up to %d, and %d are allowed: bound what it loops over in the schema (maxItems, maxProperties, maxLength; "+
			"without them %d entries and %d characters are assumed), or name parts of it in variables", cost.Max, maxCost, assumedEntries, assumedCharacters)
	}
	return nil
}
