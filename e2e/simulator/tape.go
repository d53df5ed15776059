package simulator

import "math/rand/v2"

// Tape is where a life draws all its choices from, one byte a choice. After the bytes that it was given it goes on with
// random ones, or, without a source of them, with zeros: zero is always the choice of which nothing comes.
type Tape struct {
	bytes  []byte
	next   int
	random *rand.PCG
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

// Pick draws a number from 0 to n-1, for an n of at most 256.
func (t *Tape) Pick(n int) int { return int(t.draw()) % n }

// Chance is true once in n times.
func (t *Tape) Chance(n int) bool { return t.Pick(n) == n-1 }

// pickOf draws one of a list, whose first is the most ordinary.
func pickOf[T any](t *Tape, list ...T) T { return list[t.Pick(len(list))] }
