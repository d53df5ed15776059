package image

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// accounts let programs that look up their own user work, and give the usual
// non-root user a name.
const (
	users  = "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n"
	groups = "root:x:0:\nnonroot:x:65532:\n"
)

// layer writes tar entries and the folders above them, each once.
type layer struct {
	out     *tar.Writer
	folders map[string]bool
}

func layerTar(spec Spec) ([]byte, error) {
	var content bytes.Buffer
	l := &layer{out: tar.NewWriter(&content), folders: map[string]bool{"/": true}}
	steps := []func() error{
		func() error { return l.folder("/tmp", 0o1777, 0) },
		func() error { return l.folder("/home/nonroot", 0o755, 65532) },
		func() error { return l.file("/etc/passwd", 0o644, []byte(users)) },
		func() error { return l.file("/etc/group", 0o644, []byte(groups)) },
	}
	if spec.Binary != "" {
		steps = append(steps, func() error { return l.copyFile(spec.Binary, spec.Entrypoint, 0o755) })
	}
	for _, file := range spec.Beside {
		steps = append(steps, func() error { return l.copyFile(spec.Binary+file.Source, file.Target, 0o755) })
	}
	for _, addition := range spec.Add {
		steps = append(steps, func() error { return l.add(addition) })
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if err := l.out.Close(); err != nil {
		return nil, fmt.Errorf("finish the image's layer: %w", err)
	}
	return content.Bytes(), nil
}

func (l *layer) add(addition Addition) error {
	if !path.IsAbs(addition.Target) {
		return fmt.Errorf("add %s:%s: the target must be an absolute path inside the image", addition.Source, addition.Target)
	}
	return filepath.WalkDir(addition.Source, func(source string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("add %s to the image: %w", addition.Source, err)
		}
		relative, err := filepath.Rel(addition.Source, source)
		if err != nil {
			return fmt.Errorf("add %s to the image: %w", source, err)
		}
		target := path.Join(addition.Target, filepath.ToSlash(relative))
		if entry.IsDir() {
			return l.folder(target, 0o755, 0)
		}
		info, err := os.Stat(source)
		if err != nil {
			return fmt.Errorf("add %s to the image: %w", source, err)
		}
		// Only the executable bit counts: a umask must not change the image.
		mode := int64(0o644)
		if info.Mode()&0o111 != 0 {
			mode = 0o755
		}
		return l.copyFile(source, target, mode)
	})
}

func (l *layer) copyFile(source, target string, mode int64) error {
	content, err := os.ReadFile(source)
	if err != nil {
		return fmt.Errorf("add %s to the image: %w", source, err)
	}
	return l.file(target, mode, content)
}

func (l *layer) file(target string, mode int64, content []byte) error {
	if err := l.folder(path.Dir(target), 0o755, 0); err != nil {
		return err
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: entryName(target), Mode: mode, Size: int64(len(content)), Format: tar.FormatPAX}
	if err := l.out.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s to the image: %w", target, err)
	}
	if _, err := l.out.Write(content); err != nil {
		return fmt.Errorf("add %s to the image: %w", target, err)
	}
	return nil
}

func (l *layer) folder(target string, mode int64, owner int) error {
	target = path.Clean(target)
	if l.folders[target] {
		return nil
	}
	if err := l.folder(path.Dir(target), 0o755, 0); err != nil {
		return err
	}
	l.folders[target] = true
	header := &tar.Header{Typeflag: tar.TypeDir, Name: entryName(target) + "/", Mode: mode, Uid: owner, Gid: owner, Format: tar.FormatPAX}
	if err := l.out.WriteHeader(header); err != nil {
		return fmt.Errorf("add folder %s to the image: %w", target, err)
	}
	return nil
}

func entryName(target string) string { return strings.TrimPrefix(path.Clean(target), "/") }
