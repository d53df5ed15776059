package simulator

import (
	"iter"
	"runtime/debug"
)

// thread is a coroutine that runs one body after the other: each new one would let its stack grow anew.
type thread struct {
	life   *Life
	body   func()
	ended  bool // the body has
	yield  func(struct{}) bool
	next   func() (struct{}, bool)
	cancel func()
}

// crashed is what the body of a thread panics with that is stopped.
type crashed struct{}

// thread has a body run on an idle thread, or a new one. It begins when the thread is resumed.
func (l *Life) thread(body func()) *thread {
	if n := len(l.idle); n > 0 {
		t := l.idle[n-1]
		l.idle = l.idle[:n-1]
		t.body, t.ended = body, false
		return t
	}
	t := &thread{life: l, body: body}
	t.next, t.cancel = iter.Pull(t.run)
	return t
}

func (t *thread) run(yield func(struct{}) bool) {
	t.yield = yield
	for t.runBody() && yield(struct{}{}) {
	}
}

// runBody runs a body to its end, and reports whether the thread may run another.
func (t *thread) runBody() (goesOn bool) {
	defer func() {
		t.ended = true
		switch e := recover(); {
		case e == crashed{}:
		case e != nil:
			t.life.truth.violated("kubeflow B7 a panic", "%v\n%s", e, debug.Stack())
			fallthrough
		default:
			goesOn = true
		}
	}()
	t.body()
	return true
}

// pause stops the body until the thread is resumed. It is called by the body.
func (t *thread) pause() {
	if !t.yield(struct{}{}) {
		panic(crashed{})
	}
}

// resume lets the body run until it pauses, and reports whether it has ended instead. Then the thread is idle.
func (t *thread) resume() (ended bool) {
	t.next()
	if t.ended {
		t.life.idle = append(t.life.idle, t)
	}
	return t.ended
}

// stop ends the thread, and its body wherever it is.
func (t *thread) stop() { t.cancel() }
