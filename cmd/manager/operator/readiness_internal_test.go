package operator

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

func TestTheKindThatIsAwaitedIsNamedOnce(t *testing.T) {
	missing := func(kind string) error {
		return fmt.Errorf("watch it: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "example.com", Kind: kind}})
	}
	var log strings.Builder
	var now error
	ready := naming(zap.New(zap.WriteTo(&log)), func(*http.Request) error { return now })
	for _, step := range []struct {
		is   error
		want int // lines so far
	}{{errors.New("the caches are being filled"), 0}, {missing("A"), 1}, {missing("A"), 1}, {missing("B"), 2}, {nil, 2}, {missing("B"), 3}} {
		now = step.is
		require.Equal(t, step.is, ready(nil))
		require.Equal(t, step.want, strings.Count(log.String(), "\n"), log.String())
	}
	require.Contains(t, log.String(), `"awaits":"A.example.com"`)
}
