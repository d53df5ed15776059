package tensorboard

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// logs are the places from which a TensorBoard reads.
type logs struct {
	claims  []string // PersistentVolumeClaims, each once
	folders []folder // in the claims
	secrets []string // Secrets of object stores, each once
	sources []source // what fetch.py copies
}

type folder struct{ claim, path string }

// source is a place from which fetch.py copies. It is in an object store, whose settings are in environment variables that begin with prefix; or on a
// web server, without a prefix.
type source struct{ prefix, address string }

// web reports whether the source is on a web server.
func (s source) web() bool { return s.prefix == "" }

const fileset = "write t9k://pvc/<PersistentVolumeClaim>/<path> or t9k://minio/<Secret>/<bucket>/<path>"

// locate parses where the logs are.
func locate(spec *v1beta1.TensorBoardSpec) (*logs, error) {
	l := &logs{}
	for i, text := range spec.TrainingLogFilesets {
		if err := l.addFileset(fmt.Sprintf("spec.tensorboardSpec.trainingLogFilesets[%d]", i), text); err != nil {
			return nil, err
		}
	}
	if spec.LogDir != nil {
		if err := l.addLogDir("spec.tensorboardSpec.logDir", spec.LogDir); err != nil {
			return nil, err
		}
	}
	if len(l.folders)+len(l.sources) == 0 {
		return nil, fmt.Errorf("spec.tensorboardSpec names no place of logs: %s into trainingLogFilesets, or use logDir", fileset)
	}
	return l, nil
}

func (l *logs) addFileset(field, text string) error {
	rest, ok := strings.CutPrefix(text, "t9k://")
	store, rest, _ := strings.Cut(rest, "/")
	name, rest, _ := strings.Cut(rest, "/")
	switch {
	case !ok || store != "pvc" && store != "minio":
		return fmt.Errorf("%s is %q, of a scheme that is not known: %s", field, text, fileset)
	case name == "":
		return fmt.Errorf("%s is %q, but has no name: %s", field, text, fileset)
	case store == "pvc":
		return l.addFolder(field, text, name, rest)
	}
	return l.addObjects(field, text, name, rest)
}

func (l *logs) addLogDir(field string, d *v1beta1.LogDir) error {
	for i, pvc := range d.PVC {
		of := fmt.Sprintf("%s.pvc[%d]", field, i)
		if len(pvc.SubPath) == 0 {
			if err := l.addFolder(of+".name", pvc.Name, pvc.Name, ""); err != nil {
				return err
			}
		}
		for j, p := range pvc.SubPath {
			if err := l.addFolder(fmt.Sprintf("%s.subPath[%d]", of, j), p, pvc.Name, p); err != nil {
				return err
			}
		}
	}
	if d.S3 != nil {
		if err := l.addS3(field+".s3", d.S3); err != nil {
			return err
		}
	}
	if d.HTTP != nil {
		for i, url := range d.HTTP.URL {
			if err := l.addURL(fmt.Sprintf("%s.http.url[%d]", field, i), url); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *logs) addS3(field string, d *v1beta1.LogDirS3) error {
	for i, uri := range d.URI {
		of := fmt.Sprintf("%s.uri[%d]", field, i)
		rest, ok := strings.CutPrefix(uri, "s3://")
		if !ok {
			return fmt.Errorf("%s is %q: write s3://<bucket>/<path>", of, uri)
		}
		if err := l.addObjects(of, uri, d.SecretRef.Name, rest); err != nil {
			return err
		}
	}
	return nil
}

// addFolder adds a folder of a claim. Text is what the user wrote.
func (l *logs) addFolder(field, text, claim, p string) error {
	if err := checkName(field, text, "PersistentVolumeClaim", claim); err != nil {
		return err
	}
	p, err := clean(field, text, p)
	if err != nil {
		return err
	}
	if !slices.Contains(l.claims, claim) {
		l.claims = append(l.claims, claim)
	}
	if f := (folder{claim, p}); !slices.Contains(l.folders, f) {
		l.folders = append(l.folders, f)
	}
	return nil
}

// addObjects adds a bucket of an object store, or a path in it.
func (l *logs) addObjects(field, text, secret, rest string) error {
	if err := checkName(field, text, "Secret", secret); err != nil {
		return err
	}
	p, err := clean(field, text, rest)
	if err != nil {
		return err
	}
	if p == "" {
		return fmt.Errorf("%s is %q, but names no bucket: put the bucket's name before the path", field, text)
	}
	i := slices.Index(l.secrets, secret)
	if i < 0 {
		i, l.secrets = len(l.secrets), append(l.secrets, secret)
	}
	l.addSource(source{prefix: variablePrefix(i), address: "s3://" + p})
	return nil
}

func (l *logs) addURL(field, url string) error {
	scheme, rest, ok := strings.Cut(url, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !ok || scheme != "http" && scheme != "https" || host == "" {
		return fmt.Errorf("%s is %q: write http://<host>/<path> or https://<host>/<path>", field, url)
	}
	if strings.Contains(host, "@") {
		return fmt.Errorf("%s has a user name or password before its host, but files are fetched without logging in: take it out; a place that asks for keys can be named in s3", field)
	}
	l.addSource(source{address: url})
	return nil
}

func (l *logs) addSource(s source) {
	if !slices.Contains(l.sources, s) {
		l.sources = append(l.sources, s)
	}
}

// variablePrefix returns the prefix of the environment variables of the i-th Secret.
func variablePrefix(i int) string { return fmt.Sprintf("S%d_", i) }

func checkName(field, text, kind, name string) error {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return fmt.Errorf("%s is %q, but no %s can be called %q: %s", field, text, kind, name, problems[0])
	}
	return nil
}

// clean makes a path relative, and removes empty and "." parts. It refuses a path with "..", which would mislead readers of the manifest.
func clean(field, text, p string) (string, error) {
	if slices.Contains(strings.Split(p, "/"), "..") {
		return "", fmt.Errorf("%s is %q: the path must not have \"..\"; write it from the root of the volume or bucket", field, text)
	}
	return strings.TrimPrefix(path.Clean("/"+p), "/"), nil
}
