package why

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/output"
)

// ReadRules reads a failure policy. The text is what stands below failurePolicy in a manifest, that field with its name, or the manifest of a job
// that has one. What the CRD checks of what rules mean is checked here.
func ReadRules(text []byte) (policy v1beta1.FailurePolicy, err error) {
	text, err = policyOf(text)
	if err != nil {
		return policy, err
	}
	if err := yaml.UnmarshalStrict(text, &policy); err != nil {
		return policy, fmt.Errorf("want `rules:` with a list, as below failurePolicy in a manifest, or a whole manifest: %w", err)
	}
	if len(policy.Rules) == 0 && policy.NoProgress == nil {
		return policy, errors.New("rules is empty: give at least one, or noProgress")
	}
	if p := policy.NoProgress; p != nil && (p.Rounds < 2 || p.Rounds > 100) {
		return policy, fmt.Errorf("noProgress.rounds is %d: want a number from 2 to 100", p.Rounds)
	}
	for i := range policy.Rules {
		if problem := invalid(&policy.Rules[i]); problem != "" {
			return policy, fmt.Errorf("rules[%d]%s", i, problem)
		}
	}
	return policy, nil
}

// policyOf returns the text of the failure policy in a file.
func policyOf(text []byte) ([]byte, error) {
	var found [][]byte
	manifest := false
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		raw, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var d map[string]any
		if err == nil {
			err = yaml.Unmarshal(raw, &d)
		}
		if err != nil {
			return nil, err
		}
		_, ok := d["kind"]
		manifest = manifest || ok
		for _, path := range []string{"failurePolicy", "spec.failurePolicy", "spec.runPolicy.failurePolicy"} {
			if policy := at(d, path); policy != nil {
				raw, err := yaml.Marshal(policy)
				if err != nil {
					return nil, err
				}
				found = append(found, raw)
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, fmt.Errorf("the file has %d failurePolicies: give one job, or what stands below failurePolicy", len(found))
	case manifest:
		return nil, errors.New("the manifest has no failurePolicy, neither in spec nor in spec.runPolicy: give it one, or only what stands below failurePolicy")
	default:
		return text, nil
	}
}

// at returns what stands at a path of fields; nil if nothing does.
func at(in any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := in.(map[string]any)
		in = fields[name]
	}
	return in
}

func invalid(r *v1beta1.FailurePolicyRule) string {
	if r.Action != v1beta1.FailureActionFail && r.Action != v1beta1.FailureActionRestart {
		return fmt.Sprintf(".action is %q, which this kubectl gj does not know: want Fail or Restart, or upgrade it", r.Action)
	}
	if r.Action == v1beta1.FailureActionFail && r.Counts != nil {
		return ".counts is about a restart, and action Fail makes none: remove counts, or set action to Restart"
	}
	if r.Action == v1beta1.FailureActionFail && r.Elsewhere {
		return ".elsewhere is about a restart, and action Fail makes none: remove elsewhere, or set action to Restart"
	}
	return invalidMatch(r)
}

func invalidMatch(r *v1beta1.FailurePolicyRule) string {
	if len(r.Match.Causes)+len(r.Match.ExitCodes)+len(r.Match.Types) == 0 && r.Match.Messages == "" {
		return ".match names nothing: set causes, exitCodes, messages or types"
	}
	for _, kind := range r.Match.Causes {
		if !slices.Contains(output.Kinds, string(kind)) {
			return fmt.Sprintf(".match.causes has %q: want some of %s", kind, strings.Join(output.Kinds, ", "))
		}
	}
	for _, code := range r.Match.ExitCodes {
		if code < 1 || code > 255 {
			return fmt.Sprintf(".match.exitCodes has %d: want codes from 1 to 255; 137 stands for SIGKILL", code)
		}
	}
	if _, err := regexp.Compile(r.Match.Messages); err != nil {
		return fmt.Sprintf(".match.messages: %v", err)
	}
	return ""
}
