package definition

import (
	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// timeToLive returns how long a job that cannot be compiled is kept after it has failed; nil for ever. What is wrong elsewhere in its run
// policy does not matter.
func (r *run) timeToLive() *int32 {
	if r.runPolicy == nil {
		return nil
	}
	plain, err := r.plainValue("spec.runPolicy", r.runPolicy)
	object, ok := plain.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	policy := &v1beta1.RunPolicy{}
	const field = "ttlSecondsAfterFinished"
	if decode(map[string]any{field: object[field]}, policy) != nil {
		return nil
	}
	return policy.TimeToLive()
}

// policy puts the job's run policy into the program.
func (r *run) policy(to *framework.Program) error {
	if r.runPolicy == nil {
		return nil
	}
	const path = "spec.runPolicy"
	plain, err := r.plainValue(path, r.runPolicy)
	if err != nil {
		return err
	}
	var policy *v1beta1.RunPolicy
	if object, ok := plain.(map[string]any); ok {
		policy = &v1beta1.RunPolicy{}
		if err := decode(object, policy); err != nil {
			return withPath(path, err)
		}
	}
	framework.ApplyRunPolicy(&to.Spec, policy)
	to.TTLSecondsAfterFinished = policy.TimeToLive()
	return nil
}
