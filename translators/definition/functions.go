package definition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// functions returns what expressions have beside CEL's own: those of package framework under the same names, and some about texts,
// which are bounded here.
func functions() []cel.EnvOption {
	text, texts, number := cel.StringType, cel.ListType(cel.StringType), cel.IntType
	dyn, template := cel.DynType, podTemplate.CelType()
	return []cel.EnvOption{
		// Of a pod template. Those that change something return another template.
		method("findContainer", []*cel.Type{dyn, text}, cel.OptionalType(container.CelType()), findContainer),
		method("setMainContainer", []*cel.Type{dyn, text}, template, setMainContainer),
		method("setsEnv", []*cel.Type{dyn, text, text}, cel.BoolType, setsEnv),
		method("putEnvFirst", []*cel.Type{dyn, text, cel.ListType(dyn)}, template, putEnvFirst),
		method("ensurePort", []*cel.Type{dyn, text, text, number}, template, ensurePort),
		method(nameMerge, []*cel.Type{dyn, cel.MapType(text, dyn)}, template, merge),
		method("portNumber", []*cel.Type{dyn, text, text, number}, number, portNumber),
		function("restartPolicy", []*cel.Type{text}, cel.MapType(text, text), restartPolicy),
		function("anyOf", []*cel.Type{text}, cel.MapType(text, texts), anyOf),
		function("ranks", []*cel.Type{number}, cel.ListType(number), ranks),

		method("join", []*cel.Type{texts, text}, text, join),
		method("split", []*cel.Type{text, text}, texts, split),
		method("replace", []*cel.Type{text, text, text}, text, replace),
		method("trim", []*cel.Type{text}, text, func(a []ref.Val) (any, error) { return strings.TrimSpace(textOf(a[0])), nil }),
		method("lowerAscii", []*cel.Type{text}, text, lowerAscii),
	}
}

// overloadPrefix begins what CEL calls these functions inside.
const overloadPrefix = "definition_"

const nameMerge = "merge"

// native is a function that is written in Go.
type native func([]ref.Val) (any, error)

func method(name string, takes []*cel.Type, gives *cel.Type, f native) cel.EnvOption {
	return cel.Function(name, cel.MemberOverload(overloadPrefix+name, takes, gives, cel.FunctionBinding(bound(name, f))))
}

func function(name string, takes []*cel.Type, gives *cel.Type, f native) cel.EnvOption {
	return cel.Function(name, cel.Overload(overloadPrefix+name, takes, gives, cel.FunctionBinding(bound(name, f))))
}

func bound(name string, f native) func(...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		out, err := f(args)
		if err != nil {
			return types.NewErr("%s: %w", name, err)
		}
		if made, ok := out.(*podTemplateValue); ok {
			for _, arg := range args {
				made.cost += costOf(arg) // it consists of these, and need not be measured
			}
		}
		if value, ok := out.(ref.Val); ok {
			return value
		}
		return types.DefaultTypeAdapter.NativeToValue(out)
	}
}

func textOf(v ref.Val) string {
	s, _ := v.Value().(string)
	return s
}

// portOf returns the number of a port.
func portOf(v ref.Val) (int32, error) {
	n, _ := v.Value().(int64)
	if n < 1 || n > 65535 {
		return 0, fmt.Errorf("%d is no port: 1 to 65535 are", n)
	}
	return int32(n), nil
}

// containerIn finds a container of a template, of which it makes a copy.
func containerIn(v, name ref.Val) (*corev1.PodTemplateSpec, *corev1.Container, error) {
	t, err := templateOf(v)
	if err != nil {
		return nil, nil, err
	}
	t = t.DeepCopy()
	c := framework.FindContainer(t, textOf(name))
	if c == nil {
		return nil, nil, fmt.Errorf("no container is named %q", textOf(name))
	}
	return t, c, nil
}

func findContainer(a []ref.Val) (any, error) {
	t, err := templateOf(a[0])
	if err != nil {
		return nil, err
	}
	c := framework.FindContainer(t, textOf(a[1]))
	if c == nil {
		return types.OptionalNone, nil
	}
	object, err := objectOf(c)
	return types.OptionalOf(types.DefaultTypeAdapter.NativeToValue(object)), err
}

func setMainContainer(a []ref.Val) (any, error) {
	t, err := templateOf(a[0])
	if err != nil {
		return nil, err
	}
	t = t.DeepCopy()
	framework.SetMainContainer(t, textOf(a[1]))
	return &podTemplateValue{spec: t}, nil
}

func setsEnv(a []ref.Val) (any, error) {
	_, c, err := containerIn(a[0], a[1])
	if err != nil {
		return nil, err
	}
	return framework.SetsEnv(c, textOf(a[2])), nil
}

func putEnvFirst(a []ref.Val) (any, error) {
	t, c, err := containerIn(a[0], a[1])
	if err != nil {
		return nil, err
	}
	var env struct {
		Variables []corev1.EnvVar `json:"variables"`
	}
	plain, err := plainOf(a[2])
	if err == nil {
		err = decode(map[string]any{"variables": plain}, &env)
	}
	if err != nil {
		return nil, err
	}
	framework.PutEnvFirst(c, env.Variables...)
	return &podTemplateValue{spec: t}, nil
}

func ensurePort(a []ref.Val) (any, error) {
	t, c, err := containerIn(a[0], a[1])
	if err != nil {
		return nil, err
	}
	number, err := portOf(a[3])
	if err != nil {
		return nil, err
	}
	framework.EnsurePort(c, textOf(a[2]), number)
	return &podTemplateValue{spec: t}, nil
}

// merge adds what a patch says: a strategic merge patch, as kubectl patch makes it. Containers, volumes and variables are told apart by
// their names, mounts by their paths.
func merge(a []ref.Val) (any, error) {
	if costOfMerge(a) > maxCost {
		return nil, errors.New("the template and the patch are too large to be merged")
	}
	t, err := templateOf(a[0])
	if err != nil {
		return nil, err
	}
	object, err := objectOf(t)
	if err != nil {
		return nil, err
	}
	plain, err := plainOf(a[1])
	if err != nil {
		return nil, err
	}
	patch, _ := plain.(map[string]any)
	merged, err := strategicpatch.StrategicMergeMapPatch(object, patch, corev1.PodTemplateSpec{})
	if err != nil {
		return nil, err
	}
	out := &corev1.PodTemplateSpec{}
	return &podTemplateValue{spec: out}, decode(merged, out)
}

// costOfMerge returns what it costs to look for each entry of a list of the patch in one of the template.
func costOfMerge(a []ref.Val) uint64 { return costOf(a[0]) / 10 * (costOf(a[1]) / 10) }

// portNumber returns the number that ensurePort makes sure of.
func portNumber(a []ref.Val) (any, error) {
	_, c, err := containerIn(a[0], a[1])
	if err != nil {
		return nil, err
	}
	number, err := portOf(a[3])
	if err != nil {
		return nil, err
	}
	return int64(framework.EnsurePort(c, textOf(a[2]), number)), nil
}

func restartPolicy(a []ref.Val) (any, error) {
	p := framework.RestartPolicy(v1beta1.RestartPolicyType(textOf(a[0])))
	return map[string]string{"policy": string(p.Policy)}, nil
}

func anyOf(a []ref.Val) (any, error) {
	return map[string][]string{textOf(a[0]): {v1beta1.AnyRank}}, nil
}

// maxRanks is how many replicas a job has at most.
const maxRanks = 20_000

// ranks returns the numbers from 0 to n-1, for lists of hosts in files.
func ranks(a []ref.Val) (any, error) {
	n, _ := a[0].Value().(int64)
	if n < 0 || n > maxRanks {
		return nil, fmt.Errorf("%d is no number of replicas: 0 to %d are", n, maxRanks)
	}
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list, nil
}

var errTooLong = errors.New("the text would be longer than 1 MiB")

func join(a []ref.Val) (any, error) {
	plain, err := plainOf(a[0])
	if err != nil {
		return nil, err
	}
	list, _ := plain.([]any)
	var parts []string
	n := 0
	for _, p := range list {
		part, ok := p.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no text", p)
		}
		if n += len(part) + len(textOf(a[1])); n > maxString {
			return nil, errTooLong
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, textOf(a[1])), nil
}

func lowerAscii(a []ref.Val) (any, error) {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, textOf(a[0])), nil
}

func split(a []ref.Val) (any, error) {
	if strings.Count(textOf(a[0]), textOf(a[1])) > maxNodes {
		return nil, errTooLarge
	}
	return strings.Split(textOf(a[0]), textOf(a[1])), nil
}

func replace(a []ref.Val) (any, error) {
	s, from, to := textOf(a[0]), textOf(a[1]), textOf(a[2])
	if len(s)+strings.Count(s, from)*len(to) > maxString {
		return nil, errTooLong
	}
	return strings.ReplaceAll(s, from, to), nil
}
