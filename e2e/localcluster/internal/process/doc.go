// Package process starts programs that outlive their starter and finds and
// stops them again.
//
// Every program carries a tag in its environment. The tag, not the pid file,
// decides whether a process is ours: a pid may have been given to somebody
// else, and children such as container shims inherit the tag.
package process
