package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// arguments are the same for the hash and for the build, so that a changed flag is a new folder.
func (s Set) arguments(output string) []string {
	arguments := []string{"build", "-mod=readonly", "-buildvcs=false", "-trimpath", "-tags=" + s.Tags, "-ldflags=" + s.Linker, "-o", output}
	return append(arguments, s.Packages...)
}

// environment is the caller's without the settings that would change the result.
func (s Set) environment() []string {
	// An empty GOFLAGS would let those of `go env -w` through.
	environment := append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOWORK=off")
	if s.GOOS != "" {
		environment = append(environment, "GOOS="+s.GOOS)
	}
	// The compiler collects its garbage more seldom: a sixth of its work less, for some hundred megabytes.
	if os.Getenv("GOGC") == "" {
		environment = append(environment, "GOGC=400")
	}
	return environment
}

// key hashes everything that decides the set's content.
func (s Set) key(source, toolchain string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%q\n%q\n", toolchain, s.arguments(""), s.Program)
	for _, input := range s.Inputs {
		path := filepath.Join(source, s.Module, input)
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read %s (run this from the checkout: go -C e2e/localcluster run . <verb>): %w", path, err)
		}
		fmt.Fprintf(sum, "%s %d\n%s", input, len(content), content)
	}
	return hex.EncodeToString(sum.Sum(nil))[:12], nil
}

// toolchain asks Go inside the module, because its go.mod may select another version.
func (s Set) toolchain(ctx context.Context, source string) (string, error) {
	command := exec.CommandContext(ctx, "go", "env", "GOVERSION", "GOOS", "GOARCH")
	command.Dir = filepath.Join(source, s.Module)
	command.Env = s.environment()
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("ask Go for its version in %s (is Go 1.26 or newer installed?): %w", command.Dir, err)
	}
	return strings.Join(strings.Fields(string(output)), " "), nil
}
