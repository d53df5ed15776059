package compact

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// held is a reader whose lists do not end before they may.
type held struct {
	client.Reader
	now, most atomic.Int32
	entered   chan struct{}
	may       chan struct{}
}

// List implements client.Reader.
func (h *held) List(context.Context, client.ObjectList, ...client.ListOption) error {
	if now := h.now.Add(1); now > h.most.Load() {
		h.most.Store(now)
	}
	defer h.now.Add(-1)
	h.entered <- struct{}{}
	<-h.may
	return nil
}

func TestALiveListWithoutALimitIsRefused(t *testing.T) {
	reader := Live(&held{})
	for _, options := range [][]client.ListOption{nil, {client.InNamespace("a")}, {client.Limit(0)}, {client.Limit(longestPage + 1)}} {
		require.ErrorContains(t, reader.List(t.Context(), &corev1.PodList{}, options...), "want 1 to 50")
	}
}

func TestFewPagesAreReadAtOnce(t *testing.T) {
	h := &held{entered: make(chan struct{}), may: make(chan struct{})}
	reader, done := Live(h), make(chan error)
	const all = 5
	for range all {
		go func() { done <- reader.List(t.Context(), &corev1.PodList{}, client.Limit(1)) }()
	}
	for range pagesAtOnce {
		<-h.entered
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, reader.List(ctx, &corev1.PodList{}, client.Limit(1)), context.Canceled, "who is not waited for does not wait")
	for range all - pagesAtOnce {
		h.may <- struct{}{}
		require.NoError(t, <-done)
		<-h.entered
	}
	for range pagesAtOnce {
		h.may <- struct{}{}
		require.NoError(t, <-done)
	}
	require.EqualValues(t, pagesAtOnce, h.most.Load())
}
