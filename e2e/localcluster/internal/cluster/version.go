package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/artifact"
)

// VersionOfState is the version that the cluster's files are of, or the newest if there are none.
func (l Layout) VersionOfState() (artifact.Version, error) {
	content, err := os.ReadFile(l.data("version"))
	if errors.Is(err, fs.ErrNotExist) {
		return artifact.Newest, nil
	}
	if err != nil {
		return "", fmt.Errorf("find the cluster's version: %w", err)
	}
	return artifact.ParseVersion(strings.TrimSpace(string(content)))
}

// checkVersion refuses another version than that of the files: an older apiserver cannot read all that a newer one has
// stored.
func (l Layout) checkVersion() error {
	if _, err := os.Stat(l.data("etcd")); err != nil {
		return nil //nolint:nilerr // nothing is stored
	}
	have, err := l.VersionOfState()
	if err != nil {
		return err
	}
	if have != l.Version {
		return fmt.Errorf("the cluster that is there is of version %s, not %s: run `make cluster-down` first", have, l.Version)
	}
	return nil
}

func (l Layout) keepVersion() error { return writeFile(l.data("version"), []byte(l.Version+"\n")) }
