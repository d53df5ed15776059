package develop

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// mayWrite says which file cannot be written, and why. It leaves no trace.
func (s *store) mayWrite() error {
	dirs := map[string]bool{}
	for _, file := range slices.Concat(s.files, s.deleted) {
		dirs[path.Dir(file)] = true
	}
	root, err := os.OpenRoot(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return mayCreate(s.dir)
	}
	if err != nil {
		return s.cannot(s.dir, err)
	}
	defer root.Close()
	for dir := range dirs {
		if where, err := mayWriteIn(root, dir); err != nil {
			return s.cannot(path.Join(s.dir, where), err)
		}
	}
	for _, file := range s.files {
		if info, err := root.Stat(file); err == nil && info.IsDir() {
			return s.cannot(path.Join(s.dir, file), errors.New("it is a folder"))
		}
	}
	return nil
}

// mayWriteIn looks at the nearest folder that is there.
func mayWriteIn(root *os.Root, dir string) (where string, err error) {
	for ; ; dir = path.Dir(dir) {
		info, err := root.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err == nil && !info.IsDir():
			return dir, errors.New("it is no folder")
		default:
			return dir, probe(root, dir)
		}
	}
}

// mayCreate reports whether a folder that is not there can be made.
func mayCreate(dir string) error {
	above := filepath.Dir(dir)
	for {
		root, err := os.OpenRoot(above)
		if err == nil {
			defer root.Close()
			if err = probe(root, "."); err != nil {
				return (&store{}).cannot(above, err)
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) || above == filepath.Dir(above) {
			return (&store{}).cannot(above, err)
		}
		above = filepath.Dir(above)
	}
}

// probe makes a file in a folder, and deletes it.
func probe(root *os.Root, dir string) error {
	file := beside(dir, "probe")
	f, err := root.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), root.Remove(file))
}

// cannot says that somebody may not write, and who.
func (s *store) cannot(where string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("user %d cannot write in %s: %w. Have the image give the folder to that user, mount an emptyDir there, or choose another folder", os.Getuid(), where, err)
}

// apply puts the files in their place, and keeps them for the next container of the pod.
func (s *store) apply() error {
	if s.dir == "" {
		return errors.New("no files were sent that could be applied")
	}
	if err := place(s.next, s.dir); err != nil {
		return err
	}
	kept := filepath.Join(s.kept, name(s.dir))
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	if err := errors.Join(place(s.next, kept), remove(kept, s.deleted), remove(s.dir, s.deleted)); err != nil {
		return err
	}
	s.discard()
	return nil
}

// place copies all files of a folder into another.
func place(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return fmt.Errorf("make the folder %s: %w", to, err)
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return fmt.Errorf("read the files that were sent: %w", err)
	}
	defer source.Close()
	target, err := os.OpenRoot(to)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer target.Close()
	return each(from, func(file string, info fs.FileInfo) error {
		f, err := source.Open(file)
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		defer f.Close()
		if err := write(target, file, f, info); err != nil {
			return fmt.Errorf("write %s: %w", path.Join(to, file), err)
		}
		return nil
	})
}

// remove deletes files in a folder. What is gone, or is a folder, stays so.
func remove(dir string, files []string) error {
	if len(files) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer root.Close()
	for _, file := range files {
		info, err := root.Lstat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if err := root.Remove(file); err != nil {
			return fmt.Errorf("delete %s: %w", path.Join(dir, file), err)
		}
	}
	return nil
}

// Restore puts the files that were synced into a pod in their place, in a container that has those of its image. It returns their folders.
func Restore(own string) (dirs []string, err error) {
	s := newStore(own)
	s.discard() // of somebody whose container has ended
	entries, err := os.ReadDir(s.kept)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		dir, bad := base64.RawURLEncoding.DecodeString(e.Name())
		if bad != nil || s.refuse(string(dir), nil) != nil {
			continue
		}
		if failed := place(filepath.Join(s.kept, e.Name()), string(dir)); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		dirs = append(dirs, string(dir))
	}
	return dirs, err
}
