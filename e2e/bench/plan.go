package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// planResult is one line of kernel.Plan's benchmark.
type planResult struct {
	Replicas    int     `json:"replicas"`
	Nanoseconds float64 `json:"nanoseconds"`
	Bytes       float64 `json:"bytes"`
	Allocations int     `json:"allocations"`
}

var planLine = regexp.MustCompile(`^BenchmarkPlan/replicas=(\d+)\S*\s+\d+\s+(\S+) ns/op\s+(\S+) B/op\s+(\d+) allocs/op`)

// planBenchmarks runs the benchmark that stands in the kernel's own tests.
func planBenchmarks(ctx context.Context) ([]planResult, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	test := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkPlan$", "-benchmem", "./kernel")
	test.Dir, test.Stderr = root, os.Stderr
	text, err := test.Output()
	if err != nil {
		return nil, fmt.Errorf("go test -bench Plan ./kernel: %w\n%s", err, text)
	}
	var list []planResult
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		m := planLine.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		var numbers [4]float64
		for i := range numbers {
			if numbers[i], err = strconv.ParseFloat(m[i+1], 64); err != nil {
				return nil, err
			}
		}
		list = append(list, planResult{int(numbers[0]), numbers[1], numbers[2], int(numbers[3])})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("go test -bench Plan ./kernel printed no result:\n%s", text)
	}
	return list, lines.Err()
}
