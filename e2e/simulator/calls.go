package simulator

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The fates of a call.
const (
	answered = iota
	lostRequest
	lostAnswer
	throttled
	carriedOutLate
)

// fate draws what becomes of a call. It makes no difference when a request is carried out that writes nothing, or whether it is.
func (l *Life) fate(writes bool) int {
	fates := []int{36 + answered, 36 + lostRequest, 36 + throttled, 36 + lostAnswer, 36 + carriedOutLate}
	switch {
	case !l.trouble:
		return answered
	case !writes:
		fates = fates[:3]
	}
	return max(answered, l.tape.choose(41, fates...)-36)
}

// call is one call of the API. It may be the last that the operator makes; and it may fail, before or after the API has
// done what was asked for.
func (o *operator) call(ctx context.Context, what string, do func() error) error {
	return o.send(ctx, what, true, do)
}

// look is a call that writes nothing.
func (o *operator) look(ctx context.Context, what string, do func() error) error {
	return o.send(ctx, what, false, do)
}

func (o *operator) send(ctx context.Context, what string, writes bool, do func() error) error {
	p := ctx.Value(reconcileKey{}).(*reconcile)
	p.thread.pause()
	l := o.life
	l.writer = p
	defer func() { l.writer = nil }()
	fate := ""
	var err error
	switch l.fate(writes) {
	case answered:
		err = do()
	case lostRequest:
		err, fate = errTimeout, " (the request is lost)"
	case lostAnswer:
		if e := do(); e != nil {
			fate = " (" + e.Error() + ")"
		}
		err, fate = errTimeout, fate+" (the answer is lost)"
	case carriedOutLate:
		l.late = append(l.late, func() { l.carryOutLate(p, o.name+": "+what, do) })
		err, fate = errTimeout, " (the request is carried out later, if at all)"
	case throttled:
		err = apierrors.NewTooManyRequests("slow down", 1)
	}
	if err != nil && fate == "" {
		fate = ": " + err.Error()
	}
	l.say("%s: %s%s", o.name, what, fate)
	return err
}

// write is a call that writes. The apiserver may give it up for a conflict with somebody whose writes nobody sees, such as
// a quota's; and a policy may refuse it.
func (o *operator) write(ctx context.Context, verb, what string, about client.Object, do func() error) error {
	return o.call(ctx, what, func() error {
		if o.life.tape.Chance(25) {
			o.life.policy.overtaken(o.life.reasoned(what, about), o.life.now)
			return conflict(key{}, "somebody else was faster")
		}
		if err := o.life.refuses(verb, what, about); err != nil {
			return err
		}
		return do()
	})
}

// carryOutLate does what a client asked for that has long given up waiting, and may be dead.
func (l *Life) carryOutLate(p *reconcile, what string, do func() error) {
	l.writer, l.tooLate = p, true
	defer func() { l.writer, l.tooLate = nil, false }()
	if err := do(); err != nil {
		l.say("late, %s: %s", what, err)
	} else {
		l.say("late, %s", what)
	}
}
