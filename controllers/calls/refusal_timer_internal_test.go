package calls

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestARefusalIsHeardOfOnceHoweverOftenItIsTried(t *testing.T) {
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "job", errors.New("by a policy"))
	broken := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, tc := range map[string]struct {
		err  error
		from time.Duration // it is news; 0 for never
	}{
		"a policy":                     {fmt.Errorf("delete: %w", denied), time.Nanosecond},
		"a policy, beside others":      {errors.Join(errors.New("other"), denied), time.Nanosecond},
		"what was refused already":     {Refuse("CreateFailed", "no"), time.Nanosecond},
		"a webhook that fails":         {broken, 10 * time.Second},
		"a network that is down":       {errors.New("connection refused"), 0},
		"an operator that shall end":   {errors.New("the operator ends"), 0},
		"nobody knows what it may say": {fmt.Errorf("read: %w", errors.New("no room")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var f RefusalTimer
			start, tries, heard := time.Unix(1000, 0), 0, 0
			for at := time.Duration(0); at < time.Hour; tries++ {
				again, news := f.Note(tc.err, start.Add(at))
				require.LessOrEqual(t, again, time.Minute)
				if news {
					heard++
					require.GreaterOrEqual(t, at+1, tc.from)
				}
				at += max(again, time.Second)
			}
			if tc.from == 0 {
				require.Zero(t, heard)
				return
			}
			require.Equal(t, 1, heard)
			require.Less(t, tries, 90)
			f.NothingRefused()
			_, news := f.Note(tc.err, start.Add(time.Hour+time.Minute))
			require.False(t, news, "not each reconcile asks")
			_, news = f.Note(denied, start.Add(2*time.Hour))
			require.True(t, news, "what comes again after a while is news again")
		})
	}
}

func TestFaultsThatPassAreNoneThatLasts(t *testing.T) {
	var f RefusalTimer
	for minute := range 10 {
		again, news := f.Note(apierrors.NewInternalError(errors.New("a hiccup")), time.Unix(int64(minute*60), 0))
		require.Zero(t, again)
		require.False(t, news)
		f.NothingRefused()
	}
	require.Equal(t, RefusalTimer{}, f)
}
