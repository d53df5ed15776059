package simulator

import (
	"math/rand/v2"
	"reflect"
)

// Tape is where a life draws all its choices from, one byte a choice. After the bytes that it was given it goes on with random ones, or with zeros if
// it has no source of them. Zero is always the choice of which nothing comes.
//
// The life of a miniature draws no bytes: it has a schedule, which takes one of the outcomes that each choice names. The first of them is the
// healthy one: what a cluster does in which all goes well.
type Tape struct {
	bytes    []byte
	next     int
	random   *rand.PCG
	schedule *schedule
}

// maxTape bounds the length of a life: what is drawn beyond is zero.
const maxTape = 1 << 16

// SeedTape returns the tape of a seed.
func SeedTape(seed int64) *Tape {
	return &Tape{random: rand.NewPCG(uint64(seed), 0x6a6f62)}
}

// ReplayTape returns a tape of these bytes, and zeros.
func ReplayTape(bytes []byte) *Tape { return &Tape{bytes: bytes} }

// Drawn is what has been drawn so far.
func (t *Tape) Drawn() []byte { return t.bytes[:min(t.next, len(t.bytes))] }

func (t *Tape) draw() byte {
	if t.next >= len(t.bytes) {
		if t.random == nil || t.next >= maxTape {
			return 0
		}
		t.bytes = append(t.bytes, byte(t.random.Uint64()))
	}
	t.next++
	return t.bytes[t.next-1]
}

// choose draws a number from 0 to n-1, for an n of at most 256. A schedule takes one of the outcomes instead, of which each stands for all
// numbers that lead to the same. With an n of 0 nobody but a schedule draws: the first outcome is taken.
func (t *Tape) choose(n int, outcomes ...int) int {
	switch {
	case t.schedule != nil:
		return outcomes[t.schedule.take(len(outcomes))]
	case n == 0:
		return outcomes[0]
	default:
		return int(t.draw()) % n
	}
}

// calmDown has all go well from now on in a life of a miniature.
func (t *Tape) calmDown() {
	if t.schedule != nil {
		t.schedule.calm = true
	}
}

// ifDiffers is the healthy outcome alone, where the others would lead to the same.
func ifDiffers(differs bool, outcomes ...int) []int {
	if !differs {
		return outcomes[:1]
	}
	return outcomes
}

// Pick draws a number from 0, which is healthy, to n-1.
func (t *Tape) Pick(n int) int {
	if t.schedule == nil {
		return int(t.draw()) % n
	}
	return t.schedule.take(n)
}

// Chance is true once in n times, and never when all goes well.
func (t *Tape) Chance(n int) bool { return t.choose(n, 0, n-1) == n-1 }

// ChanceIf is a Chance that changes nothing unless the condition holds.
func (t *Tape) ChanceIf(differs bool, n int) bool {
	return t.choose(n, ifDiffers(differs, 0, n-1)...) == n-1
}

// spare is true once in so many times. It draws nothing, so that all else of a life stays as it is. It looks at what the last choice of one in n has
// left of its byte.
func (t *Tape) spare(n, times int) bool {
	return times > 1 && t.spareOf(n, times) == times-1
}

// spareOf is a number from 0 to times-1, likewise. In a life of a miniature it is 0, or a choice where the miniature has rare things.
func (t *Tape) spareOf(n, times int) int {
	if t.schedule != nil && t.schedule.rare {
		return t.schedule.take(times)
	}
	if t.schedule != nil || t.next == 0 || t.next > len(t.bytes) {
		return 0
	}
	return int(t.bytes[t.next-1]) / n % times
}

// Due is true once in n times, and always when all goes well: a random life is slow.
func (t *Tape) Due(n int) bool { return t.choose(n, n-1, 0) == n-1 }

// DueIf is a Due that changes nothing unless the condition holds.
func (t *Tape) DueIf(differs bool, n int) bool {
	return t.choose(n, ifDiffers(differs, n-1, 0)...) == n-1
}

// pickOf draws one of a list, whose first is the most ordinary.
func pickOf[T any](t *Tape, list ...T) T {
	if t.schedule == nil {
		return list[t.Pick(len(list))]
	}
	distinct := list[:1:1]
	for _, x := range list[1:] {
		if !contains(distinct, x) {
			distinct = append(distinct, x)
		}
	}
	return distinct[t.schedule.take(len(distinct))]
}

func contains[T any](list []T, x T) bool {
	for _, y := range list {
		if reflect.DeepEqual(x, y) {
			return true
		}
	}
	return false
}
