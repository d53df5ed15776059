package operator

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// linkedVersion is set by the linker, see Makefile: a build of a checkout does not know its version otherwise.
var linkedVersion string

const module = "github.com/genericjob/genericjob"

// about is what --version prints.
func about() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return fmt.Sprintf("genericjob %s %s %s/%s", versionOf(linkedVersion, info), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionOf is what the linker was told, or else what Go knows of the module that the program was built from. A program
// with further frameworks tells the version of the operator in it.
func versionOf(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	version := info.Main.Version
	for _, dependency := range info.Deps {
		if dependency.Path == module {
			version = dependency.Version
		}
	}
	if version == "" {
		return "(devel)" // Go's own word for it
	}
	return version
}
