package training

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Its definition was edited ten times since, or deleted and made again: the job would stay for ever.
func TestAFinishedJobOfADroppedRevisionHasTheTimeToLiveThatTheNewestSays(t *testing.T) {
	says := func(ttl *int32, err error) *Reconciler {
		return &Reconciler{Registration: framework.Registration{Revision: "newest", Compile: func(client.Object) (framework.Program, error) {
			return framework.Program{TTLSecondsAfterFinished: ttl, Elastic: true}, err
		}}}
	}
	for name, tc := range map[string]struct {
		ttl *int32
		err error
	}{
		"it says one":                           {ttl: ptr.To[int32](60)},
		"it says none":                          {},
		"it says one, and would refuse the job": {ttl: ptr.To[int32](60), err: errors.New("a field that the job does not have")},
	} {
		t.Run(name, func(t *testing.T) {
			all := &revisions{definition: "jax", newest: says(tc.ttl, tc.err)}
			f := all.of("dropped")
			program, err := f.Compile(&v1beta1.GenericJob{})
			require.ErrorContains(t, err, "revision dropped of TrainingFramework jax compiled it, which is not kept any more")
			require.Equal(t, framework.Program{TTLSecondsAfterFinished: tc.ttl}, program, "edits of the job have no effect")
			require.Equal(t, "dropped", f.Revision)
		})
	}
}
