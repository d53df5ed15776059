// Package exit says how the program ends: its exit codes, and errors that have one.
package exit

import (
	"errors"
	"fmt"
)

// The exit codes of all verbs. Scripts rely on them.
const (
	// OK: done; `wait`: the job has succeeded, or is as --for asks.
	OK = 0
	// Failed: the job has failed; `translate`: it would.
	Failed = 1
	// Usage: the command line is wrong, or asks a kind for what it does not have.
	Usage = 2
	// Timeout: --timeout has passed.
	Timeout = 3
	// Cluster: there is no such job, the cluster refuses something, or it cannot be reached.
	Cluster = 4
)

// Error is an error that has an exit code.
type Error struct {
	Code int
	Err  error
}

// Error returns the message.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// Usagef returns an error of the command line. The message says what was found and what is wanted.
func Usagef(format string, a ...any) error { return &Error{Usage, fmt.Errorf(format, a...)} }

// Failedf says that a job has failed, or would.
func Failedf(format string, a ...any) error { return &Error{Failed, fmt.Errorf(format, a...)} }

// Timeoutf says that time has passed.
func Timeoutf(format string, a ...any) error { return &Error{Timeout, fmt.Errorf(format, a...)} }

// Code returns the exit code of an error. One that says nothing of it is the cluster's.
func Code(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	default:
		return Cluster
	}
}
