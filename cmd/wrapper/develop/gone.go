package develop

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// goneFrom are the files of a folder that were deleted, and have not come back. The image may have them: then the next container has to delete them anew.
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

// goneNow are those after the next step.
func (s *store) goneNow() ([]string, error) {
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
	files, err := s.goneNow()
	if err != nil {
		return err
	}
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.gone, 0o755); err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	at := filepath.Join(s.gone, name(s.dir))
	if err := errors.Join(os.WriteFile(at+".next", text, 0o644), os.Rename(at+".next", at)); err != nil {
		return fmt.Errorf("keep files in the pod: %w", err)
	}
	return nil
}
