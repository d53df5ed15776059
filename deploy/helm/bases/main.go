// Command bases copies the manifests of the kustomize bases into the chart, whose templates read them: a chart must hold all of
// its files. Run it in the folder deploy, as `make generate` does.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// chart is the folder of the copies. It is made again each time, so that a manifest which is gone leaves none.
const chart = "helm/genericjob/bases"

// sources are the folders that the chart is made of. All of their manifests are copied, and no kustomization.
var sources = []string{
	"crd", "rbac", "manager", "network-policy", "disruption-budget", "service-monitor", "kubeflow/crd", "kubeflow/component",
}

func main() {
	errs := []error{os.RemoveAll(chart)}
	for _, folder := range sources {
		errs = append(errs, copyManifests(folder))
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "bases:", err)
		os.Exit(1)
	}
}

func copyManifests(folder string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no manifest in %s: run this in the folder deploy", folder)
	}
	if err := os.MkdirAll(filepath.Join(chart, folder), 0o755); err != nil {
		return err
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(chart, file), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
