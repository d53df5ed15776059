// Package announce writes events and lines of the log. It knows how the two are written. It does not know when: reconcilers call it
// after the write that makes an event or a line true.
package announce
