package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestMediansAreOfEachNumber(t *testing.T) {
	r := newResults(3)
	for _, s := range []sample{{"a": 3, "b": 10}, {"a": 1, "b": 30}, {"a": 2, "b": 20}} {
		r.add(row{name: "x", jobs: 2, replicas: 5}, s)
	}
	r.add(row{name: "y"}, sample{"a": 1})
	r.add(row{name: "y"}, sample{"a": 2})
	require.Equal(t, map[string]float64{"a": 2, "b": 20}, r.Rows[0].Median)
	require.Equal(t, map[string]float64{"a": 1.5}, r.Rows[1].Median)
}

func TestThresholdsAreOfRowsAndNumbersThatThereAre(t *testing.T) {
	limits, err := readThresholds()
	require.NoError(t, err)
	require.NotEmpty(t, limits.SetBy)
	names := map[string]bool{}
	for _, r := range rows() {
		names[r.name] = true
	}
	require.NotEmpty(t, limits.Rows)
	for name, of := range limits.Rows {
		require.True(t, names[name], "row %s", name)
		for number, l := range of {
			require.False(t, strings.HasSuffix(number, "_s"), "%s: %s: seconds are the machine's", name, number)
			require.NotEqual(t, l.Min == nil, l.Max == nil, "%s: %s has a minimum or a maximum", name, number)
		}
	}
}

func TestWhatMissesAThresholdIsNamed(t *testing.T) {
	limits := thresholds{Rows: map[string]map[string]limit{"x": {
		"ratio": {Min: ptr.To(0.8), Measured: 0.9}, "peak_mb": {Max: ptr.To(150.0), Measured: 100},
	}, "not run": {"ratio": {Min: ptr.To(0.8)}}}}
	r := newResults(1)
	r.add(row{name: "x"}, sample{"ratio": 0.8, "peak_mb": 150})
	require.NoError(t, r.check(limits))
	r = newResults(1)
	r.add(row{name: "x"}, sample{"ratio": 0.79, "peak_mb": 151})
	err := r.check(limits)
	require.ErrorContains(t, err, "row x: ratio is 0.79: want at least 0.8; the run that set it had 0.9")
	require.ErrorContains(t, err, "row x: peak_mb is 151: want at most 150")
}

// A row that did not say how much memory the operator took passed as if it had taken none.
func TestWhatWasNotMeasuredHasMissedItsThreshold(t *testing.T) {
	limits := thresholds{Rows: map[string]map[string]limit{"x": {"above_mb": {Max: ptr.To(400.0)}}}}
	for name, s := range map[string]sample{"no number": {"peak_mb": 90}, "not a number": {"above_mb": math.NaN()}} {
		r := newResults(1)
		r.add(row{name: "x"}, s)
		require.ErrorContains(t, r.check(limits), "row x: above_mb was not measured", name)
	}
}

func TestPathsOfTheAPIAreCountedByResource(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/namespaces/a/pods":                                             "pods",
		"/api/v1/namespaces/a/pods/p":                                           "pods",
		"/api/v1/namespaces/a/pods/p/status":                                    "pods/status",
		"/apis/batch.tensorstack.dev/v1beta1/namespaces/a/genericjobs/j/status": "genericjobs/status",
		"/api/v1/namespaces":                                                    "-",
		"/api/v1/namespaces/a":                                                  "-",
	} {
		require.Equal(t, want, resourceOf(path), path)
	}
	by, sum := since(map[string]int64{"POST pods": 5, "PUT x": 1}, map[string]int64{"POST pods": 7, "PUT x": 1, "PATCH pods": 2})
	require.Equal(t, map[string]int64{"POST pods": 2, "PATCH pods": 2}, by)
	require.EqualValues(t, 4, sum)
}

// The raw limit is about the same pods, but the operator must not find them.
func TestRawPodsAreThoseOfJobsButNotTheOperators(t *testing.T) {
	pods := rawPods("ns", 2, 3)
	require.Len(t, pods, 6)
	names := map[string]bool{}
	for _, pod := range pods {
		names[pod.Name] = true
		require.NotContains(t, pod.Labels, v1beta1.LabelJobUID)
		require.Empty(t, pod.Finalizers)
		require.Equal(t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
		require.Len(t, pod.OwnerReferences, 1)
	}
	require.Len(t, names, 6)
}

func TestGrowthIsATableOfTwoBlocks(t *testing.T) {
	r := newResults(1)
	for _, of := range rows() {
		r.add(of, sample{"created_s": 1.5, "writes": 20})
	}
	file := filepath.Join(t.TempDir(), "growth.tsv")
	require.NoError(t, r.writeGrowth(file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	blocks := strings.Split(string(text), "\n\n\n")
	require.Len(t, blocks, 3, "%s", text)
	require.Contains(t, blocks[0], "\n4000 1.5 0 0 0 20 0")
	require.Contains(t, blocks[1], "\n5000 1.5 0 0 0 20 0")
	require.Empty(t, blocks[2])
}
