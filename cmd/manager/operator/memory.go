package operator

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// memoryLimit is the environment variable with the bytes of memory that the operator's container may use. deploy/manager fills
// it in from the container's own limit.
const memoryLimit = "MEMORY_LIMIT"

// limitMemory has Go collect garbage more often when the heap comes near the limit of the container. Otherwise the container would be killed
// while most of its memory is garbage.
func limitMemory() error {
	text := os.Getenv(memoryLimit)
	if text == "" || os.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	bytes, err := strconv.ParseInt(text, 10, 64)
	if err != nil || bytes <= 0 {
		return fmt.Errorf("environment variable %s is %q: want a number of bytes, as the resourceFieldRef limits.memory gives it; or remove it", memoryLimit, text)
	}
	debug.SetMemoryLimit(bytes / 10 * 9)
	return nil
}
