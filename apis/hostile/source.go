// Package hostile makes objects that nobody in his right mind would write, for tests. It changes good ones at random
// places into what code is likely not to expect. All choices follow from bytes, so that a fuzzer can drive them and a
// failure can be had again.
package hostile

import "hash/fnv"

// Source makes choices.
type Source struct {
	data  []byte
	state uint64
}

// FromBytes makes its choices by data, and when those are used up by a sequence that follows from them.
func FromBytes(data []byte) *Source {
	h := fnv.New64a()
	h.Write(data)
	return &Source{data: data, state: h.Sum64()}
}

// FromSeed makes the choices of one of many sequences.
func FromSeed(seed int) *Source { return &Source{state: uint64(seed)} }

// N chooses a number from 0 to n-1.
func (s *Source) N(n int) int {
	if len(s.data) > 0 && n <= 256 {
		b := s.data[0]
		s.data = s.data[1:]
		return int(b) % n
	}
	// splitmix64
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return int((z ^ z>>31) % uint64(n))
}

// OneIn is true once in n times.
func (s *Source) OneIn(n int) bool { return s.N(n) == 0 }

// Pick chooses one of a list.
func Pick[T any](s *Source, list ...T) T { return list[s.N(len(list))] }
