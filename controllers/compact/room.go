package compact

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// alwaysOpen is the size in bytes of JSON up to which an object is opened whatever else is open: whoever fills the room
	// with the largest objects must not keep usual ones waiting. There are only so many reconciles.
	alwaysOpen = 128 << 10
	// maxOpen is how many bytes of larger objects may be open at once. In memory each is up to seven times that, and a reconcile
	// makes some copies.
	maxOpen = 4 << 20
	// lookForRoom is about when a reconcile that found no room tries again.
	lookForRoom = 500 * time.Millisecond
)

// errNoRoom says that a reconcile has to wait until others have ended.
var errNoRoom = errors.New("other large objects are worked on")

// Room is what all reconciles share.
type Room struct {
	mu   sync.Mutex
	used int // bytes of objects above alwaysOpen
}

// share is what one reconcile has open.
type share struct {
	room *Room
	used int // of the room
	open int // bytes of all objects
	most int // the size of the largest object, or pod that is made
}

// take makes room for an object of n bytes. If there is nobody else, there always is.
func (s *share) take(n int) error {
	s.most, s.open = max(s.most, n), s.open+n
	return s.hold(n)
}

// hold makes room for n bytes.
func (s *share) hold(n int) error {
	if n <= alwaysOpen {
		return nil
	}
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	if s.room.used > s.used && s.room.used+n > maxOpen {
		return errNoRoom
	}
	s.room.used += n
	s.used += n
	return nil
}

func (s *share) giveBack() {
	s.room.mu.Lock()
	defer s.room.mu.Unlock()
	s.room.used -= s.used
}

type shareKey struct{}

func shareOf(ctx context.Context) *share {
	s, _ := ctx.Value(shareKey{}).(*share)
	return s
}

// Around returns a reconciler whose reconciles open objects in the room.
func (r *Room) Around(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		s := &share{room: r}
		defer s.giveBack()
		result, err := next.Reconcile(context.WithValue(ctx, shareKey{}, s), req)
		if errors.Is(err, errNoRoom) {
			return ctrl.Result{RequeueAfter: wait.Jitter(lookForRoom, 1)}, nil
		}
		return result, err
	})
}

// Hold makes room in a reconcile for n bytes that it builds of what it has read: a few kilobytes may ask for a plan of thousands of pods.
func Hold(ctx context.Context, n int) error {
	if s := shareOf(ctx); s != nil {
		return s.hold(n)
	}
	return nil
}

// HoldPods makes room in a reconcile for pods of these sizes, one for each kind of pod, of each of which AtOnce are made at once. They may be much
// larger than the templates that were read: a variable stands for the hosts of a thousand replicas.
func HoldPods(ctx context.Context, most int, sizes func() []int) error {
	s := shareOf(ctx)
	if s == nil {
		return nil
	}
	each, all := sizes(), 0
	for _, n := range each {
		s.most = max(s.most, n)
	}
	for _, n := range each {
		if n > maxPlain {
			all += n * AtOnce(ctx, most)
		}
	}
	return s.hold(all - s.open)
}

// AtOnce is how many pods of a job a reconcile may have under way at once, where most is for usual jobs: pods made of a large job
// may be as large, and each stands in memory several times while it is created.
func AtOnce(ctx context.Context, most int) int {
	s := shareOf(ctx)
	if s == nil || s.most <= maxPlain {
		return most
	}
	return max(1, most*maxPlain/s.most)
}
