// Package faults runs the operator as it is shipped, as processes of its real binary, against a real apiserver that does not behave. A
// proxy between the two refuses calls, loses them or their answers, and executes them late. It cuts watches, lets the caches of different
// kinds lag by different times, and answers lists from the past. Meanwhile processes are killed, and two of them compete, with a leader
// and without one. The tests play kubelet, garbage collector, users and outsiders, so they know what must become of each job. They know
// its end, its restarts and disruptions to the last one, and what may be left of it.
//
// What happens is drawn from a seed, which a run prints. The same seed draws the same jobs, faults and kills; how they
// interleave is up to the machine.
package faults
