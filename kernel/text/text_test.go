package text

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestCut(t *testing.T) {
	tests := map[string]struct {
		in   string
		most int
		want string
	}{
		"a text that just fits stays whole":               {"12345678", 8, "12345678"},
		"one byte too many costs three for the dots":      {"123456789", 8, "12345..."},
		"the limit is of bytes and not of characters":     {"äöüäö", 8, "äö..."},
		"a character at the cut goes as a whole":          {"1234ä6789", 8, "1234..."},
		"so does one of four bytes":                       {"12\U0001F600\U0001F600", 8, "12..."},
		"a text of characters too wide for the limit":     {"\U0001F600\U0001F600", 6, "..."},
		"bytes that are no character become one that is":  {"a\xffb", 8, "a\uFFFDb"},
		"what they become counts, for it is what is kept": {"123\xff567", 8, "123..."},
		"nothing stays nothing":                           {"", 8, ""},
		"a text that ends in dots is not cut for them":    {"12345...", 8, "12345..."},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, Cut(tc.in, tc.most))
		})
	}
}

// What is stored is read back and cut again in each reconcile: if that changed it, the status would be written for ever.
func FuzzCutIsStoredAsItWasWritten(f *testing.F) {
	f.Add("plain", uint8(4))
	f.Add(strings.Repeat("ä\U0001F600\xff", 40), uint8(100))
	f.Add("\xf0\x9f\x98", uint8(3))
	f.Fuzz(func(t *testing.T, s string, n uint8) {
		most := max(int(n), len("..."))
		cut := Cut(s, most)
		require.LessOrEqual(t, len(cut), most)
		require.True(t, utf8.ValidString(cut))
		require.Equal(t, cut, Cut(cut, most))
		stored, err := json.Marshal(cut)
		require.NoError(t, err)
		var read string
		require.NoError(t, json.Unmarshal(stored, &read))
		require.Equal(t, cut, read)
	})
}

func TestMiddle(t *testing.T) {
	require.Equal(t, "short", Middle("short", 10))
	require.Equal(t, "aaaaa...bb"+"bbbbbb", Middle("aaaaa"+strings.Repeat("x", 100)+"bbbbbbbb", 16))
	for most := 8; most < 40; most++ {
		long := Middle(strings.Repeat("häß", 40), most)
		require.LessOrEqual(t, len(long), most)
		require.True(t, utf8.ValidString(long))
		require.Equal(t, long, Middle(long, most))
	}
}
