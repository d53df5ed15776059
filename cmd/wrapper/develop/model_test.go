package develop

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What syncs make of a folder is compared with a model of it in memory. Files and deletions are random, and come by several paths to one folder. Files
// become folders, and the reverse. Between them the code writes and deletes, and the container starts again with the files of its image.

var sequences = flag.Uint64("sequences", 40, "how many random sequences of syncs are compared with the model")

// tree are the files of a folder by where they are, and its folders, which have the text isFolder.
type tree map[string]string

const isFolder = "a folder"

func (t tree) isFile(at string) bool { return t[at] != "" && t[at] != isFolder }

// put writes a file. What is in its place, or where its folders are to be, gives way.
func (t tree) put(at, text string) {
	maps.DeleteFunc(t, func(other, _ string) bool { return strings.HasPrefix(other, at+"/") })
	t[at] = text
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		t[dir] = isFolder
	}
}

func (t tree) remove(at string) {
	if t.isFile(at) {
		delete(t, at)
	}
}

// model is what has to be true of a folder in which l is a link to the folder d.
type model struct {
	image, pod tree
	synced     tree            // files that a new container gets
	deleted    map[string]bool // those that it does not get, though its image may have them
}

// at returns where a file is.
func at(name string) string {
	if rest, ok := strings.CutPrefix(name, "l/"); ok {
		return "d/" + rest
	}
	return name
}

// takes reports whether a sync is taken.
func (m *model) takes(files, deleted []string) bool {
	places := map[string]string{}
	for _, name := range slices.Concat(files, deleted) {
		if other, ok := places[at(name)]; ok && other != name {
			return false
		}
		places[at(name)] = name
	}
	for _, file := range files {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if m.pod.isFile(at(dir)) && !slices.Contains(deleted, dir) {
				return false
			}
		}
		for other := range m.pod {
			if rest, ok := strings.CutPrefix(other, at(file)+"/"); ok && m.pod.isFile(other) && !slices.Contains(deleted, file+"/"+rest) {
				return false
			}
		}
	}
	return true
}

func (m *model) sync(files, deleted []string, text string) {
	for _, file := range files {
		m.pod.put(at(file), text)
		m.synced.put(at(file), text)
		delete(m.deleted, at(file))
	}
	for _, file := range deleted {
		m.pod.remove(at(file))
		m.synced.remove(at(file))
		m.deleted[at(file)] = true
	}
}

func (m *model) startAgain() {
	m.pod = maps.Clone(m.image)
	for file, text := range m.synced {
		if text != isFolder {
			m.pod.put(file, text)
		}
	}
	for file := range m.deleted {
		m.pod.remove(file)
	}
}

// read returns what is on the disk.
func read(t *testing.T, app string) tree {
	out := tree{}
	require.NoError(t, fs.WalkDir(os.DirFS(app), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			out[name] = isFolder
		case name != "l":
			out[name] = textOf(t, filepath.Join(app, name))
		}
		return nil
	}))
	delete(out, ".")
	return out
}

// lay makes a folder as a tree has it.
func lay(t *testing.T, app string, files tree) {
	require.NoError(t, os.RemoveAll(app))
	require.NoError(t, os.MkdirAll(app, 0o755))
	require.NoError(t, os.Symlink("d", filepath.Join(app, "l")))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if files[name] == isFolder {
			require.NoError(t, os.Mkdir(filepath.Join(app, name), 0o755))
		} else {
			require.NoError(t, os.WriteFile(filepath.Join(app, name), []byte(files[name]), 0o600))
		}
	}
}

// names are those of the files. Each name that begins another is a file or a folder.
var names = []string{"a", "a/a", "a/a/a", "a/b", "b", "b/a", "l/a", "l/a/a", "l/b", "d/a", "d/a/a", "d/b"}

// draw returns some names, of which none has another below it.
func draw(r *rand.Rand, most int, from []string) (some []string) {
	for range r.IntN(most + 1) {
		name := from[r.IntN(len(from))]
		if !slices.ContainsFunc(some, func(other string) bool {
			return at(name) == at(other) || strings.HasPrefix(at(name), at(other)+"/") || strings.HasPrefix(at(other), at(name)+"/")
		}) {
			some = append(some, name)
		}
	}
	return some
}

// codeActs has the code write or delete something.
func (m *model) codeActs(r *rand.Rand, text string) {
	name := at(names[r.IntN(len(names))])
	switch r.IntN(3) {
	case 0:
		m.pod.put(name, text)
	case 1:
		m.pod.remove(name)
	default:
		maps.DeleteFunc(m.pod, func(other, _ string) bool { return other == name || strings.HasPrefix(other, name+"/") })
	}
}

func TestWhatSyncsMakeOfAFolderIsWhatAModelSays(t *testing.T) {
	taken, refused := 0, 0
	for seed := range *sequences {
		r := rand.New(rand.NewPCG(seed, 0))
		app, own := filepath.Join(t.TempDir(), "app"), t.TempDir()
		m := &model{image: tree{}, synced: tree{}, deleted: map[string]bool{}}
		for _, name := range append(draw(r, 5, names), "d/keep") {
			m.image.put(at(name), "image")
		}
		m.pod = maps.Clone(m.image)
		lay(t, app, m.pod)
		var story []string
		for step := range 15 {
			text := fmt.Sprint(step)
			switch r.IntN(5) {
			case 0:
				m.codeActs(r, text)
				lay(t, app, m.pod)
				story = append(story, fmt.Sprintf("%s: the code has made it %v", text, m.pod))
			case 1:
				lay(t, app, m.image)
				_, err := storeWith(t, own).restore()
				require.NoError(t, err, "seed %d: %s", seed, strings.Join(story, "\n"))
				m.startAgain()
				story = append(story, text+": the container starts again")
			default:
				dir, from := "", names
				if r.IntN(3) == 0 {
					dir, from = []string{"d", "l"}[r.IntN(2)], []string{"a", "a/a", "b"}
				}
				files, deleted := draw(r, 3, from), draw(r, 2, from)
				deleted = slices.DeleteFunc(deleted, func(name string) bool { return slices.Contains(files, name) })
				is := m.syncs(t, storeWith(t, own), app, dir, files, deleted, text)
				story = append(story, fmt.Sprintf("%s: into %q come %v and go %v: %s", text, dir, files, deleted, is))
				if is == "taken" {
					taken++
				} else {
					refused++
				}
			}
			require.Equal(t, m.pod, read(t, app), "seed %d:\n%s", seed, strings.Join(story, "\n"))
		}
	}
	require.Greater(t, taken, refused)
	require.Greater(t, refused, int(*sequences)/2)
}

// syncs does a sync in a folder and in the model.
func (m *model) syncs(t *testing.T, s *store, app, dir string, files, deleted []string, text string) string {
	var entries []entry
	var names, gone []string
	for _, file := range files {
		entries, names = append(entries, entry{name: file, text: text}), append(names, path.Join(dir, file))
	}
	for _, file := range deleted {
		gone = append(gone, path.Join(dir, file))
	}
	if err := s.stage(stream(t, entries...), filepath.Join(app, dir), deleted); err != nil {
		require.False(t, m.takes(names, gone), "files %v, deleted %v: %v", names, gone, err)
		return "refused"
	}
	require.True(t, m.takes(names, gone), "files %v, deleted %v are taken", names, gone)
	require.NoError(t, s.apply())
	m.sync(names, gone, text)
	return "taken"
}
