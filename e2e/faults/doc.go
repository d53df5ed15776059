// Package faults runs the operator as it is shipped, as processes of its real binary, against a real apiserver that does
// not behave: a proxy between the two refuses calls, loses them or their answers, executes them late, cuts watches, lets the
// caches of different kinds lag by different times and answers lists from the past, while processes are killed and two
// of them compete, with a leader and without one. The tests play kubelet, garbage collector, users and outsiders, so they
// know what must become of each job: its end, its restarts and disruptions to the last one, and what may be left of it.
//
// What happens is drawn from a seed, which a run prints. The same seed draws the same jobs, faults and kills; how they
// interleave is up to the machine.
package faults
