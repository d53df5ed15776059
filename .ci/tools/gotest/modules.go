package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// module is a module of the checkout whose tests are run.
type module struct {
	folder string
	// uncached tests look at files that go does not know of: their last success says nothing.
	uncached bool
	// apiserver says that its tests start etcd and kube-apiserver.
	apiserver bool

	packages []goPackage
}

// modules are in the order in which they are tested: first those that need no apiserver.
var modules = []module{
	{folder: "e2e/localcluster"},
	{folder: "e2e/extension"},
	{folder: "e2e/gitops"},
	{folder: ".ci/tools", uncached: true},
	{folder: "e2e/integrations", apiserver: true},
	{folder: "cmd/kubectl-gj", apiserver: true},
	{folder: "e2e/documents", uncached: true, apiserver: true},
	{folder: ".", apiserver: true},
}

// goPackage is what `go list` says of a package.
type goPackage struct {
	ImportPath, Dir           string
	TestGoFiles, XTestGoFiles []string
}

// list finds the packages of the modules. It leaves out a module without a wanted one. Go would download what they import; a list
// needs none of it, so there is no proxy.
func list(ctx context.Context, checkout string, modules []module, wanted *regexp.Regexp) ([]module, error) {
	var found []module
	for _, m := range modules {
		c := program(ctx, filepath.Join(checkout, m.folder), "list", "-find", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
		var said strings.Builder
		c.Stderr = &said
		c.Env = append(c.Env, "GOPROXY=off")
		text, err := output(c)
		if err != nil {
			return nil, fmt.Errorf("list the packages of module %s: %w\n%s", m.folder, err, said.String())
		}
		decoder := json.NewDecoder(strings.NewReader(text))
		for {
			var p goPackage
			if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, fmt.Errorf("read what go list says of module %s: %w", m.folder, err)
			}
			if wanted.MatchString(p.ImportPath) {
				m.packages = append(m.packages, p)
			}
		}
		if len(m.packages) > 0 {
			found = append(found, m)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("-packages: no package of %d modules matches %q", len(modules), wanted)
	}
	return found, nil
}

const assetsVariable = "KUBEBUILDER_ASSETS"

// findAssets returns the folder of etcd and kube-apiserver. It builds them unless the environment names one.
func findAssets(ctx context.Context, checkout string, p *progress) (string, error) {
	if folder := os.Getenv(assetsVariable); folder != "" {
		return folder, nil
	}
	const what = "building etcd and kube-apiserver, unless they are there"
	p.begin(what)
	defer p.leave(what)
	text, err := output(program(ctx, filepath.Join(checkout, "e2e/localcluster"), "run", ".", "assets"))
	if err != nil {
		return "", fmt.Errorf("build etcd and kube-apiserver: %w", err)
	}
	return strings.TrimSpace(text), nil
}
