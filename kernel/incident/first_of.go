package incident

import (
	"math"
	"slices"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// FirstOf returns the index of the failure that came first, and the indexes of others that may have come first. The list is in the order in which the
// operator heard of the failures. The known first ones were told to the user before the others were heard of.
//
// It decides in this order:
//   - A failure that follows from another replica's end is first only if all do.
//   - If all of these are hangs, see firstHang.
//   - The earliest by time is first. Kubelets report times in seconds, and clocks differ, so all within the next second may have been first, too.
//   - Of these, failures that name a cause go before others, and then the earlier second decides.
//   - If the first that is left is known, the user keeps what was told, and no other is named.
func FirstOf(list []v1beta1.ReplicaFailure, known int) (first int, orElse []int) {
	candidates := filter(list, nil, func(f *v1beta1.ReplicaFailure) bool { return f.Follows == "" })
	if len(candidates) == 0 {
		candidates = filter(list, nil, func(*v1beta1.ReplicaFailure) bool { return true })
	}
	if hangs := filter(list, candidates, podstate.IsHang); len(hangs) == len(candidates) {
		return firstHang(list, hangs, known)
	}
	candidates = earliest(list, candidates, 1)
	if naming := filter(list, candidates, podstate.NamesCause); len(naming) > 0 {
		candidates = earliest(list, naming, 0)
	}
	if candidates[0] < known {
		return candidates[0], nil
	}
	return candidates[0], candidates[1:]
}

// firstHang returns the first hang, and all others that may have been first. Hangs with a frame go before hangs without. Of these, one that is known
// stays the first; else the one that was found first is. The others may have been first, too: when a hang is found does not tell when it began.
func firstHang(list []v1beta1.ReplicaFailure, hangs []int, known int) (first int, orElse []int) {
	if withFrame := filter(list, hangs, func(f *v1beta1.ReplicaFailure) bool { return f.Frame != "" }); len(withFrame) > 0 {
		hangs = withFrame
	}
	if first = hangs[0]; first >= known {
		first = earliest(list, hangs, 0)[0]
	}
	return first, slices.DeleteFunc(hangs, func(i int) bool { return i == first })
}

// filter returns the indexes of the failures that the function matches accepts. It looks at the indexes in of, or at all if of is nil.
func filter(list []v1beta1.ReplicaFailure, of []int, matches func(*v1beta1.ReplicaFailure) bool) (out []int) {
	if of == nil {
		for i := range list {
			of = append(of, i)
		}
	}
	for _, i := range of {
		if matches(&list[i]) {
			out = append(out, i)
		}
	}
	return out
}

// earliest returns the indexes of the failures that came at most within seconds after the earliest of them.
func earliest(list []v1beta1.ReplicaFailure, of []int, within int64) []int {
	first := int64(math.MaxInt64 - 1)
	for _, i := range of {
		first = min(first, second(&list[i]))
	}
	return filter(list, of, func(f *v1beta1.ReplicaFailure) bool { return second(f) <= first+within })
}

// second returns the second in which a failure came; the last one possible if that is not known.
func second(f *v1beta1.ReplicaFailure) int64 {
	if f.Time == nil {
		return math.MaxInt64 - 1
	}
	return f.Time.Unix()
}
