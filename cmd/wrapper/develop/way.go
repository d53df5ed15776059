package develop

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
)

// makeWay deletes in a folder what stands where files are to be: a file, or a folder, of which all files may go. A developer has made a folder of a
// file, or a file of a folder. It comes before the rest, and is not undone if that fails: the developer no longer has what it deletes.
func makeWay(dir string, files []string, mayGo func(file string) bool) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the folder: %w", err)
	}
	defer root.Close()
	way, err := inTheWay(root, files, mayGo)
	for i := 0; err == nil && i < len(way); i++ {
		err = root.RemoveAll(way[i])
	}
	return err
}

// inTheWay returns what makeWay deletes, and an error if anything else stands where files are to be.
func inTheWay(root *os.Root, files []string, mayGo func(file string) bool) (way []string, err error) {
	seen := map[string]bool{}
	for _, file := range files {
		for dir := path.Dir(file); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if info, err := root.Stat(dir); err != nil || info.IsDir() {
				continue
			}
			if !mayGo(dir) {
				return nil, fmt.Errorf("%s cannot be written: in the pod %s is no folder. Delete it there, or choose another name", file, path.Join(root.Name(), dir))
			}
			way = append(way, dir)
		}
		if info, err := root.Stat(file); err != nil || !info.IsDir() {
			continue
		}
		if other := otherIn(root, file, mayGo); other != "" {
			return nil, fmt.Errorf("%s cannot be written: in the pod it is a folder, with %s. Delete it there, or choose another name", path.Join(root.Name(), file), other)
		}
		way = append(way, file)
	}
	return way, nil
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
	gone := map[string]bool{}
	for _, file := range deleted {
		gone[path.Clean(file)] = true
	}
	return func(file string) bool { return gone[file] }
}
