package definition

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// maxNodes is how many values there may be in a value, maxString how many bytes of text.
	maxNodes  = 100_000
	maxString = 1 << 20
)

var errTooLarge = errors.New("the value is too large: 100,000 values and 1 MiB of text are allowed")

// podTemplateValue is a pod template, one of the job's or one that a function has made. To expressions it is a map. It is decoded, or
// made a map, once, and only if that is asked for. It is of one run.
type podTemplateValue struct {
	spec   *corev1.PodTemplateSpec
	cost   uint64 // of what is done with all of it
	object traits.Mapper
}

// wrapTemplates puts templates in the place of the maps with that name in a job's spec: functions are mostly about these.
func wrapTemplates(spec any, depth int) {
	switch v := spec.(type) {
	case map[string]any:
		for name, inner := range v {
			if object, ok := inner.(map[string]any); ok && name == "template" {
				mapper, _ := types.DefaultTypeAdapter.NativeToValue(object).(traits.Mapper)
				v[name] = &podTemplateValue{object: mapper}
			} else if depth > 0 {
				wrapTemplates(inner, depth-1)
			}
		}
	case []any:
		for _, inner := range v {
			wrapTemplates(inner, depth)
		}
	}
}

var _ traits.Mapper = (*podTemplateValue)(nil)

func (t *podTemplateValue) asMap() traits.Mapper {
	if t.object == nil {
		object, err := objectOf(t.spec)
		if err != nil {
			object = nil // cannot happen: it is a struct
		}
		t.object, _ = types.DefaultTypeAdapter.NativeToValue(object).(traits.Mapper)
	}
	return t.object
}

func (t *podTemplateValue) ConvertToNative(to reflect.Type) (any, error) {
	return t.asMap().ConvertToNative(to)
}
func (t *podTemplateValue) ConvertToType(to ref.Type) ref.Val { return t.asMap().ConvertToType(to) }
func (t *podTemplateValue) Equal(other ref.Val) ref.Val       { return t.asMap().Equal(other) }
func (t *podTemplateValue) Type() ref.Type                    { return types.MapType }
func (t *podTemplateValue) Value() any                        { return t.asMap().Value() }
func (t *podTemplateValue) Contains(key ref.Val) ref.Val      { return t.asMap().Contains(key) }
func (t *podTemplateValue) Get(key ref.Val) ref.Val           { return t.asMap().Get(key) }
func (t *podTemplateValue) Find(key ref.Val) (ref.Val, bool)  { return t.asMap().Find(key) }
func (t *podTemplateValue) Iterator() traits.Iterator         { return t.asMap().Iterator() }
func (t *podTemplateValue) Size() ref.Val                     { return t.asMap().Size() }

// templateOf reads a pod template.
func templateOf(v ref.Val) (*corev1.PodTemplateSpec, error) {
	known, ok := v.(*podTemplateValue)
	if ok && known.spec != nil {
		return known.spec, nil
	}
	plain, err := plainOf(v)
	if err != nil {
		return nil, err
	}
	object, ok := plain.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s is no pod template", v.Type().TypeName())
	}
	t := &corev1.PodTemplateSpec{}
	if err := decode(object, t); err != nil {
		return nil, err
	}
	if known != nil {
		known.spec = t
	}
	return t, nil
}

// costOf returns what it costs to do something with all of a value.
func costOf(v ref.Val) uint64 {
	if made, ok := v.(*podTemplateValue); ok && made.cost > 0 {
		return made.cost
	}
	b := &budget{nodes: maxNodes, text: maxString}
	if _, err := b.plain(v); err != nil {
		return maxCost
	}
	cost := uint64(maxNodes-b.nodes)*10 + uint64(maxString-b.text)/10
	if made, ok := v.(*podTemplateValue); ok {
		made.cost = cost
	}
	return cost
}

// prices are what calls of functions cost that are not CEL's own.
type prices struct{}

// CallCost implements interpreter.ActualCostEstimator.
func (prices) CallCost(_, overload string, args []ref.Val, result ref.Val) *uint64 {
	if !strings.HasPrefix(overload, overloadPrefix) {
		return nil
	}
	cost := costOf(args[0])
	if overload == overloadPrefix+nameMerge {
		cost += costOfMerge(args)
	}
	switch made := result.(type) {
	case types.String:
		cost += uint64(len(made)) / 10
	case traits.Lister:
		if n, ok := made.Size().(types.Int); ok {
			cost += uint64(n) / 10
		}
	}
	return &cost
}

// objectOf writes a struct as a map.
func objectOf(o any) (map[string]any, error) {
	return runtime.DefaultUnstructuredConverter.ToUnstructured(o)
}

// decode reads a map into a struct. A field that the struct does not have is a mistake.
func decode(object map[string]any, into any) error {
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, into, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		return errors.Join(strict.Errors()...)
	}
	return err
}

// plainOf makes of a value what JSON can be read into: maps, lists, texts, numbers. What is null, or an optional without a value,
// is left out of what it stands in. It shares maps and lists with the job.
func plainOf(v ref.Val) (any, error) {
	b := &budget{nodes: maxNodes, text: maxString}
	return b.plain(v)
}

// budget is how much a value may still take.
type budget struct {
	nodes, text    int
	keepsTemplates bool // templates that were read, for what is done with the value knows them
}

// checkSize returns an error if a value is too large to be used.
func checkSize(v ref.Val) error {
	if made, ok := v.(*podTemplateValue); ok && made.cost > 0 {
		if made.cost >= maxCost {
			return errTooLarge
		}
		return nil
	}
	_, err := plainOf(v)
	return err
}

func (b *budget) plain(v any) (any, error) {
	if b.nodes--; b.nodes < 0 {
		return nil, errTooLarge
	}
	switch v := v.(type) {
	case nil, types.Null, bool, int64, float64:
		if v == types.NullValue {
			return nil, nil
		}
		return v, nil
	case string:
		if b.text -= len(v); b.text < 0 {
			return nil, errTooLarge
		}
		return v, nil
	case map[string]any:
		return b.object(v)
	case []any:
		return each(b, v)
	case ref.Val:
		return b.value(v)
	default:
		return nil, fmt.Errorf("%T is nothing that a job could hold", v)
	}
}

func (b *budget) value(v ref.Val) (any, error) {
	switch v := v.(type) {
	case *types.Err:
		return nil, v
	case *types.Optional:
		if !v.HasValue() {
			return nil, nil
		}
		return b.plain(v.GetValue())
	case *podTemplateValue:
		return b.template(v)
	case types.Bool, types.Int, types.Double, types.String:
		return b.plain(v.Value())
	case types.Uint:
		return int64(v), nil
	case types.Duration, types.Timestamp:
		return b.plain(v.ConvertToType(cel.StringType))
	case traits.Mapper:
		if object, ok := v.Value().(map[string]any); ok {
			return b.plain(object)
		}
		return b.mapper(v)
	case traits.Lister:
		return b.lister(v)
	default:
		return nil, fmt.Errorf("a value of type %s is nothing that a job could hold", v.Type().TypeName())
	}
}

func (b *budget) template(t *podTemplateValue) (any, error) {
	if b.keepsTemplates && t.spec != nil {
		return t, checkSize(t)
	}
	return b.plain(t.asMap())
}

func (b *budget) object(m map[string]any) (any, error) {
	out := make(map[string]any, len(m))
	for key, v := range m {
		value, err := b.plain(v)
		if err != nil {
			return nil, err
		}
		if b.text -= len(key); value != nil {
			out[key] = value
		}
	}
	return out, nil
}

func (b *budget) mapper(m traits.Mapper) (any, error) {
	object := map[string]any{}
	for it := m.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		name, ok := key.Value().(string)
		if !ok {
			return nil, fmt.Errorf("a key is of type %s: keys are texts", key.Type().TypeName())
		}
		object[name] = m.Get(key)
	}
	return b.object(object)
}

func each(b *budget, list []any) (any, error) {
	out := make([]any, 0, len(list))
	for _, v := range list {
		value, err := b.plain(v)
		if err != nil {
			return nil, err
		}
		if value != nil {
			out = append(out, value)
		}
	}
	return out, nil
}

func (b *budget) lister(l traits.Lister) (any, error) {
	out := []any{}
	for it := l.Iterator(); it.HasNext() == types.True; {
		value, err := b.plain(it.Next())
		if err != nil {
			return nil, err
		}
		if value != nil {
			out = append(out, value)
		}
	}
	return out, nil
}
