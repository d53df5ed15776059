// Package spec reads a job's spec: its replica types with their defaults, the names of its objects, and the variables in its templates. It also finds
// mistakes that the CRD cannot find. It reads neither pods nor, with few exceptions, statuses. Defaults are here and not in the stored object, which
// keeps only what its author wrote.
//
// Begin with ReplicaType, then invalid.go and variables.go.
package spec

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// MaxReplicas is the number of replicas that the CRD allows for a type. More is invalid.
const MaxReplicas = 10000

// MaxAllReplicas is the number of replicas that the CRD allows for all types of a job together: a reconcile looks at each of them.
const MaxAllReplicas = 20000

// InPlaceLimit is how often in a row a replica is restarted in place unless the job says otherwise.
const InPlaceLimit = 3

// ReplicaType is a replica type of a job.
type ReplicaType struct {
	*v1beta1.ReplicaSpec
	Policy Policy
	// N is the number of its replicas, from 0 to MaxReplicas; more than the spec says if rules name higher ranks (see ReplicaTypes).
	N int
}

// StartsAtOnce reports whether the pods of a type are created whatever the others do.
func (t ReplicaType) StartsAtOnce() bool {
	return t.ReplicaSpec == nil || t.StartPolicy == "" || t.StartPolicy == v1beta1.StartAtOnce
}

// ReplicaTypes returns the replica types of a job, in the order of its spec. If keep is set, a type keeps each rank that success and failure rules
// name, even if it was scaled down. Without such a rank a rule could never hold. Set keep for a job that runs. Before a job starts or resumes,
// Invalid looks at its rules, and they change only in a pause.
func ReplicaTypes(job *v1beta1.GenericJob, keep bool) []ReplicaType {
	number := Replicas
	if keep {
		number = Kept
	}
	types := make([]ReplicaType, len(job.Spec.ReplicaSpecs))
	for i := range types {
		r := &job.Spec.ReplicaSpecs[i]
		types[i] = ReplicaType{r, policyOf(job, r), min(max(number(job, r), 0), MaxReplicas)}
	}
	return types
}

// OfType returns the spec of a job's replica type; nil if the job does not have it.
func OfType(job *v1beta1.GenericJob, replicaType string) *v1beta1.ReplicaSpec {
	for i := range job.Spec.ReplicaSpecs {
		if r := &job.Spec.ReplicaSpecs[i]; r.Type == replicaType {
			return r
		}
	}
	return nil
}

// Kept returns the number of replicas of a type that a started job has. It is what the job asks for, or more if its rules name a higher rank. What
// makes, names or asks pods uses this number, or N of its account, which is the same. Before the start, such a rule is a mistake.
func Kept(job *v1beta1.GenericJob, r *v1beta1.ReplicaSpec) int {
	n := Replicas(job, r)
	for _, rules := range [][]v1beta1.FinishRule{job.Spec.SuccessRules, job.Spec.FailureRules} {
		for _, rule := range rules {
			for _, value := range rule[r.Type] {
				if rank, err := Rank(value); err == nil && rank < MaxReplicas {
					n = max(n, rank+1)
				}
			}
		}
	}
	return n
}

// Replicas returns the number of replicas that a job asks for of one of its types. Use it to check what is asked. A started job may keep more: see
// Kept.
func Replicas(job *v1beta1.GenericJob, r *v1beta1.ReplicaSpec) int {
	switch all := job.Spec.Replicas; {
	case all != nil && len(job.Spec.ReplicaSpecs) == 1:
		return int(*all)
	case r.Replicas != nil:
		return int(*r.Replicas)
	default:
		return 1
	}
}

// SuccessRules returns the job's success rules, or the default: one that names every rank of every type that is not auxiliary.
func SuccessRules(job *v1beta1.GenericJob) []v1beta1.FinishRule {
	if len(job.Spec.SuccessRules) > 0 {
		return job.Spec.SuccessRules
	}
	all := v1beta1.FinishRule{}
	for i := range job.Spec.ReplicaSpecs {
		if r := &job.Spec.ReplicaSpecs[i]; !r.Auxiliary {
			all[r.Type] = nil
		}
	}
	return []v1beta1.FinishRule{all}
}

// IsAny reports whether a value in a rule is "any": one rank, whichever.
func IsAny(v intstr.IntOrString) bool { return v.Type == intstr.String && v.StrVal == v1beta1.AnyRank }

// Rank reads a rank that a rule names: an integer or a numeric string.
func Rank(v intstr.IntOrString) (int, error) {
	rank := int(v.IntVal)
	if v.Type == intstr.String {
		n, err := strconv.Atoi(v.StrVal)
		if err != nil {
			return 0, fmt.Errorf("%q is not a rank: want a number", v.StrVal)
		}
		rank = n
	}
	if rank < 0 {
		return 0, fmt.Errorf("%d is not a rank: ranks begin at 0", rank)
	}
	return rank, nil
}

// UnknownTypes returns the types for which debug mode has an entry, and which the job does not have.
func UnknownTypes(job *v1beta1.GenericJobSpec) (types []string) {
	if job.RunMode == nil || job.RunMode.Debug == nil {
		return nil
	}
	for _, d := range job.RunMode.Debug.ReplicaSpecs {
		if !slices.ContainsFunc(job.ReplicaSpecs, func(r v1beta1.ReplicaSpec) bool { return r.Type == d.Type }) {
			types = append(types, d.Type)
		}
	}
	return types
}

// CleanUp returns the clean-up policy in its canonical spelling.
func CleanUp(job *v1beta1.GenericJob) v1beta1.CleanUpPolicy {
	switch job.Spec.CleanUpPolicy {
	case "all", v1beta1.CleanUpAll:
		return v1beta1.CleanUpAll
	case "unfinished", v1beta1.CleanUpUnfinished:
		return v1beta1.CleanUpUnfinished
	default:
		return v1beta1.CleanUpNone
	}
}

// The values of status.mode. Debug is followed by a hash of the debug specs: when they change, pods are replaced.
const (
	ModeImmediate = "Immediate"
	ModeDebug     = "Debug-"
	ModePaused    = "Paused"
	ModeQueued    = "Queued"
	ModeResumed   = "Resumed"
)

// Mode returns the run mode that the spec asks for. A job that was ever paused while it ran starts its pods by its resumeSpecs.
func Mode(job *v1beta1.GenericJob, wasPaused bool) string {
	switch {
	case job.Spec.RunMode.Pauses():
		return ModePaused
	case job.Spec.RunMode.Debugs():
		return ModeDebug + hashOf(job.Spec.RunMode.Debug.ReplicaSpecs)
	case wasPaused:
		return ModeResumed
	default:
		return ModeImmediate
	}
}

// hashOf returns a short hash of a value of this API. Do not use it for pod templates. Their JSON may change with the version of Kubernetes' API, and
// then an upgrade of the operator would restart every job. The encoding of this API's own types does not change.
func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "unknown"
	}
	h := fnv.New32a()
	h.Write(text)
	return fmt.Sprintf("%08x", h.Sum32())
}
