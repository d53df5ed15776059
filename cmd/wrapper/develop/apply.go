package develop

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
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
		return s.cannotWrite(s.dir, err)
	}
	defer root.Close()
	for dir := range dirs {
		if nearest, err := mayWriteIn(root, dir); err != nil {
			return s.cannotWrite(path.Join(s.dir, nearest), err)
		}
	}
	if _, err := findObstacles(root, s.files, isOneOf(s.deleted)); err != nil {
		return err
	}
	return s.mayReplace()
}

// mayWriteIn looks at the nearest folder that exists, and says why nobody may write in it.
func mayWriteIn(root *os.Root, dir string) (nearest string, err error) {
	for ; ; dir = path.Dir(dir) {
		info, err := root.Stat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), err == nil && !info.IsDir():
			continue
		default:
			return dir, probe(root, dir)
		}
	}
}

// mayCreate reports whether a folder that is not there can be made.
func mayCreate(dir string) error {
	parent := filepath.Dir(dir)
	for {
		root, err := os.OpenRoot(parent)
		if err == nil {
			defer root.Close()
			if err = probe(root, "."); err != nil {
				return (&store{}).cannotWrite(parent, err)
			}
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) || parent == filepath.Dir(parent) {
			return (&store{}).cannotWrite(parent, err)
		}
		parent = filepath.Dir(parent)
	}
}

// probe makes a file in a folder, and deletes it.
func probe(root *os.Root, dir string) error {
	file := hiddenName(dir, "probe")
	f, err := root.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), root.Remove(file))
}

// cannotWrite returns the error that names the user who may not write in a folder.
func (s *store) cannotWrite(folder string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("user %d cannot write in %s: %w. Have the image give the folder to that user, mount an emptyDir there, or choose another folder", os.Getuid(), folder, err)
}

// apply puts the files in their place, and keeps them for the next container of the pod. All are written beside their places first. If that fails,
// no file is replaced; what fails later leaves some in place.
func (s *store) apply() error {
	if s.dir == "" {
		return errors.New("no files were sent that could be applied")
	}
	kept := filepath.Join(s.kept, name(s.dir))
	if err := errors.Join(clearObstacles(s.dir, s.files, isOneOf(s.deleted)), clearObstacles(kept, s.files, func(string) bool { return true })); err != nil {
		return err
	}
	code, err := prepare(s.next, s.dir, s.files)
	defer code.forget()
	if err != nil {
		return err
	}
	copies, err := prepare(s.next, kept, s.files)
	defer copies.forget()
	if err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	for _, do := range []func() error{
		code.put, copies.put, s.noteDeletions, s.dropCovered,
		func() error { return remove(kept, s.deleted) },
		func() error { return remove(s.dir, s.deleted) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	s.discard()
	return nil
}

// prepared are files that are written beside their places in a folder. A disk that is full, for example, is known before any of them is replaced.
type prepared struct {
	to    string
	root  *os.Root
	parts [][2]string // a hidden file, and its place
}

// prepare writes files of a folder beside their places in another.
func prepare(from, to string, files []string) (*prepared, error) {
	p := &prepared{to: to}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return p, fmt.Errorf("make the folder %s: %w", to, err)
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return p, fmt.Errorf("read the files that were sent: %w", err)
	}
	defer source.Close()
	if p.root, err = os.OpenRoot(to); err != nil {
		return p, fmt.Errorf("open the folder: %w", err)
	}
	for _, file := range files {
		part, err := copyBeside(p.root, source, file)
		if err != nil {
			return p, fmt.Errorf("write %s: %w", path.Join(to, file), err)
		}
		p.parts = append(p.parts, [2]string{part, file})
	}
	return p, nil
}

func copyBeside(to, from *os.Root, file string) (part string, err error) {
	f, err := from.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	return write(to, file, f, info)
}

// put puts the files in their places.
func (p *prepared) put() error {
	for len(p.parts) > 0 {
		part := p.parts[0]
		if err := p.root.Rename(part[0], part[1]); err != nil {
			return fmt.Errorf("write %s: %w", path.Join(p.to, part[1]), err)
		}
		p.parts = p.parts[1:]
	}
	return nil
}

// forget deletes what was not put in its place.
func (p *prepared) forget() {
	for _, part := range p.parts {
		_ = p.root.Remove(part[0])
	}
	if p.root != nil {
		_ = p.root.Close()
	}
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
		if err := root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) { // replicas may share the folder
			return fmt.Errorf("delete %s: %w", path.Join(dir, file), err)
		}
	}
	return nil
}

// Restore puts the files that were synced into a pod in their place, in a container that has those of its image. It returns their folders.
func Restore(own string) (dirs []string, err error) { return newStore(own).restore() }

func (s *store) restore() (dirs []string, err error) {
	s.discard() // of somebody whose container has ended
	for _, dir := range s.folders() {
		if failed := s.restoreIn(dir); failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs, err
}

// restoreIn does so in one folder. A volume outlasts the container: what is there now stays, as code may have written it.
func (s *store) restoreIn(dir string) error {
	kept := filepath.Join(s.kept, name(dir))
	deletions, err := s.deletionsIn(dir)
	if err != nil {
		return err
	}
	mounted := s.mounted()
	stays := func(file string) bool { return onVolume(filepath.Join(dir, file), mounted) }
	files := slices.DeleteFunc(filesIn(kept), stays)
	if err := clearObstacles(dir, files, func(file string) bool { return !stays(file) }); err != nil {
		return err
	}
	code, err := prepare(kept, dir, files)
	defer code.forget()
	if err != nil {
		return err
	}
	return errors.Join(code.put(), remove(dir, slices.DeleteFunc(slices.Collect(maps.Keys(deletions)), stays)))
}
