package develop

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// goneFrom are the files of a folder that were deleted, and have not come back. The image may have them: then the next container has to delete them
// anew.
func (s *store) goneFrom(dir string) (files []string, err error) {
	text, err := os.ReadFile(filepath.Join(s.gone, name(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &files)
	}
	if err != nil {
		return nil, fmt.Errorf("read which files were deleted in %s: %w", dir, err)
	}
	return files, nil
}

// goneAfterApply are those once the files that were sent are applied.
func (s *store) goneAfterApply() ([]string, error) {
	files, err := s.goneFrom(s.dir)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, file := range slices.Concat(files, s.deleted) {
		set[filepath.Clean(file)] = true
	}
	for _, file := range s.files {
		delete(set, file)
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// noteGone keeps which files are deleted.
func (s *store) noteGone() error {
	files, err := s.goneAfterApply()
	if err != nil {
		return err
	}
	return s.keepGone(s.dir, files)
}

func (s *store) keepGone(dir string, files []string) error {
	text, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("keep which files were deleted in %s: %w", dir, err)
	}
	at := filepath.Join(s.gone, name(dir))
	if err := errors.Join(os.MkdirAll(s.gone, 0o755), os.WriteFile(at+".next", text, 0o644), os.Rename(at+".next", at)); err != nil {
		return fmt.Errorf("keep which files were deleted in %s: %w", dir, err)
	}
	return nil
}

// dropCovered forgets what folders above or below keep of the same files. Of two that have a file, the last that came holds.
func (s *store) dropCovered() error {
	for _, dir := range s.folders() {
		var same []string
		for _, file := range slices.Concat(s.files, s.deleted) {
			if relative, err := filepath.Rel(dir, filepath.Join(s.dir, file)); err == nil && filepath.IsLocal(relative) {
				same = append(same, relative)
			}
		}
		if dir == s.dir || len(same) == 0 {
			continue
		}
		gone, err := s.goneFrom(dir)
		if err != nil {
			return err
		}
		gone = slices.DeleteFunc(gone, func(file string) bool { return slices.Contains(same, file) })
		if err := errors.Join(remove(filepath.Join(s.kept, name(dir)), same), s.keepGone(dir, gone)); err != nil {
			return err
		}
	}
	return nil
}

// folders are those of which something is kept.
func (s *store) folders() (dirs []string) {
	entries, _ := os.ReadDir(s.kept) // there may be none
	for _, e := range entries {
		if dir, err := base64.RawURLEncoding.DecodeString(e.Name()); err == nil && s.check(string(dir), nil) == nil {
			dirs = append(dirs, string(dir))
		}
	}
	return dirs
}
