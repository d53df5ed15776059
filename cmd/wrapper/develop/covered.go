package develop

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
)

// arrival is where the files of a request are.
type arrival struct {
	dir    string
	follow places
	named  map[string]bool // by their names in dir
	places map[string]bool // where they are
	sent   map[string]bool // where those are that came, without those to be deleted
	above  map[string]bool // the folders of those
}

func (s *store) arrival() *arrival {
	a := &arrival{s.dir, places{}, map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for i, file := range slices.Concat(s.files, s.deleted) {
		at := a.follow.placeOf(s.dir, file)
		a.named[filepath.Clean(file)], a.places[at] = true, true
		if i >= len(s.files) {
			continue
		}
		a.sent[at] = true
		for dir := filepath.Dir(at); dir != "/"; dir = filepath.Dir(dir) {
			a.above[dir] = true
		}
	}
	return a
}

// renames reports whether a file of a folder is among those of the request, by another name.
func (a *arrival) renames(dir, file string) bool {
	return a.places[a.follow.placeOf(dir, file)] && (dir != a.dir || !a.named[file])
}

// covers reports whether a file that is kept of a folder exists no more. It has come by another name, or is a folder now, or is below a file.
func (a *arrival) covers(dir, file string) bool {
	at := a.follow.placeOf(dir, file)
	if a.renames(dir, file) || a.above[at] {
		return true
	}
	for at = filepath.Dir(at); at != "/"; at = filepath.Dir(at) {
		if a.sent[at] {
			return true
		}
	}
	return false
}

// dropCovered forgets what is kept of the same files by another name: in folders above or below, or by a link. Of two that have a file, the last that
// came holds. So it does where one has a file, and the other a folder.
func (s *store) dropCovered() error {
	came := s.arrival()
	for _, dir := range s.folders() {
		deletions, err := s.deletionsIn(dir)
		if err != nil {
			return err
		}
		kept, n := filepath.Join(s.kept, name(dir)), len(deletions)
		covered := slices.DeleteFunc(filesIn(kept), func(file string) bool { return !came.covers(dir, file) })
		maps.DeleteFunc(deletions, func(file string, _ bool) bool { return came.renames(dir, file) })
		if len(covered) == 0 && len(deletions) == n {
			continue
		}
		if err := errors.Join(remove(kept, covered), s.keepDeletions(dir, deletions)); err != nil {
			return err
		}
	}
	return nil
}
