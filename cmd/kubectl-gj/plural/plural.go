// Package plural puts numbers into sentences.
package plural

import "fmt"

// Count returns a number of things, as in "1 restart" and "2 restarts".
func Count[N int | int32 | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
