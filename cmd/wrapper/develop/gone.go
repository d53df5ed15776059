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

// goneFrom returns the files of a folder that were deleted, and have not come back. The image may have them: then the next container has to delete
// them anew.
func (s *store) goneFrom(dir string) (gone map[string]bool, err error) {
	text, err := os.ReadFile(filepath.Join(s.gone, name(dir)))
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]bool{}, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &gone)
	}
	if err != nil {
		return nil, fmt.Errorf("read which files were deleted in %s: %w", dir, err)
	}
	return gone, nil
}

// goneAfterApply returns those once the files that were sent are applied.
func (s *store) goneAfterApply() (map[string]bool, error) {
	gone, err := s.goneFrom(s.dir)
	if err != nil {
		return nil, err
	}
	for _, file := range s.deleted {
		gone[filepath.Clean(file)] = true
	}
	for _, file := range s.files {
		delete(gone, file)
	}
	return gone, nil
}

// noteGone keeps which files are deleted.
func (s *store) noteGone() error {
	gone, err := s.goneAfterApply()
	if err != nil {
		return err
	}
	return s.keepGone(s.dir, gone)
}

func (s *store) keepGone(dir string, gone map[string]bool) error {
	text, err := json.Marshal(gone)
	if err != nil {
		return fmt.Errorf("keep which files were deleted in %s: %w", dir, err)
	}
	at := filepath.Join(s.gone, name(dir))
	if err := errors.Join(os.MkdirAll(s.gone, 0o755), os.WriteFile(at+".next", text, 0o644), os.Rename(at+".next", at)); err != nil {
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
		gone, err := s.goneFrom(dir)
		if err != nil {
			return err
		}
		for _, file := range slices.Concat(filesIn(filepath.Join(s.kept, name(dir))), slices.Collect(maps.Keys(gone))) {
			if came[follow.placeOf(dir, file)] && (dir != s.dir || !named[file]) {
				same = append(same, file)
			}
		}
		if len(same) == 0 {
			continue
		}
		for _, file := range same {
			delete(gone, file)
		}
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
