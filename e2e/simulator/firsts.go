package simulator

import (
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// firstWritten checks that what followed from the end of another is not told as the first failure by a status that tells, with it, of one that did
// not.
func (t *truth) firstWritten(was, is *v1beta1.GenericJobStatus) {
	if is.FirstFailure == nil || is.FirstFailure.Follows == "" {
		return
	}
	for _, f := range is.Failures {
		known := slices.ContainsFunc(was.Failures, func(k v1beta1.ReplicaFailure) bool { return k.Pod == f.Pod && k.Time.Equal(f.Time) })
		if !known && f.Follows == "" {
			t.violated("a consequence stands for the cause", "%s, which says that %s, and %s has failed with %q", is.FirstFailure.Pod, is.FirstFailure.Follows, f.Pod, f.Exception)
		}
	}
}
