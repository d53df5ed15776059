package develop

import (
	"archive/tar"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The pod's volume has two folders of files: next are those that were sent and not applied yet, and kept are those that were. In kept each folder of
// the container has one, whose name is its path in base64. A third, deletions, has a file for each, with what was deleted: the image may have it.
// What is read or written below a folder goes through an os.Root: no link leads out of it.

// store is where files wait, and stay.
type store struct {
	next, kept, deletions string
	own                   string // the folder of the wrapper, in which nobody may write
	mounts                string // the file that says what is mounted where
	dir                   string // that the files of next are for
	files                 []string
	deleted               []string
}

func newStore(own string) *store {
	at := filepath.Join(own, "state", "synced")
	return &store{next: filepath.Join(at, "next"), kept: filepath.Join(at, "kept"), deletions: filepath.Join(at, "deletions"), own: own, mounts: "/proc/self/mountinfo"}
}

// name returns the name of a folder in kept.
func name(dir string) string { return base64.RawURLEncoding.EncodeToString([]byte(dir)) }

// longestDir is how many bytes a path may have: its name is one of a file.
const longestDir = 180

// stage takes files from a tar stream, and looks whether they may be put into a folder. It changes nothing there.
func (s *store) stage(stream io.Reader, dir string, deleted []string) error {
	s.discard()
	if err := s.check(dir, deleted); err != nil {
		return err
	}
	if err := os.MkdirAll(s.next, 0o755); err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	next, err := os.OpenRoot(s.next)
	if err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	defer next.Close()
	s.dir, s.deleted = placeOfDir(filepath.Clean(dir)), deleted
	if err := s.check(s.dir, nil); err != nil {
		return err
	}
	if s.files, err = unpack(stream, next); err != nil {
		return err
	}
	if err := s.measure(); err != nil {
		return err
	}
	return s.mayWrite()
}

// check says what is wrong with a folder, or with names of files in it.
func (s *store) check(dir string, deleted []string) error {
	dir = filepath.Clean(dir)
	switch {
	case !filepath.IsAbs(dir) || dir == "/":
		return fmt.Errorf("folder %q: want the absolute path of a folder below /", dir)
	case len(dir) > longestDir:
		return fmt.Errorf("folder %q: at most %d bytes", dir, longestDir)
	case dir == s.own || strings.HasPrefix(dir, s.own+"/"):
		return fmt.Errorf("folder %q is the operator's own: choose another", dir)
	}
	for _, file := range deleted {
		if !filepath.IsLocal(file) || path.Clean(file) == "." {
			return fmt.Errorf("file %q to be deleted is not below the folder", file)
		}
	}
	return nil
}

// unpack writes the files of a tar stream below a folder, and returns their names.
func unpack(stream io.Reader, to *os.Root) (files []string, err error) {
	bytesLeft := int64(MaxBytes)
	for in := tar.NewReader(stream); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			_, err = io.Copy(io.Discard, stream) // what follows the end in a tar stream is padding
			return files, err
		}
		if err != nil {
			return nil, fmt.Errorf("read the files that are sent: %w", err)
		}
		file := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeDir:
			continue // folders come with their files
		case h.Typeflag != tar.TypeReg:
			return nil, fmt.Errorf("%q is neither a file nor a folder: links and devices are not taken", h.Name)
		case !filepath.IsLocal(file) || file == ".":
			return nil, fmt.Errorf("file %q is not below the folder", h.Name)
		case len(files) == MaxFiles:
			return nil, fmt.Errorf("more than %d files are sent: exclude some", MaxFiles)
		case h.Size > bytesLeft:
			return nil, fmt.Errorf("files of more than %d MiB are sent: exclude some", MaxBytes>>20)
		}
		bytesLeft -= h.Size
		part, err := write(to, file, in, h.FileInfo())
		if err == nil {
			err = to.Rename(part, file)
		}
		if err != nil {
			return nil, fmt.Errorf("keep %s in the pod: %w", file, err)
		}
		files = append(files, file)
	}
}

// write writes a file beside its place, as a whole or not at all. It has the mode and the time of the source: Python goes by the time to know what it
// has compiled.
func write(to *os.Root, file string, from io.Reader, source fs.FileInfo) (part string, err error) {
	if err := to.MkdirAll(path.Dir(file), 0o755); err != nil {
		return "", err
	}
	part = hiddenName(path.Dir(file), path.Base(file))
	f, err := to.OpenFile(part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(f, from)
	mode := source.Mode().Perm() | 0o600
	if err = errors.Join(err, f.Close(), to.Chmod(part, mode), to.Chtimes(part, source.ModTime(), source.ModTime())); err != nil {
		_ = to.Remove(part) // what it could not write is told
		return "", err
	}
	return part, nil
}

// hiddenName returns a name for a file in a folder that is there for a moment. Nobody else has its name: replicas may share the folder.
func hiddenName(dir, file string) string {
	return path.Join(dir, ".genericjob-"+rand.Text()+"-"+file[:min(len(file), 200)])
}

// measure refuses more files than are kept, with those of earlier calls that stay.
func (s *store) measure() error {
	n, bytes := 0, int64(0)
	count := func(info fs.FileInfo) { n, bytes = n+1, bytes+info.Size() }
	_ = each(s.next, func(_ string, info fs.FileInfo) error { count(info); return nil })
	replaced := map[string]bool{}
	for _, file := range slices.Concat(s.files, s.deleted) {
		replaced[path.Join(name(s.dir), file)] = true
	}
	_ = each(s.kept, func(file string, info fs.FileInfo) error {
		if !replaced[file] {
			count(info)
		}
		return nil
	})
	deletions, err := s.deletionsAfterApply()
	if err != nil {
		return err
	}
	if n += len(deletions); n > MaxFiles || bytes > MaxBytes {
		return fmt.Errorf("with those that were sent before there would be %d files of %d MiB in the pod: at most %d files of %d MiB. A new pod begins without",
			n, bytes>>20, MaxFiles, MaxBytes>>20)
	}
	return nil
}

// each calls do with each file below a folder, which may be missing.
func each(dir string, do func(file string, info fs.FileInfo) error) error {
	return filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && at == dir:
			return nil
		case err != nil:
			return err
		case e.IsDir():
			return nil
		}
		file, err := filepath.Rel(dir, at)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		return do(filepath.ToSlash(file), info)
	})
}

// filesIn returns the files below a folder, which may be missing.
func filesIn(dir string) (files []string) {
	_ = each(dir, func(file string, _ fs.FileInfo) error { files = append(files, file); return nil }) // who writes there meets what is wrong
	return files
}

// discard forgets files that were not applied.
func (s *store) discard() {
	_ = os.RemoveAll(s.next)
	s.files, s.deleted, s.dir = nil, nil, ""
}
