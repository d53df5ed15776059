// Package drawn draws legal jobs from a seed, and knows what must become of each. It is pure: TestDrawn of e2e/suite has the local cluster run the
// jobs. `make e2e-drawn` starts it, and the README beside this file says what is drawn, what the oracle knows, and what it leaves out.
//
//	draw.go      Draw makes a Job of a seed: what is drawn of a manifest, and one fault
//	manifest.go  Manifest is the object of a job; space.go has what its namespace has
//	code.go      the program that ranks run: it says lines, and ends as the fault wants
//	expect.go    Expect is what must become of a job, by its manifest and its fault alone
//	judge.go     Judge compares that with what was Seen, and lists each disagreement
package drawn
