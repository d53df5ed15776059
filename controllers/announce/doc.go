// Package announce writes events and lines of the log. It knows how the two are written. Reconcilers decide when: they call this package
// after the write that makes an event or a line true.
package announce
