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

// dropCovered forgets what is kept of the same files by another name: in folders above or below, or by a link. Of two that have a file, the last that
// came holds.
func (s *store) dropCovered() error {
	follow, came, named := places{}, map[string]bool{}, map[string]bool{}
	for _, file := range slices.Concat(s.files, s.deleted) {
		came[follow.placeOf(s.dir, file)] = true
		named[filepath.Clean(file)] = true
	}
	for _, dir := range s.folders() {
		var same []string
		deletions, err := s.deletionsIn(dir)
		if err != nil {
			return err
		}
		for _, file := range slices.Concat(filesIn(filepath.Join(s.kept, name(dir))), slices.Collect(maps.Keys(deletions))) {
			if came[follow.placeOf(dir, file)] && (dir != s.dir || !named[file]) {
				same = append(same, file)
			}
		}
		if len(same) == 0 {
			continue
		}
		for _, file := range same {
			delete(deletions, file)
		}
		if err := errors.Join(remove(filepath.Join(s.kept, name(dir)), same), s.keepDeletions(dir, deletions)); err != nil {
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
