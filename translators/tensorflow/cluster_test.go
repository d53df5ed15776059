package tensorflow

import (
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// clusterOf is a cluster of n workers.
func clusterOf(job string, n int) *cluster {
	c := &cluster{job: job}
	c.add(v1beta1.ReplicaSpec{Type: "worker", Replicas: ptr.To(int32(n))}, portNumber)
	return c
}

// longest is the length of the environment string that execve gets, with the final zero byte. It is that of the task
// with the longest name that a job can have.
func longest(c *cluster) int {
	text := tfConfig(c.json(v1beta1.HostName))
	text = strings.NewReplacer("$(type)", "evaluator", "$(rank)", "9999").Replace(text)
	return len(configVariable+"="+text) + 1
}

// The limit is Linux's: not a byte less is allowed, nor one more.
func TestTheLimitIsExact(t *testing.T) {
	for length := 1; length <= 51; length += 5 {
		job := strings.Repeat("j", length)
		more := sort.Search(10000, func(n int) bool { return longest(clusterOf(job, n+1)) > maxString })
		require.Empty(t, clusterOf(job, more).tooLong(), "%d workers of %s", more, job)
		if more < 10000 {
			require.Contains(t, clusterOf(job, more+1).tooLong(), "but Linux allows 131072", "%d workers of %s", more+1, job)
		}
	}
}

// README.md and the comment of maxString say how many replicas are too many.
func TestHowManyReplicasFit(t *testing.T) {
	job := strings.Repeat("j", 25-len("-worker-1234"))
	most := sort.Search(10000, func(n int) bool { return clusterOf(job, n+1).tooLong() != "" })
	require.InDelta(t, 4000, most, 10)
}
