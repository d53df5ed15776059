package develop

import "path/filepath"

// places are where folders are, by the paths that lead there. A file has one place, by whatever links it is reached.
type places map[string]string

// placeOf returns where a file of a folder is. If it is a link itself, that is where the link is.
func (p places) placeOf(dir, file string) string {
	at := filepath.Join(dir, file)
	folder := filepath.Dir(at)
	if p[folder] == "" {
		p[folder] = placeOfDir(folder)
	}
	return filepath.Join(p[folder], filepath.Base(at))
}

// placeOfDir returns where a folder is, or will be once it is made.
func placeOfDir(dir string) string {
	for missing := ""; ; dir = filepath.Dir(dir) {
		if at, err := filepath.EvalSymlinks(dir); err == nil || dir == filepath.Dir(dir) {
			return filepath.Join(at, missing)
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}
