// Package code replaces the code of a running job, and has its processes begun again in its pods. It speaks with the program that `wrapper develop` is
// in each pod: see cmd/wrapper/develop. folder.go reads files of this machine, members.go chooses pods, round.go does one thing in all of them.
package code

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// Excluded are the patterns of what is never synced: what editors, Python and version control keep beside code.
var Excluded = []string{
	".git", ".hg", ".svn", "__pycache__", "*.pyc", ".venv", "node_modules", ".mypy_cache", ".pytest_cache", ".ruff_cache",
	".ipynb_checkpoints", ".idea", ".vscode", ".DS_Store", "*.swp", "*.swx", "*~", ".#*", "4913",
}

// Folder is what is synced: a folder of this machine, or one file of it, and where it belongs in the pods.
type Folder struct {
	// Dir is the folder in the pods.
	Dir string

	local   string
	file    string // the only one; "" for all
	as      string // its name in the pods
	exclude []string
}

// File is a file as it was when it was looked at.
type File struct {
	Size int64
	Time time.Time
	Mode fs.FileMode
}

// Snapshot are the files of a folder, by their path in it.
type Snapshot map[string]File

// NewFolder reads LOCAL:DIR. Where LOCAL is a file, DIR is its path in the pods, or ends with / and is its folder.
func NewFolder(pair string, exclude []string) (*Folder, error) {
	i := strings.LastIndex(pair, ":")
	if i < 1 || !strings.HasPrefix(pair[i+1:], "/") {
		return nil, exit.Usagef("%q: want LOCAL:DIR, a folder or file of this machine and an absolute path in the pods, as in ./src:/app", pair)
	}
	f := &Folder{local: pair[:i], Dir: path.Clean(pair[i+1:]), exclude: slices.Concat(Excluded, exclude)}
	for _, pattern := range f.exclude {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, exit.Usagef("--exclude=%s: %w", pattern, err)
		}
	}
	info, err := os.Stat(f.local)
	if err != nil {
		return nil, exit.Usagef("read %s: %s", f.local, reason(err))
	}
	if !info.IsDir() {
		f.as = filepath.Base(f.local)
		if f.local, f.file, err = follow(f.local); err != nil {
			return nil, exit.Usagef("read %s: %s", pair[:i], reason(err))
		}
		if !strings.HasSuffix(pair, "/") {
			f.Dir, f.as = path.Split(f.Dir)
			f.Dir = path.Clean(f.Dir)
		}
	}
	if f.Dir == "/" {
		return nil, exit.Usagef("%q: want a folder of the pods below /, as /app", pair)
	}
	return f, nil
}

// follow returns where a file is. Who names one wants it, wherever a link leads.
func follow(file string) (dir, name string, err error) {
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return "", "", err
	}
	return filepath.Dir(file), filepath.Base(file), nil
}

func (f *Folder) empty() error { return exit.Usagef("%s has no files that are synced", f.local) }

// Look returns the files of the folder, and says what of it is left out though no pattern excludes it.
func (f *Folder) Look() (files Snapshot, left []string, err error) {
	root, err := os.OpenRoot(f.local)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	files = Snapshot{}
	if f.file != "" {
		info, err := root.Stat(f.file)
		if err != nil {
			return nil, nil, err
		}
		files[f.as] = fileOf(info)
		return files, nil, files.refused(f.local)
	}
	l := &looking{Folder: f, root: root, files: files}
	if err := fs.WalkDir(root.FS(), ".", l.visit); err != nil {
		return nil, nil, err
	}
	return files, l.left, files.refused(f.local)
}

// looking is a walk through a folder.
type looking struct {
	*Folder
	root  *os.Root
	files Snapshot
	left  []string
}

func (l *looking) visit(name string, e fs.DirEntry, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) && name != ".": // it was deleted meanwhile
		return nil
	case err != nil:
		return err
	case name != "." && l.excludes(name) && e.IsDir():
		return fs.SkipDir
	case e.IsDir(), l.excludes(name):
		return nil
	}
	return l.take(name, e)
}

// take takes a file, or what a link leads to, unless that is outside.
func (l *looking) take(name string, e fs.DirEntry) error {
	info, err := l.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && e.Type().IsRegular():
		return nil
	case err != nil:
		l.left = append(l.left, name+": "+reason(err))
		return nil
	case !info.Mode().IsRegular():
		l.left = append(l.left, name+": neither a file nor a link to one in the folder")
		return nil
	}
	if l.files[name] = fileOf(info); len(l.files) > develop.MaxFiles {
		return l.files.refused(l.local)
	}
	return nil
}

func fileOf(info fs.FileInfo) File {
	return File{Size: info.Size(), Time: info.ModTime(), Mode: info.Mode().Perm()}
}

// reason returns an error without the path, which is told before it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// excludes reports whether a pattern names a file or folder: by its name, or by its path in the folder.
func (f *Folder) excludes(name string) bool {
	return slices.ContainsFunc(f.exclude, func(pattern string) bool {
		pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
		byName, _ := path.Match(pattern, path.Base(name))
		byPath, _ := path.Match(pattern, name)
		return byName || byPath
	})
}

// refused says that the files are too many, or too large, and which are the largest.
func (s Snapshot) refused(local string) error {
	bytes, largest := int64(0), ""
	for _, name := range slices.Sorted(maps.Keys(s)) {
		bytes += s[name].Size
		if largest == "" || s[name].Size > s[largest].Size {
			largest = name
		}
	}
	if len(s) <= develop.MaxFiles && bytes <= develop.MaxBytes {
		return nil
	}
	return exit.Usagef("%s has %d files of %d MiB or more: at most %d files of %d MiB are synced. The largest seen is %s, of %d MiB. Leave some out by --exclude, and put data on a volume",
		local, len(s), bytes>>20, develop.MaxFiles, develop.MaxBytes>>20, largest, s[largest].Size>>20)
}

func (f File) differs(from File) bool {
	return f.Size != from.Size || !f.Time.Equal(from.Time) || f.Mode != from.Mode
}

// since returns the files that are new or other than before, and those that are gone.
func (s Snapshot) since(before Snapshot) (changed, deleted []string) {
	for name, file := range s {
		if had, ok := before[name]; !ok || had.differs(file) {
			changed = append(changed, name)
		}
	}
	for name := range before {
		if _, ok := s[name]; !ok {
			deleted = append(deleted, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(deleted)
	return changed, deleted
}

// changedError says that a file was written while it was read.
type changedError struct{ file string }

// Error returns the message.
func (e changedError) Error() string { return e.file + " changed while it was read" }

// archive returns files as a tar stream, if they are as they were seen, and the names of those that are in it. A file that was deleted meanwhile is
// left out: the next look misses it.
func (f *Folder) archive(names []string, seen Snapshot) (archived []byte, sent []string, err error) {
	root, err := os.OpenRoot(f.local)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = root.Close() }() // it was only read
	var stream bytes.Buffer
	out := tar.NewWriter(&stream)
	for _, name := range names {
		local := name
		if f.file != "" {
			local = f.file
		}
		text, info, err := read(root, local)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		if was := seen[name]; int64(len(text)) != was.Size || fileOf(info).differs(was) {
			return nil, nil, changedError{name}
		}
		h := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime(), Size: int64(len(text)), Format: tar.FormatPAX}
		if err := out.WriteHeader(h); err != nil {
			return nil, nil, fmt.Errorf("archive %s: %w", name, err)
		}
		if _, err := out.Write(text); err != nil {
			return nil, nil, fmt.Errorf("archive %s: %w", name, err)
		}
		sent = append(sent, name)
	}
	return stream.Bytes(), sent, errors.Join(out.Close())
}

// read reads a file as a whole: it may grow meanwhile.
func read(root *os.Root, name string) ([]byte, fs.FileInfo, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(file, develop.MaxBytes+1))
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat() // after that: whoever writes meanwhile is noticed
	return text, info, err
}
