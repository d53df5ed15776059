package cluster

import (
	"context"
	"io"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

var needs = []system.Need{
	{Program: "runc", Package: "runc"},
	{Program: "ip", Package: "iproute2"},
	{Program: "ss", Package: "iproute2"},
	{Program: "nft", Package: "nftables"},
	{Program: "mount", Package: "mount"},
}

// EnsurePackages installs the Debian packages that are missing.
func EnsurePackages(ctx context.Context, progress io.Writer) error {
	return system.Ensure(ctx, needs, progress)
}

func searchPath(first string) string { return "PATH=" + first + ":" + system.Folders }
