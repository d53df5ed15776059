package hostile

import (
	"reflect"
	"slices"
	"strings"
)

// maxDepth is how deep a value may be filled that was not there: some types hold themselves.
const maxDepth = 6

// Mutate changes what o points to at n places.
func (s *Source) Mutate(o any, n int) {
	for range n {
		s.visit(reflect.ValueOf(o).Elem())
	}
}

// visit goes down to a place, and changes it. The way down gets no longer, as each value has an end.
func (s *Source) visit(v reflect.Value) {
	if _, is := s.whole(v.Type()); is {
		s.fill(v, 0)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		s.visitStruct(v)
	case reflect.Pointer:
		switch {
		case v.IsNil():
			s.fill(v, 0)
		case s.OneIn(6):
			v.SetZero()
		default:
			s.visit(v.Elem())
		}
	case reflect.Slice:
		s.visitSlice(v)
	case reflect.Map:
		s.visitMap(v)
	default:
		s.fill(v, 0)
	}
}

// visitStruct prefers fields that are set: those that matter are.
func (s *Source) visitStruct(v reflect.Value) {
	var all, set []int
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() || v.Type().Field(i).Name == "ManagedFields" {
			continue
		}
		all = append(all, i)
		if !v.Field(i).IsZero() {
			set = append(set, i)
		}
	}
	switch {
	case len(all) == 0:
	case len(set) > 0 && !s.OneIn(3):
		s.visit(v.Field(Pick(s, set...)))
	default:
		s.visit(v.Field(Pick(s, all...)))
	}
}

func (s *Source) visitSlice(v reflect.Value) {
	switch n := v.Len(); {
	case n == 0 || s.OneIn(6):
		s.fill(v, 0)
	case s.OneIn(6): // the same twice
		v.Set(reflect.Append(v, v.Index(s.N(n))))
	case s.OneIn(6): // the other way round
		reverse(v)
	case s.OneIn(8):
		v.Set(v.Slice(0, s.N(n)))
	default:
		s.visit(v.Index(s.N(n)))
	}
}

func reverse(v reflect.Value) {
	swap := reflect.Swapper(v.Interface())
	for i := range v.Len() / 2 {
		swap(i, v.Len()-1-i)
	}
}

func (s *Source) visitMap(v reflect.Value) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	if len(keys) == 0 || s.OneIn(4) {
		s.fill(v, 0)
		return
	}
	key := Pick(s, keys...)
	value := reflect.New(v.Type().Elem()).Elem()
	value.Set(v.MapIndex(key))
	if !s.OneIn(6) {
		s.visit(value)
	} else {
		value = reflect.Value{} // gone
	}
	v.SetMapIndex(key, value)
}

// fill sets a value to something odd.
func (s *Source) fill(v reflect.Value, depth int) {
	if value, is := s.whole(v.Type()); is {
		v.Set(reflect.ValueOf(value))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s.Word())
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.Set(reflect.ValueOf(Pick(s, numbers...)).Convert(v.Type()))
	case reflect.Uint8:
		v.SetUint(uint64(s.N(256)))
	case reflect.Float64:
		v.SetFloat(float64(Pick(s, numbers...)))
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Struct:
		if depth < maxDepth {
			s.fillBig(v, depth+1)
		}
	default: // an interface: nothing of ours has one
	}
}

func (s *Source) fillBig(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		s.fill(v.Elem(), depth)
	case reflect.Slice:
		n := s.N(4)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			s.fill(v.Index(i), depth)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range s.N(4) {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			s.fill(key, depth)
			s.fill(value, depth)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Name != "ManagedFields" && s.OneIn(depth+1) {
				s.fill(v.Field(i), depth)
			}
		}
	default: // not called for others
	}
}
