package ledger

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseRanks(t *testing.T) {
	tests := map[string]struct {
		want int
		err  string
	}{
		"":                     {want: 0},
		"0":                    {want: 1},
		"0-3,7":                {want: 5},
		"9999":                 {want: 1},
		"0-4999":               {want: 5000},
		"10000":                {err: `rank "10000": want an integer from 0 to 9999`},
		"-1":                   {err: `rank "": want an integer from 0 to 9999`},
		"a":                    {err: `rank "a": want an integer from 0 to 9999`},
		"01":                   {err: `rank "01": want an integer from 0 to 9999`},
		"+1":                   {err: `rank "+1": want an integer from 0 to 9999`},
		"1-":                   {err: `rank "": want an integer from 0 to 9999`},
		"3-2":                  {err: `interval "3-2": want its end above its beginning`},
		"3-3":                  {err: `interval "3-3": want its end above its beginning`},
		"1,2":                  {err: `interval "2": want ascending intervals with gaps between them`},
		"5,3":                  {err: `interval "3": want ascending intervals with gaps between them`},
		"1-4,4-5":              {err: `interval "4-5": want ascending intervals with gaps between them`},
		"1,":                   {err: `rank "": want an integer from 0 to 9999`},
		" 1":                   {err: `rank " 1": want an integer from 0 to 9999`},
		"99999999999999999999": {err: `rank "99999999999999999999": want an integer from 0 to 9999`},
	}
	for in, tc := range tests {
		t.Run(in, func(t *testing.T) {
			r, err := ParseRanks(in)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				require.Zero(t, r.Len())
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, r.Len())
			require.Equal(t, in, r.String())
		})
	}
}

// FuzzRanks plays operations on Ranks and on a map, and compares. Each byte is an operation: add its lower seven bits, or
// with the eighth bit cut from there.
func FuzzRanks(f *testing.F) {
	f.Add([]byte{1, 2, 3, 7, 5, 6, 4, 0x83})
	f.Add([]byte{0, 127, 64, 63, 65, 0xc0, 0x80})
	f.Add([]byte{9, 9, 8, 10, 0x89, 0x89})
	f.Fuzz(func(t *testing.T, ops []byte) {
		var r Ranks
		model := map[int]bool{}
		for _, op := range ops {
			n := int(op & 0x7f)
			if op&0x80 == 0 {
				r.Add(n)
				model[n] = true
				continue
			}
			var want []int
			for rank := range model {
				if rank >= n {
					want = append(want, rank)
					delete(model, rank)
				}
			}
			slices.Sort(want)
			require.Equal(t, want, r.CutFrom(n))
		}
		require.Len(t, model, r.Len())
		for rank := -1; rank < 130; rank++ {
			require.Equal(t, model[rank], r.Contains(rank), "rank %d of %s", rank, r.String())
		}
		again, err := ParseRanks(r.String())
		require.NoError(t, err)
		require.Equal(t, r.String(), again.String())
	})
}

// FuzzParseRanks: what is accepted is printed back byte by byte.
func FuzzParseRanks(f *testing.F) {
	for _, s := range []string{"", "0-3,7", "1,2", "3-2", "-", ",", "00", "1048576", "5-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if r, err := ParseRanks(s); err == nil {
			require.Equal(t, s, r.String())
		}
	})
}
