package operator

import (
	"errors"
	"net/http"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// naming returns a check of readiness that logs which kind keeps the operator from being ready, once for each. A kubelet is told no
// reason. An operator that waits for the lease has no controller that would ask for the kind.
func naming(log logr.Logger, ready healthz.Checker) healthz.Checker {
	var lock sync.Mutex
	var named schema.GroupKind
	return func(r *http.Request) error {
		err := ready(r)
		var missing *meta.NoKindMatchError
		var kind schema.GroupKind
		if errors.As(err, &missing) {
			kind = missing.GroupKind
		}
		lock.Lock()
		defer lock.Unlock()
		if kind != named && missing != nil {
			log.Info("the cluster does not have a kind that the operator serves: install its CRD; until then it is not ready", "awaits", kind.String())
		}
		named = kind
		return err
	}
}
