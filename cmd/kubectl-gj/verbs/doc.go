// Package verbs has the verbs of `kubectl gj`. They are thin: what is shown, patched or read is decided in packages of its own.
//
//   - program.go has the program with the list of all verbs, and the help of them all.
//   - cluster.go connects to the cluster, and finds the job that an argument names.
//   - flags.go checks arguments and times, output.go has -o, and writes for a terminal or a program.
//   - complete.go completes names of jobs and replicas in a shell, and helps.go has the longer helps.
//   - All other files have verbs: one, or some that are alike.
//
// A verb is a method of program that returns a cobra.Command: its use, short and long help, examples, args that counts its arguments, and flags. Its
// RunE does these things, in this order:
//
//  1. It checks flags, so that a wrong command line asks no cluster. Such an error is exit.Usagef: exit code 2.
//  2. It calls p.find, which connects and reads the job with its GenericJob and pods: a jobs.Family.
//  3. It hands the family to another package, which decides, and knows neither flags nor streams.
//  4. It writes the answer to p.Out, or as -o asks, and remarks to p.ErrOut. Both show control characters of tenants as text.
//
// report.go is the smallest that does all four. To add a verb:
//
//  1. Write what it decides in a package beside this one, with tests that need no cluster.
//  2. Write the method here, and add it to the list in New.
//  3. Add its rows to both tables of the README; TestEachFlagStandsInTheTable of cmd/kubectl-gj compares the flags.
//  4. Test it here by what a user types and sees: s.types and s.sees of suite_test.go run it against an apiserver.
package verbs
