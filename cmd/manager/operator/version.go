package operator

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/genericjob/genericjob/controllers/metrics"
)

// linkedVersion and linkedCommit are set by the linker, see Makefile: a build of a checkout does not know them otherwise.
var linkedVersion, linkedCommit string

const module = "github.com/genericjob/genericjob"

// about returns what --version prints.
func about() string {
	return fmt.Sprintf("genericjob %s %s %s/%s", built().Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// built returns what the metrics say of the build.
func built() metrics.Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return metrics.Build{Version: versionOf(linkedVersion, info), Commit: commitOf(linkedCommit, info), Go: runtime.Version()}
}

// commitOf returns what the linker was told, or else what Go has read from the checkout.
func commitOf(linked string, info *debug.BuildInfo) string {
	if linked != "" {
		return linked
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}

// versionOf returns what the linker was told, or else what Go knows of the module that the program was built from. A program
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
