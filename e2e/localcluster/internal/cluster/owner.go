package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// cache is GENERICJOB_CACHE, the folder from which the cluster is made.
func (l Layout) cache() string { return filepath.Dir(l.State) }

// ownerFile holds the cache folder of the machine's one cluster. It lies in Run, which all cache folders share.
func (l Layout) ownerFile() string { return filepath.Join(l.Run, "owner") }

// checkOwner returns an error if the machine's cluster was made from another cache folder. Nobody else may stop its
// components or remove their traces.
func (l Layout) checkOwner() error {
	content, err := os.ReadFile(l.ownerFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find out whose cluster this is: %w", err)
	}
	owner := strings.TrimSuffix(string(content), "\n")
	if owner == l.cache() {
		return nil
	}
	return fmt.Errorf("this machine's cluster was made from the cache folder %s, not %s, and was left alone. To stop it:\n  GENERICJOB_CACHE=%s make cluster-down",
		owner, l.cache(), system.Quote(owner))
}

// claim records that the cluster is made from this cache folder, unless it is another's. Of two that claim it at once, one
// gets it.
func (l Layout) claim() error {
	claims := fmt.Sprintf("%s.%d", l.ownerFile(), os.Getpid())
	if err := writeFile(claims, []byte(l.cache()+"\n")); err != nil {
		return err
	}
	defer os.Remove(claims) //nolint:errcheck // what is left goes with the folder
	// A link appears whole, and only where there is none.
	if err := os.Link(claims, l.ownerFile()); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("record whose cluster this is: %w", err)
	}
	return l.checkOwner()
}
