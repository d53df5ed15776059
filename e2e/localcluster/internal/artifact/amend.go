package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// amendment is a file that a module lacks.
type amendment struct {
	// module is the path of the module, and path that of the file in it.
	module, path string
	// file is what is put there, relative to the module of the set.
	file string
}

// amend makes a go.mod by which go builds the set with its amendment. go builds it from a copy of the amended module, in a folder of its
// own.
func (s Set) amend(ctx context.Context, source, folder string) (modfile string, err error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", s.Amendment.module)
	download.Dir, download.Env, download.Stderr = filepath.Join(source, s.Module), s.environment(), os.Stderr
	text, err := download.Output()
	if err != nil {
		return "", fmt.Errorf("download %s: %w\n%s", s.Amendment.module, err, text)
	}
	var of struct{ Dir string }
	if err := json.Unmarshal(text, &of); err != nil {
		return "", fmt.Errorf("read what go says of %s: %w", s.Amendment.module, err)
	}
	module := filepath.Join(folder, "module")
	if err := os.CopyFS(module, os.DirFS(of.Dir)); err != nil {
		return "", fmt.Errorf("copy %s: %w", of.Dir, err)
	}
	modfile = filepath.Join(folder, "go.mod")
	for _, c := range []struct{ from, to, more string }{
		{s.Amendment.file, filepath.Join(module, s.Amendment.path), ""},
		{"go.mod", modfile, fmt.Sprintf("\nreplace %s => %s\n", s.Amendment.module, module)},
		{"go.sum", filepath.Join(folder, "go.sum"), ""},
	} {
		content, err := os.ReadFile(filepath.Join(source, s.Module, c.from))
		if err != nil {
			return "", fmt.Errorf("amend %s: %w", s.Amendment.module, err)
		}
		if err := os.WriteFile(c.to, append(content, c.more...), 0o600); err != nil {
			return "", fmt.Errorf("amend %s: %w", s.Amendment.module, err)
		}
	}
	return modfile, nil
}
