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
	// alwaysOpen is the size in bytes of JSON up to which an object is opened whatever else is open. Whoever uses up the budget with the
	// largest objects must not keep usual ones waiting. There are only so many reconciles.
	alwaysOpen = 128 << 10
	// maxOpen is how many bytes of larger objects may be open at once. In memory each is up to seven times that, and a reconcile
	// makes some copies.
	maxOpen = 4 << 20
	// retryBudget is about when a reconcile tries again for which there was no budget.
	retryBudget = 500 * time.Millisecond
)

// errNoBudget says that a reconcile has to wait until others have ended.
var errNoBudget = errors.New("other large objects are worked on")

// Budget is the memory for large objects that all reconciles share.
type Budget struct {
	mu   sync.Mutex
	used int // bytes of objects above alwaysOpen
}

// share is what one reconcile has open.
type share struct {
	budget *Budget
	used   int // of the budget
	open   int // bytes of all objects
	most   int // the size of the largest object, or pod that is made
}

// take has an object of n bytes opened. A reconcile that is alone may always.
func (s *share) take(n int) error {
	s.most, s.open = max(s.most, n), s.open+n
	return s.reserve(n)
}

// reserve takes n bytes of the budget.
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

// Around returns a reconciler whose reconciles open objects within the budget.
func (r *Budget) Around(next reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
		s := &share{budget: r}
		defer s.giveBack()
		result, err := next.Reconcile(context.WithValue(ctx, shareKey{}, s), req)
		if errors.Is(err, errNoBudget) {
			return ctrl.Result{RequeueAfter: wait.Jitter(retryBudget, 1)}, nil
		}
		return result, err
	})
}

// Reserve takes n bytes of the budget, for what a reconcile builds of what it has read. A few kilobytes may ask for a plan of thousands of
// pods.
func Reserve(ctx context.Context, n int) error {
	if s := shareOf(ctx); s != nil {
		return s.reserve(n)
	}
	return nil
}

// ReservePods takes of the budget for pods of these sizes, one for each kind of pod, of each of which AtOnce are made at once. They may be much
// larger than the templates that were read: a variable stands for the hosts of a thousand replicas.
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

// AtOnce is how many pods of a job a reconcile may have under way at once, where most is for usual jobs. Pods made of a large job may be as
// large, and each stands in memory several times while it is created.
func AtOnce(ctx context.Context, most int) int {
	s := shareOf(ctx)
	if s == nil || s.most <= maxPlain {
		return most
	}
	return max(1, most*maxPlain/s.most)
}
