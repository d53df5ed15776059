// Command sbom writes what a Go program was built from, a software bill of materials, as a CycloneDX document to standard
// output. It asks the program itself, so that nothing is listed that is not in it, and nothing left out that is. The same
// program has the same document: there is no time in it.
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
)

func main() {
	version := flag.String("version", "", "version of the program (required): the linker's flags do not tell")
	flag.Parse()
	if err := run(os.Stdout, *version, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, version string, arguments []string) error {
	if version == "" || len(arguments) != 1 {
		return errors.New("want -version and the path of one program")
	}
	info, err := buildinfo.ReadFile(arguments[0])
	if err != nil {
		return fmt.Errorf("read what %s was built from (is it a Go program?): %w", arguments[0], err)
	}
	document, err := materials(info, version)
	if err != nil {
		return fmt.Errorf("%s: %w", arguments[0], err)
	}
	encoder := cyclonedx.NewBOMEncoder(out, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	return encoder.EncodeVersion(document, cyclonedx.SpecVersion1_6)
}

// materials lists the modules in the order in which Go does, by path, and the standard library after them.
func materials(info *buildinfo.BuildInfo, version string) (*cyclonedx.BOM, error) {
	program := component(info.Main.Path, version)
	program.Type = cyclonedx.ComponentTypeApplication
	document := cyclonedx.NewBOM()
	document.Metadata = &cyclonedx.Metadata{Component: &program, Properties: &[]cyclonedx.Property{}}
	for _, setting := range info.Settings {
		if setting.Key == "GOOS" || setting.Key == "GOARCH" || setting.Key == "CGO_ENABLED" {
			*document.Metadata.Properties = append(*document.Metadata.Properties, cyclonedx.Property{Name: setting.Key, Value: setting.Value})
		}
	}
	var components []cyclonedx.Component
	var all []string
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		found := component(module.Path, module.Version)
		hash, err := checksum(module)
		if err != nil {
			return nil, err
		}
		found.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hash}}
		components = append(components, found)
	}
	components = append(components, component("std", strings.TrimPrefix(info.GoVersion, "go")))
	for _, c := range components {
		all = append(all, c.BOMRef)
	}
	document.Components = &components
	document.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &all}}
	return document, nil
}

// component has a package URL, by which databases of vulnerabilities know Go's modules.
func component(path, version string) cyclonedx.Component {
	address := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: address, BOMRef: address,
	}
}

// checksum is the SHA-256 of go.sum, which is over the names and checksums of the module's files.
func checksum(module *debug.Module) (string, error) {
	encoded, ok := strings.CutPrefix(module.Sum, "h1:")
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(raw) == 0 {
		return "", fmt.Errorf("module %s has the checksum %q: build from modules of the proxy, without replacements by folders", module.Path, module.Sum)
	}
	return hex.EncodeToString(raw), nil
}
