// Package process starts programs that outlive their starter and finds and
// stops them again.
//
// Every program carries a tag in its environment. The tag, not the pid file,
// decides whether a process is ours. Somebody else may have got a pid since,
// and children such as container shims inherit the tag.
package process
