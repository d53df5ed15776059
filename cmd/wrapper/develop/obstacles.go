package develop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// clearObstacles deletes in a folder what stands where files are to be: a file, or a folder, of which all files may go. A developer has made a folder of a
// file, or a file of a folder. It comes before the rest, and is not undone if that fails: the developer no longer has what it deletes.
func clearObstacles(dir string, files []string, mayGo func(file string) bool) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer root.Close()
	for range 5 { // replicas may share the folder: what stood there, or was walked through, may be gone
		var found obstacles
		if found, err = findObstacles(root, files, mayGo); err != nil {
			continue
		}
		for _, file := range found.files {
			err = errors.Join(err, root.Remove(file)) // not a folder with files, which another replica has made meanwhile
		}
		for _, folder := range found.folders {
			err = errors.Join(err, root.RemoveAll(folder))
		}
		if err == nil {
			break
		}
	}
	return err
}

// obstacles are files where folders are to be, and the reverse.
type obstacles struct{ files, folders []string }

// findObstacles returns what clearObstacles deletes, and an error if anything else stands where files are to be.
func findObstacles(root *os.Root, files []string, mayGo func(file string) bool) (found obstacles, err error) {
	seen := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if info, err := root.Stat(dir); err != nil || info.IsDir() {
				continue
			}
			if !mayGo(dir) {
				return found, fmt.Errorf("%s cannot be written: in the pod %s is no folder. Delete it there, or choose another name", file, path.Join(root.Name(), dir))
			}
			found.files = append(found.files, dir)
		}
		if info, err := root.Stat(file); err != nil || !info.IsDir() {
			continue
		}
		if other := otherIn(root, file, mayGo); other != "" {
			return found, fmt.Errorf("%s cannot be written: in the pod it is a folder, with %s. Delete it there, or choose another name", path.Join(root.Name(), file), other)
		}
		found.folders = append(found.folders, file)
	}
	return found, nil
}

// otherIn returns a file in a folder that may not go; "" without one.
func otherIn(root *os.Root, folder string, mayGo func(file string) bool) (other string) {
	err := fs.WalkDir(root.FS(), folder, func(name string, e fs.DirEntry, err error) error {
		if err == nil && (e.IsDir() || mayGo(name)) {
			return nil
		}
		other = name
		return fs.SkipAll
	})
	if err != nil {
		return err.Error()
	}
	return other
}

// isOneOf says which files a developer has deleted.
func isOneOf(deleted []string) func(file string) bool {
	isDeleted := map[string]bool{}
	for _, file := range deleted {
		isDeleted[path.Clean(file)] = true
	}
	return func(file string) bool { return isDeleted[file] }
}
