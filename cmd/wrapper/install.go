package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/genericjob/genericjob/apis/inplace"
)

// install copies this program into a folder, for any user to run. A file that is there already, from a container that was
// restarted, is replaced as a whole: it may be running.
func install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	from, err := os.Open(self)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.CreateTemp(dir, inplace.Binary)
	if err != nil {
		return fmt.Errorf("copy the wrapper: %w", err)
	}
	defer func() { _ = os.Remove(to.Name()) }() // it is there only if something failed
	if _, err = io.Copy(to, from); err != nil {
		return fmt.Errorf("copy the wrapper: %w", err)
	}
	if err = to.Chmod(0o755); err != nil { // the code's user is not this one
		return err
	}
	if err = to.Close(); err != nil {
		return err
	}
	return os.Rename(to.Name(), filepath.Join(dir, inplace.Binary))
}
