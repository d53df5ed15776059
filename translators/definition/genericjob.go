package definition

import (
	"errors"

	"github.com/google/cel-go/common/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// spec makes the spec of the GenericJob. If a function has read the pod templates of replicas already, spec makes no maps of them, and
// does not read them again. That would be most of the work.
func (r *run) spec(into *v1beta1.GenericJobSpec) error {
	n := r.genericJob
	r.keepsTemplates = true
	value, err := r.plain(n)
	r.keepsTemplates = false
	if err != nil {
		return err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return withPath(n.path, errors.New("is no object"))
	}
	templates := takeOutTemplates(object)
	plain, err := plainOf(types.DefaultTypeAdapter.NativeToValue(object))
	if err != nil {
		return withPath(n.path, err)
	}
	if err := decode(plain.(map[string]any), into); err != nil {
		return withPath(n.path, err)
	}
	for i, t := range templates {
		into.ReplicaSpecs[i].Template = *t.spec.DeepCopy()
	}
	return nil
}

// takeOutTemplates takes the templates that are kept out of the replica specs, whose places it tells.
func takeOutTemplates(object map[string]any) map[int]*podTemplateValue {
	found := map[int]*podTemplateValue{}
	list, _ := object["replicaSpecs"].([]any)
	for i, one := range list {
		replica, _ := one.(map[string]any)
		if t, ok := replica["template"].(*podTemplateValue); ok {
			found[i] = t
			delete(replica, "template")
		}
	}
	return found
}
