package develop

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mayReplace says which file cannot be replaced or deleted, because something is mounted on it: a key of a ConfigMap by subPath, for example. Nor can a
// folder become a file that has a mount below it, or two files that are one in the pod.
func (s *store) mayReplace() error {
	mounted, follow, names := s.mounted(), places{}, map[string]string{}
	above := map[string]string{} // of folders, the place of a mount below
	for at := range mounted {
		for dir := filepath.Dir(at); dir != "/"; dir = filepath.Dir(dir) {
			above[dir] = at
		}
	}
	for i, file := range slices.Concat(s.files, s.deleted) {
		file = path.Clean(file)
		at := follow.placeOf(s.dir, file)
		switch other, ok := names[at]; {
		case ok && other != file:
			return fmt.Errorf("%s and %s are one file in the pod, %s: a link leads there. Leave one out by --exclude, or delete the link in the pod", other, file, at)
		case mounted[at]:
			return fmt.Errorf("%s cannot be replaced: something is mounted on it, as a key of a ConfigMap is by subPath. Leave it out by --exclude", path.Join(s.dir, file))
		case i < len(s.files) && above[at] != "":
			return fmt.Errorf("%s cannot become a file: in the pod something is mounted at %s. Leave it out by --exclude, choose another name, or have the job mount that elsewhere",
				path.Join(s.dir, file), above[at])
		}
		names[at] = file
	}
	return nil
}

// escaped are bytes of a path as mountinfo has them: see proc_pid_mountinfo(5).
var escaped = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// onVolume reports whether a file is there, on a mount: what is there outlasts the container.
func onVolume(file string, mounted map[string]bool) bool {
	dir, err := filepath.EvalSymlinks(filepath.Dir(file))
	if err != nil {
		return false
	}
	at := filepath.Join(dir, filepath.Base(file))
	if _, err := os.Lstat(at); err != nil {
		return false
	}
	for ; at != "/"; at = filepath.Dir(at) {
		if mounted[at] {
			return true
		}
	}
	return false
}

// mounted are the places where something is mounted. Without the file that says it, none is known.
func (s *store) mounted() map[string]bool {
	text, _ := os.ReadFile(s.mounts)
	places := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 {
			places[escaped.Replace(fields[4])] = true
		}
	}
	return places
}
