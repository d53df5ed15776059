package tensorboard

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

var update = flag.Bool("update", false, "write the golden files")

var (
	owner = &metav1.ObjectMeta{Namespace: "demo", Name: "mnist", UID: "422e8cc7-163f-4d49-9fb8-d059e490a09b"}
	kind  = v1beta1.GroupVersion.WithKind(v1beta1.KindTensorFlowTrainingJob)
)

// ask reads a tensorboardSpec, and the template of the training pod.
func ask(t *testing.T, spec, template string) *framework.TensorBoard {
	t.Helper()
	want := &framework.TensorBoard{Trains: &corev1.PodTemplateSpec{}, Container: "tensorflow"}
	require.NoError(t, yaml.UnmarshalStrict([]byte(spec), &want.Spec))
	require.NoError(t, yaml.UnmarshalStrict([]byte(template), &want.Trains.Spec))
	return want
}

func build(t *testing.T, spec, template string) Board {
	t.Helper()
	board, err := Build(owner, kind, ask(t, spec, template))
	require.NoError(t, err)
	return board
}

const (
	oneClaim = "trainingLogFilesets: [t9k://pvc/data/runs/a]"
	plain    = "containers: [{name: tensorflow, image: tf:1}]"
)

// The golden files are what users find in their cluster. After a change that is meant:
// go test ./translators/tensorboard -update && git diff
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct{ spec, template string }{
		"one-claim": {oneClaim, plain},
		"same-image": {oneClaim, `
nodeSelector: {kubernetes.io/arch: arm64, gpu: a100}
containers: [{name: tensorflow, image: tf:1, imagePullPolicy: Always}]`},
		"everything": {`
trainingLogFilesets: [t9k://pvc/data/runs/a, t9k://pvc/data//runs/./a/, t9k://minio/store/bucket/exp 1]
logDir:
  pvc: [{name: data, subPath: [runs/b, "with:colon"]}, {name: other}]
  s3: {secretRef: {name: aws}, uri: ["s3://logs/2026/$(HOME)", "s3://whole"]}
  http: {url: ["https://host:8443/run/events.out.tfevents.1?x=y"]}
image: tensorboard:2
suspend: true
resources: {requests: {cpu: 1000m}, limits: {memory: 2Gi}}`, `
imagePullSecrets: [{name: registry}]
nodeSelector: {kubernetes.io/arch: arm64, gpu: a100}
tolerations: [{key: gpu, operator: Exists}]
securityContext: {runAsUser: 1000, fsGroup: 2000, sysctls: [{name: net.core.somaxconn, value: "1024"}]}
containers:
  - {name: sidecar, image: other}
  - {name: tensorflow, image: tf:1, imagePullPolicy: Always, securityContext: {runAsUser: 1001, privileged: true}}`},
	} {
		t.Run(name, func(t *testing.T) {
			board := build(t, c.spec, c.template)
			var text strings.Builder
			for _, o := range []any{board.Deployment, board.Service} {
				raw, err := yaml.Marshal(o)
				require.NoError(t, err)
				text.Write(raw)
				text.WriteString("---\n")
			}
			have := withoutScript(text.String())
			file := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, []byte(have), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), have)
		})
	}
}

// withoutScript leaves fetch.py out of a golden file.
func withoutScript(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		if strings.HasSuffix(lines[i], "args:") && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "- |") {
			out = append(out, "        # fetch.py")
			for i++; i+1 < len(lines) && !strings.HasPrefix(lines[i+1], "        - "); {
				i++
			}
		}
	}
	return strings.Join(out, "\n")
}

func TestWhatCannotBeReadIsNamed(t *testing.T) {
	long := strings.Repeat("x", 1000)
	many := "trainingLogFilesets: []\nlogDir: {pvc: ["
	for _, claim := range []string{"a", "b", "c"} {
		many += "{name: " + claim + ", subPath: [" + strings.TrimSuffix(strings.Repeat("N"+long+", ", 32), ", ") + "]}, "
	}
	for i := range 32 * 3 {
		many = strings.Replace(many, "N", string(rune('a'+i%26))+string(rune('a'+i/26)), 1)
	}
	many += "]}"
	for name, c := range map[string]struct {
		spec string
		says []string
	}{
		"scheme": {"trainingLogFilesets: [t9k://pvc/ok, 'hdfs://x/y']",
			[]string{"trainingLogFilesets[1]", `"hdfs://x/y"`, "t9k://pvc/<PersistentVolumeClaim>/<path>", "t9k://minio/<Secret>/<bucket>/<path>"}},
		"store":           {"trainingLogFilesets: ['t9k://nfs/x/y']", []string{"trainingLogFilesets[0]", "t9k://nfs/x/y", "t9k://pvc/"}},
		"no claim":        {"trainingLogFilesets: ['t9k://pvc/']", []string{"trainingLogFilesets[0]", "has no name"}},
		"no bucket":       {"trainingLogFilesets: ['t9k://minio/secret']", []string{"trainingLogFilesets[0]", "names no bucket"}},
		"claim's name":    {"trainingLogFilesets: ['t9k://pvc/Data/x']", []string{`no PersistentVolumeClaim can be called "Data"`}},
		"secret's name":   {"logDir: {s3: {secretRef: {name: My_Keys}, uri: ['s3://b']}}", []string{"logDir.s3.uri[0]", `no Secret can be called "My_Keys"`}},
		"way out":         {"trainingLogFilesets: ['t9k://pvc/data/a/../../b']", []string{"trainingLogFilesets[0]", `".."`, "root of the volume"}},
		"way out, folder": {"logDir: {pvc: [{name: data, subPath: [a, ..]}]}", []string{"logDir.pvc[0].subPath[1]", `".."`}},
		"way out, bucket": {"logDir: {s3: {secretRef: {name: s}, uri: ['s3://b/../c']}}", []string{"logDir.s3.uri[0]", `".."`}},
		"no bucket in s3": {"logDir: {s3: {secretRef: {name: s}, uri: ['s3:///']}}", []string{"logDir.s3.uri[0]", "names no bucket"}},
		"not s3":          {"logDir: {s3: {secretRef: {name: s}, uri: ['gs://b/x']}}", []string{"logDir.s3.uri[0]", `"gs://b/x"`, "s3://<bucket>/<path>"}},
		"not http":        {"logDir: {http: {url: ['ftp://h/x']}}", []string{"logDir.http.url[0]", `"ftp://h/x"`, "https://<host>/<path>"}},
		"password":        {"logDir: {http: {url: ['https://me:secret@h/x']}}", []string{"logDir.http.url[0]", "without logging in"}},
		"comma":           {"trainingLogFilesets: ['t9k://pvc/data/a,b', t9k://pvc/data/c]", []string{`"data/a,b"`, "rename the folder"}},
		"nothing":         {"{}", []string{"names no place of logs", "logDir"}},
		"too long":        {many, []string{"96 places", "131071", "name fewer folders"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Build(owner, kind, ask(t, c.spec, plain))
			require.Error(t, err)
			for _, words := range append(c.says, "spec.tensorboardSpec") {
				require.Contains(t, err.Error(), words)
			}
			require.NotContains(t, err.Error(), "secret@")
		})
	}
	_, err := Build(owner, kind, ask(t, oneClaim, "containers: [{name: other}]"))
	require.ErrorContains(t, err, "spec.tensorboardSpec.image is empty")
}

func TestASingleFolderMayHaveAComma(t *testing.T) {
	board := build(t, "trainingLogFilesets: ['t9k://pvc/data/a,b']", plain)
	args := board.Deployment.Spec.Template.Spec.Containers[0].Args
	require.Equal(t, []string{"--logdir", "/logs/pvc/data/a,b"}, args[len(args)-2:])
}

// TensorBoard takes places of one name for one run.
func TestEachPlaceHasANameOfItsOwn(t *testing.T) {
	spec := "logDir: {pvc: [{name: data, subPath: ['a:b', a_b, 'a_b:']}, {name: s3}], s3: {secretRef: {name: s}, uri: ['s3://b']}}"
	args := build(t, spec, plain).Deployment.Spec.Template.Spec.Containers[0].Args
	var names []string
	for place := range strings.SplitSeq(args[len(args)-1], ",") {
		name, _, _ := strings.Cut(place, ":")
		names = append(names, name)
	}
	require.Equal(t, []string{"data/a_b", "data/a_b-2", "data/a_b_", "s3", "s3-2"}, names)
}

func TestTheNameFitsInALabel(t *testing.T) {
	long := &metav1.ObjectMeta{Name: strings.Repeat("x", 63), UID: "9dcea839-3a99-4b6f-b594-620d79f8377d"}
	require.Len(t, Name(long), 63)
	require.NotEqual(t, Name(long), Name(&metav1.ObjectMeta{Name: long.Name, UID: "e2a69076-1c19-46ce-9c70-2cdf20176e01"}))
}

// The caches of pods, and the Services of jobs, select by labels below batch.tensorstack.dev/. The one that a TensorBoard's
// own Service selects by is there for the same reason that those are: no template can set it.
func TestThePodCarriesOneReservedLabelByWhichItsServiceSelects(t *testing.T) {
	board := build(t, oneClaim, plain)
	reserved := map[string]string{}
	for key, value := range board.Deployment.Spec.Template.Labels {
		if strings.HasPrefix(key, "batch.tensorstack.dev/") {
			reserved[key] = value
		}
	}
	require.Equal(t, map[string]string{v1beta1.LabelTensorBoard: board.Deployment.Name}, reserved)
	require.Equal(t, reserved, board.Service.Spec.Selector)
}
