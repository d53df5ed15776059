package v1beta1_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// tensorBoardRules are the rules for spec.tensorboardSpec.
func tensorBoardRules[T client.Object]() map[string]rule[T] {
	board := func(b v1beta1.TensorBoardSpec) func(T) { return set[T]("TensorBoardSpec", &b) }
	filesets := func(texts ...string) func(T) { return board(v1beta1.TensorBoardSpec{TrainingLogFilesets: texts}) }
	logDir := func(d v1beta1.LogDir) func(T) { return board(v1beta1.TensorBoardSpec{LogDir: &d}) }
	pvc := func(name string, paths ...string) func(T) {
		return logDir(v1beta1.LogDir{PVC: []v1beta1.LogDirPVC{{Name: name, SubPath: paths}}})
	}
	pvcs := func(n int) func(T) {
		return logDir(v1beta1.LogDir{PVC: slices.Repeat([]v1beta1.LogDirPVC{{Name: "logs"}}, n)})
	}
	s3 := func(secret string, uris ...string) func(T) {
		return logDir(v1beta1.LogDir{S3: &v1beta1.LogDirS3{SecretRef: v1beta1.LogDirSecret{Name: secret}, URI: uris}})
	}
	web := func(urls ...string) func(T) { return logDir(v1beta1.LogDir{HTTP: &v1beta1.LogDirHTTP{URL: urls}}) }
	image := func(n int) func(T) {
		return board(v1beta1.TensorBoardSpec{Image: strings.Repeat("i", n), TrainingLogFilesets: []string{"t9k://pvc/logs"}})
	}
	text := func(start string, n int) string { return start + strings.Repeat("x", n-len(start)) }
	texts := func(n int) []string { return slices.Repeat([]string{"s3://bucket/logs"}, n) }
	addresses := func(n int) []string { return slices.Repeat([]string{"https://host/events"}, n) }
	const root = "spec.tensorboardSpec"
	const dir = root + ".logDir"
	const nowhere = "say where the logs are: in trainingLogFilesets, as in t9k://pvc/<name>/<path>, or in logDir"
	short := func(field string) []string {
		return []string{field + ": Invalid value", "should be at least 1 chars long"}
	}
	none := func(field string) []string {
		return []string{field + ": Invalid value", "should have at least 1 items"}
	}
	unlike := func(field, found, pattern string) []string {
		return []string{fmt.Sprintf("%s: Invalid value: %q", field, found), "should match '" + pattern + "'"}
	}
	rules := map[string]rule[T]{
		"it has a place":                       {filesets("t9k://pvc/logs/run"), board(v1beta1.TensorBoardSpec{}), []string{root, nowhere}},
		"it has a place though suspended":      {pvc("logs"), board(v1beta1.TensorBoardSpec{Suspend: true}), []string{root, nowhere}},
		"an empty list is no place":            {pvc("logs"), filesets([]string{}...), []string{root, nowhere}},
		"logDir has a place":                   {pvc("logs"), logDir(v1beta1.LogDir{}), []string{dir, "name at least one place: pvc, s3 or http"}},
		"there are at most 32 filesets":        {filesets(texts(32)...), filesets(texts(33)...), tooMany(root+".trainingLogFilesets", 32)},
		"a fileset has at most 1024 bytes":     {filesets(text("", 1024)), filesets(text("", 1025)), tooLong(root+".trainingLogFilesets[0]", 1024)},
		"an image has at most 1024 bytes":      {image(1024), image(1025), tooLong(root+".image", 1024)},
		"there are at most 16 claims":          {pvcs(16), pvcs(17), tooMany(dir+".pvc", 16)},
		"a claim has a name":                   {pvc("l"), pvc(""), short(dir + ".pvc[0].name")},
		"a claim's name has at most 253 bytes": {pvc(text("", 253)), pvc(text("", 254)), tooLong(dir+".pvc[0].name", 253)},
		"a claim has at most 32 folders":       {pvc("l", texts(32)...), pvc("l", texts(33)...), tooMany(dir+".pvc[0].subPath", 32)},
		"a folder has at most 1024 bytes":      {pvc("l", text("", 1024)), pvc("l", text("", 1025)), tooLong(dir+".pvc[0].subPath[0]", 1024)},
		"a store has a Secret":                 {s3("s", texts(1)...), s3("", texts(1)...), short(dir + ".s3.secretRef.name")},
		"a Secret's name has 253 bytes":        {s3(text("", 253), texts(1)...), s3(text("", 254), texts(1)...), tooLong(dir+".s3.secretRef.name", 253)},
		"a store has a folder":                 {s3("s", texts(1)...), s3("s", []string{}...), none(dir + ".s3.uri")},
		"a store has at most 32 folders":       {s3("s", texts(32)...), s3("s", texts(33)...), tooMany(dir+".s3.uri", 32)},
		"a store's folder has 1024 bytes":      {s3("s", text("s3://b/", 1024)), s3("s", text("s3://b/", 1025)), tooLong(dir+".s3.uri[0]", 1024)},
		"a store's folder begins with s3://":   {s3("s", "s3://b"), s3("s", "s3://b", "gs://b"), unlike(dir+".s3.uri[1]", "gs://b", "^s3://[^/]+")},
		"a store's folder names a bucket":      {s3("s", "s3://b/"), s3("s", "s3:///p"), unlike(dir+".s3.uri[0]", "s3:///p", "^s3://[^/]+")},
		"a web server has a file":              {web(addresses(1)...), web([]string{}...), none(dir + ".http.url")},
		"there are at most 32 web files":       {web(addresses(32)...), web(addresses(33)...), tooMany(dir+".http.url", 32)},
		"an address has at most 2048 bytes":    {web(text("http://h/", 2048)), web(text("http://h/", 2049)), tooLong(dir+".http.url[0]", 2048)},
		"an address speaks HTTP":               {web("http://h/e"), web("ftp://h/e"), unlike(dir+".http.url[0]", "ftp://h/e", "^https?://[^/]+/.+")},
		"an address names a file":              {web("https://h/e"), web("https://h/"), unlike(dir+".http.url[0]", "https://h/", "^https?://[^/]+/.+")},
	}
	maps.Copy(rules, schedulerRules(root+".scheduler", func(p *v1beta1.SchedulePolicy) func(T) {
		return board(v1beta1.TensorBoardSpec{Scheduler: p, TrainingLogFilesets: []string{"t9k://pvc/logs"}})
	}))
	return rules
}

// What Go would not write.
func TestTensorBoardsThatPeopleWrite(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	in := func(field string, value map[string]any) map[string]any {
		return map[string]any{"trainingLogFilesets": []any{"t9k://pvc/logs"}, field: value}
	}
	for want, board := range map[string]map[string]any{
		"logDir.pvc: Invalid value: 0: spec.tensorboardSpec.logDir.pvc in body should have at least 1 items": in("logDir", map[string]any{"pvc": []any{}}),
		"logDir.pvc[0].name: Required value":                  in("logDir", map[string]any{"pvc": []any{map[string]any{}}}),
		"logDir.s3.secretRef: Required value":                 in("logDir", map[string]any{"s3": map[string]any{"uri": []any{"s3://b"}}}),
		"logDir.s3.secretRef.name: Required value":            in("logDir", map[string]any{"s3": map[string]any{"secretRef": map[string]any{}}}),
		"logDir.s3.uri: Required value":                       in("logDir", map[string]any{"s3": map[string]any{}}),
		"logDir.http.url: Required value":                     in("logDir", map[string]any{"http": map[string]any{}}),
		`unknown field "spec.tensorboardSpec.logDir.pvcs"`:    in("logDir", map[string]any{"pvcs": []any{}}),
		`resources.limits.cpu: Invalid value: "much"`:         in("resources", map[string]any{"limits": map[string]any{"cpu": "much"}}),
		`resources.requests.memory: Invalid value: "1 pound"`: in("resources", map[string]any{"requests": map[string]any{"memory": "1 pound"}}),
	} {
		j := manifest(t, tensorflowJob())
		j.SetNamespace(ns)
		require.NoError(t, unstructured.SetNestedMap(j.Object, board, "spec", "tensorboardSpec"))
		require.ErrorContains(t, c.Create(t.Context(), j, client.DryRunAll), want)
	}
}
