package spec

import (
	"math"
	"time"
)

// mostSeconds are about 146 years. That is half of the longest Duration, so that the sum of two fits.
const mostSeconds = int64(math.MaxInt64/time.Second) / 2

// Seconds returns n seconds as a Duration, at most mostSeconds.
func Seconds(n int64) time.Duration {
	return time.Duration(min(max(n, -mostSeconds), mostSeconds)) * time.Second
}

// IsForEver reports whether a number of seconds is more than Seconds can say. Nobody waits for the end of such a time.
func IsForEver(n int64) bool { return n > mostSeconds }
