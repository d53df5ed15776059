package run_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
)

// beSilent connects from an address and says nothing, again as soon as it is sent away, until all is over.
func beSilent(from string, port int, over <-chan struct{}) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: time.Second}
	for {
		if c, err := dialer.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = c.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = c.Read(make([]byte, 1))
			_ = c.Close()
		}
		select {
		case <-over:
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// Of 40 questions 6 were answered.
func TestStrangersWhoSayNothingStarveNobody(t *testing.T) {
	for name, from := range map[string]func(i int) string{
		"of one address":     func(int) string { return "127.0.0.2" },
		"each of his own":    func(i int) string { return fmt.Sprintf("127.0.%d.%d", 1+i/100, 1+i%100) },
		"of a few addresses": func(i int) string { return fmt.Sprintf("127.0.0.%d", 2+i%20) },
	} {
		t.Run(name, func(t *testing.T) {
			p, over := newPod(t), make(chan struct{})
			p.order(0, 0, 0)
			p.start(runsForEver)
			p.awaitLog("begins 0")
			var strangers sync.WaitGroup
			defer strangers.Wait()
			defer close(over)
			for i := range 300 {
				strangers.Go(func() { beSilent(from(i), p.port, over) })
			}
			time.Sleep(500 * time.Millisecond) // they are there
			for i := range 40 {
				require.Equal(t, inplace.Report{Pod: "uid"}, p.report(), "question %d; a busy machine may lose some, so each is asked again", i)
			}
		})
	}
}

// While another operator becomes the leader, two may ask, from behind one address. Each asks four things at once at most.
func TestTwoOperatorsBehindOneAddressAreAnswered(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	var operators sync.WaitGroup
	for operator := range 2 {
		for range 4 {
			operators.Go(func() {
				for i := range 20 {
					if p.report() != (inplace.Report{Pod: "uid"}) { // a busy machine may lose some, so each is asked again
						t.Errorf("operator %d, question %d", operator, i)
					}
				}
			})
		}
	}
	operators.Wait()

	// The earlier one may say what it has said before: nothing goes back.
	p.ask(push(1, 1, 0))
	p.awaitReport(1, 0)
	p.ask(push(0, 0, 0))
	require.Equal(t, 1, p.report().Attempt)
}

// Who has his share and comes again takes the place of one of his own, who came first.
func TestWhoHasItsShareOfPlacesLosesTheOldest(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	p.until("eight stay, and the first of nine goes", func() bool {
		var lines []net.Conn
		for range 9 {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
			require.NoError(t, err)
			defer c.Close()
			lines = append(lines, c)
		}
		closed := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) // they have a second
			_, err := c.Read(make([]byte, 1))
			return errors.Is(err, io.EOF)
		}
		return closed(lines[0]) && !closed(lines[8]) && !closed(lines[1])
	})
}
