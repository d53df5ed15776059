package develop

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// deletionsIn returns the files of a folder that were deleted, and have not come back. The image may have them: then the next container has to delete
// them anew.
func (s *store) deletionsIn(dir string) (deletions map[string]bool, err error) {
	text, err := os.ReadFile(filepath.Join(s.deletions, name(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]bool{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &deletions)
	}
	if err != nil {
		return nil, fmt.Errorf("read which files were deleted in %s: %w", dir, err)
	}
	return deletions, nil
}

// deletionsAfterApply returns those once the files that were sent are applied.
func (s *store) deletionsAfterApply() (map[string]bool, error) {
	deletions, err := s.deletionsIn(s.dir)
	if err != nil {
		return nil, err
	}
	for _, file := range s.deleted {
		deletions[filepath.Clean(file)] = true
	}
	for _, file := range s.files {
		delete(deletions, file)
	}
	return deletions, nil
}

// noteDeletions keeps which files are deleted.
func (s *store) noteDeletions() error {
	deletions, err := s.deletionsAfterApply()
	if err != nil {
		return err
	}
	return s.keepDeletions(s.dir, deletions)
}

func (s *store) keepDeletions(dir string, deletions map[string]bool) error {
	text, err := json.Marshal(deletions)
	if err != nil {
		return fmt.Errorf("keep which files were deleted in %s: %w", dir, err)
	}
	at := filepath.Join(s.deletions, name(dir))
	if err := errors.Join(os.MkdirAll(s.deletions, 0o755), os.WriteFile(at+".next", text, 0o644), os.Rename(at+".next", at)); err != nil {
		return fmt.Errorf("keep which files were deleted in %s: %w", dir, err)
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
