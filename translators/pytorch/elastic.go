package pytorch

import (
	"slices"

	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// replicaCounts returns the number of replicas of each type. In an elastic job expectedReplicas are split by scalingWeight.
func replicaCounts(job *v1beta1.PyTorchTrainingJob) []int32 {
	specs := job.Spec.ReplicaSpecs
	counts := make([]int32, len(specs))
	if !job.Spec.Elastic.IsOn() {
		for i := range specs {
			counts[i] = ptr.Deref(specs[i].Replicas, 1)
		}
		return counts
	}
	weights := make([]int64, len(specs))
	for i := range specs {
		weights[i] = int64(max(1, ptr.Deref(specs[i].ScalingWeight, 1)))
	}
	for i, n := range split(int64(expected(job.Spec.Elastic)), weights) {
		counts[i] = int32(n)
	}
	return counts
}

// expected returns the number of replicas that an elastic job is to have now.
func expected(e *v1beta1.ElasticConfig) int32 {
	// The CRD allows no less than 1. But with a CRD that somebody has changed, Compile must not panic.
	return max(1, ptr.Deref(e.ExpectedReplicas, ptr.Deref(e.MinReplicas, 1)))
}

// split divides n by weights, with the method of the largest remainder. Of equal remainders the first in the list counts. Then each type that got none
// takes one from the largest, because a type cannot come and go while the job runs. So the master, rank 0 of the first type, always stays. The sum is
// n, or the number of types if that is more.
func split(n int64, weights []int64) []int64 {
	total := int64(0)
	for _, w := range weights {
		total += w
	}
	counts := make([]int64, len(weights))
	byRemainder := make([]int, len(weights))
	left := n
	for i, w := range weights {
		counts[i], byRemainder[i] = n*w/total, i
		left -= counts[i]
	}
	slices.SortStableFunc(byRemainder, func(a, b int) int { return int(n*weights[b]%total - n*weights[a]%total) })
	for _, i := range byRemainder[:left] {
		counts[i]++
	}
	for i := range counts {
		if counts[i] > 0 {
			continue
		}
		if largest := slices.Index(counts, slices.Max(counts)); counts[largest] > 1 {
			counts[largest]--
		}
		counts[i] = 1
	}
	return counts
}
