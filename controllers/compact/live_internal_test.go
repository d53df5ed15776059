package compact

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// slow is a reader whose lists do not end before they may.
type slow struct {
	client.Reader
	now, most atomic.Int32
	entered   chan struct{}
	may       chan struct{}
}

// List implements client.Reader.
func (s *slow) List(context.Context, client.ObjectList, ...client.ListOption) error {
	if now := s.now.Add(1); now > s.most.Load() {
		s.most.Store(now)
	}
	defer s.now.Add(-1)
	s.entered <- struct{}{}
	<-s.may
	return nil
}

func TestALiveListWithoutALimitIsRefused(t *testing.T) {
	reader := Live(&slow{})
	for _, options := range [][]client.ListOption{nil, {client.InNamespace("a")}, {client.Limit(0)}, {client.Limit(longestPage + 1)}} {
		require.ErrorContains(t, reader.List(t.Context(), &corev1.PodList{}, options...), "want 1 to 50")
	}
}

func TestFewPagesAreReadAtOnce(t *testing.T) {
	s := &slow{entered: make(chan struct{}), may: make(chan struct{})}
	reader, done := Live(s), make(chan error)
	const all = 5
	for range all {
		go func() { done <- reader.List(t.Context(), &corev1.PodList{}, client.Limit(1)) }()
	}
	for range pagesAtOnce {
		<-s.entered
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, reader.List(ctx, &corev1.PodList{}, client.Limit(1)), context.Canceled, "who is not waited for does not wait")
	for range all - pagesAtOnce {
		s.may <- struct{}{}
		require.NoError(t, <-done)
		<-s.entered
	}
	for range pagesAtOnce {
		s.may <- struct{}{}
		require.NoError(t, <-done)
	}
	require.EqualValues(t, pagesAtOnce, s.most.Load())
}
