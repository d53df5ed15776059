package code

import "time"

// Hurry sets how often a wrapper hears that it is waited with, and how long it may take to answer.
func (w *Work) Hurry(pulse, most time.Duration) { w.heartbeat, w.answerTimeout = pulse, most }
