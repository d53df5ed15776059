package logs

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/inplace"
)

// A wrapper that ends without having run code repeats what the code before has said, for who reads the log later.
func TestWhatAWrapperRepeatsIsPrintedOnce(t *testing.T) {
	at := func(second int, words string) string {
		return fmt.Sprintf("2026-01-01T00:00:%02d.5Z %s\n", second, words)
	}
	stream := at(7, "genericjob wrapper: attempt 1 waits") + at(8, strings.TrimRight(fmt.Sprintf(inplace.RepeatFormat, 0, 1), "\n")) + at(8, "step 1") + at(9, "step 2")
	for name, tc := range map[string]struct {
		printed time.Time
		want    string
	}{
		"the log was followed before": {time.Date(2026, 1, 1, 0, 0, 5, 0, time.UTC), "[worker-0] genericjob wrapper: attempt 1 waits\n"},
		"nobody has seen it": {time.Time{}, "[worker-0] genericjob wrapper: attempt 1 waits\n" +
			"[worker-0] genericjob wrapper: attempt 0 had ended with exit code 1. The end of what it said:\n[worker-0] step 1\n[worker-0] step 2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &Printer{Out: &out}
			last, err := p.lines(Source{Name: "worker-0"}, strings.NewReader(stream), true, tc.printed)
			require.NoError(t, err)
			require.Equal(t, tc.want, out.String())
			require.Equal(t, time.Date(2026, 1, 1, 0, 0, 9, 5e8, time.UTC), last)
		})
	}
}

// A line that was cut when the stream broke had its time, and would be left out when the stream is opened again.
func TestALineThatIsCutIsNotPrinted(t *testing.T) {
	const whole, cut = "2026-01-01T00:00:07Z step 1\n", "2026-01-01T00:00:08Z ste"
	for name, tc := range map[string]struct {
		end  error
		want string
		last int
	}{
		"the stream breaks": {io.ErrUnexpectedEOF, "[worker-0] step 1\n", 7},
		"the log ends":      {io.EOF, "[worker-0] step 1\n[worker-0] ste\n", 8},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := &Printer{Out: &out}
			stream := io.MultiReader(strings.NewReader(whole+cut), iotest.ErrReader(tc.end))
			last, err := p.lines(Source{Pod: &corev1.Pod{}, Name: "worker-0"}, stream, true, time.Time{})
			require.Equal(t, tc.last == 7, err != nil)
			require.Equal(t, tc.want, out.String())
			require.Equal(t, tc.last, last.Second())
		})
	}
}
