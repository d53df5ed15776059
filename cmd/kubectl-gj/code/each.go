package code

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// awaited says, of a step that is slow, what is waited for.
var awaited = map[string]string{
	develop.Files: "waiting for replicas to take the files: %s",
	develop.Ready: "waiting for replicas to answer: %s",
	develop.Stop:  "waiting for the code to end that was asked to: %s. What has not ended after its grace period is killed; --grace shortens that",
	develop.Apply: "waiting for replicas to put the files in their place: %s",
	develop.Start: "waiting for replicas to begin the code: %s",
}

// each asks all wrappers for the same, and waits until all have done it. It returns the names of those that wait for an order, and says which are
// slow.
func (w *Work) each(all []*session, r develop.Request, stream []byte) (waits []string, err error) {
	var mu sync.Mutex
	left := map[string]bool{}
	for _, s := range all {
		left[s.name] = true
	}
	failed := make([]error, len(all))
	done := make(chan struct{})
	note := func(i int, a develop.Answer, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed[i] = fmt.Errorf("%s: %w", all[i].name, err)
		}
		if a.Waits {
			waits = append(waits, all[i].name)
		}
		if delete(left, all[i].name); len(left) == 0 {
			close(done)
		}
	}
	late := time.AfterFunc(slow, func() {
		mu.Lock()
		defer mu.Unlock()
		if len(left) > 0 {
			fmt.Fprintf(w.Err, awaited[r.Do]+"\n", some(sorted(left)))
		}
	})
	defer late.Stop()
	var group sync.WaitGroup
	for i, s := range all {
		group.Go(func() {
			a, err := s.ask(r, stream)
			note(i, a, err)
			if err == nil && w.Restarts && (r.Do == develop.Stop || r.Do == develop.Apply) {
				if err := s.stay(done, cmp.Or(w.heartbeat, develop.Patience/4), w.Grace); err != nil {
					failed[i] = fmt.Errorf("%s: %w", s.name, err)
				}
			}
		})
	}
	group.Wait()
	slices.Sort(waits)
	return waits, joinErrors(failed)
}

// stay has a wrapper whose code has stopped wait on for the others, whose code may need longer. Else it would go on after develop.Patience.
func (s *session) stay(done <-chan struct{}, pulse, grace time.Duration) error {
	for {
		select {
		case <-done:
			return nil
		case <-time.After(pulse):
		}
		if _, err := s.ask(develop.Request{Do: develop.Ready, Grace: grace}, nil); err != nil {
			return err
		}
	}
}
