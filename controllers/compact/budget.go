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
	// alwaysOpen is the size in bytes of JSON up to which an object needs no budget. So a tenant who uses up the budget with large objects cannot keep
	// usual jobs waiting. The number of workers bounds how many such objects are open.
	alwaysOpen = 128 << 10
	// maxOpen is how many bytes of larger objects may be open at once. In memory an object takes up to seven times as much, and a reconcile makes some
	// copies.
	maxOpen = 4 << 20
	// retryBudget is the shortest time after which a reconcile without a budget tries again; the longest is twice that.
	retryBudget = 500 * time.Millisecond
)

// errNoBudget is returned to a reconcile that has to wait until others have ended.
var errNoBudget = errors.New("other large objects are worked on")

// Budget is the memory for large objects that all reconciles share.
type Budget struct {
	mu   sync.Mutex
	used int // bytes of objects above alwaysOpen
}

// share is what one reconcile has open.
type share struct {
	budget *Budget
	used   int // how many bytes of the budget
	open   int // how many bytes all its objects have
	most   int // the size of its largest object, or of the largest pod that it creates
}

// take counts an object of n bytes that is to be opened.
func (s *share) take(n int) error {
	s.most, s.open = max(s.most, n), s.open+n
	return s.reserve(n)
}

// reserve takes n bytes of the budget. If no other reconcile uses any of it, it never refuses.
func (s *share) reserve(n int) error {
	if n <= alwaysOpen {
		return nil
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.budget.used > s.used && s.budget.used+n > maxOpen {
		return errNoBudget
	}
	s.budget.used += n
	s.used += n
	return nil
}

func (s *share) giveBack() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.used -= s.used
}

type shareKey struct{}

func shareOf(ctx context.Context) *share {
	s, _ := ctx.Value(shareKey{}).(*share)
	return s
}

// Unopened returns a context for reads of which packed objects stay packed. A reconcile that asks for all jobs of the cluster must not open them.
func Unopened(ctx context.Context) context.Context {
	return context.WithValue(ctx, shareKey{}, (*share)(nil))
}

// Around returns a reconciler whose reconciles open objects within the budget.
func (b *Budget) Around(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		s := &share{budget: b}
		defer s.giveBack()
		result, err := next.Reconcile(context.WithValue(ctx, shareKey{}, s), req)
		if errors.Is(err, errNoBudget) {
			return ctrl.Result{RequeueAfter: wait.Jitter(retryBudget, 1)}, nil
		}
		return result, err
	})
}

// Reserve takes n bytes of the budget for what a reconcile builds from what it has read. A job of a few kilobytes may ask for thousands of pods.
func Reserve(ctx context.Context, n int) error {
	if s := shareOf(ctx); s != nil {
		return s.reserve(n)
	}
	return nil
}

// ReservePods takes what the pods that a reconcile creates need of the budget. The function sizes returns one size for each replica type. AtOnce pods
// of each type are created at once. They may be much larger than their templates: a variable may stand for the hosts of a thousand replicas.
func ReservePods(ctx context.Context, most int, sizes func() []int) error {
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
	return s.reserve(all - s.open)
}

// AtOnce returns how many pods of a job a reconcile may create at once; most is the number for usual jobs. The pods of a large job may be as large as
// the job, and each is in memory several times while it is created.
func AtOnce(ctx context.Context, most int) int {
	s := shareOf(ctx)
	if s == nil || s.most <= maxPlain {
		return most
	}
	return max(1, most*maxPlain/s.most)
}
