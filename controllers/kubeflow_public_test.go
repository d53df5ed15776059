package controllers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// theirJob is what Kubeflow's operators make of a manifest: pods, or an MPIJob's workers, batch Job and ConfigMap.
type theirJob struct {
	Pods, Workers []corev1.Pod
	Launcher      *struct {
		Spec struct {
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	ConfigMap *corev1.ConfigMap
}

// TestPublicManifests compares, field by field, the pods of manifests that people have published with those that Kubeflow's own operators
// make of them. Each difference must be known.
func TestPublicManifests(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	files, err := filepath.Glob(filepath.Join(folder, "kubeflow-public", "manifests", "*.json"))
	require.NoError(t, err)
	if folder == "" || len(files) == 0 {
		t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party cases (its sub-folder kubeflow-public is read)")
	}
	found := map[string][]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		manifest, theirs := map[string]any{}, theirJob{}
		readJSON(t, file, &manifest)
		readJSON(t, strings.Replace(file, "manifests", "pods", 1), &theirs)
		for _, difference := range compare(t, name, manifest, theirs) {
			found[difference] = append(found[difference], name)
		}
	}
	requireKnown(t, found)
}

// requireKnown demands that all differences are known, which are found in these manifests, and returns those that are.
func requireKnown(t *testing.T, found map[string][]string) (seen map[string]bool) {
	t.Helper()
	seen = map[string]bool{}
	for _, difference := range slices.Sorted(maps.Keys(found)) {
		i := slices.IndexFunc(knownDifferences, func(k knownDifference) bool { return regexp.MustCompile(k.what).MatchString(difference) })
		if i < 0 {
			t.Errorf("%q in %d manifests, such as %s", difference, len(found[difference]), found[difference][0])
			continue
		}
		seen[knownDifferences[i].what] = true
	}
	return seen
}

// compare are the differences between what we make of a manifest and what they made of it.
func compare(t *testing.T, name string, manifest map[string]any, theirs theirJob) []string {
	t.Helper()
	translator, job := readPublic(t, manifest)
	program, err := translator.Compile(job)
	require.NoError(t, err, name)
	if program.Foreign {
		return nil // another controller runs it
	}
	kind, list, ours := manifest["kind"].(string), theirs.pods(job), allPods(job, program)
	var out []string
	if len(list) != len(ours) {
		out = append(out, kind+": another number of pods")
	}
	for _, pod := range list {
		what := kind
		if kind == "MPIJob" {
			what += " " + pod.Labels["training.kubeflow.org/job-role"]
		}
		have := ours[pod.Name]
		if have == nil {
			out = append(out, what+": no pod")
			continue
		}
		if i := slices.IndexFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "init-pytorch" }); i >= 0 {
			pod.Spec.InitContainers = slices.Delete(pod.Spec.InitContainers, i, i+1)
			out = append(out, what+": init-pytorch is missing")
		}
		for _, d := range differences(flat(t, job, &pod), flat(t, job, have)) {
			out = append(out, what+": "+d)
		}
	}
	if theirs.ConfigMap != nil {
		for name, text := range theirs.ConfigMap.Data {
			if host(job, program.Data[name]) != host(job, text) {
				out = append(out, kind+": "+name)
			}
		}
	}
	return out
}

// pods are all of theirs, that of a launcher under the name that ours has.
func (j *theirJob) pods(job client.Object) []corev1.Pod {
	list := slices.Concat(j.Pods, j.Workers)
	if j.Launcher != nil {
		pod := corev1.Pod{ObjectMeta: j.Launcher.Spec.Template.ObjectMeta, Spec: j.Launcher.Spec.Template.Spec}
		pod.Name, pod.Namespace = job.GetName()+"-launcher-0", job.GetNamespace()
		if len(pod.Name) > 63 {
			pod.Name = job.GetName() + "-mpirun-0"
		}
		list = append(list, pod)
	}
	return list
}

func readJSON(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, into), file)
}

// readPublic reads a manifest as the apiserver does, which drops fields that it does not know.
func readPublic(t *testing.T, manifest map[string]any) (framework.Registration, client.Object) {
	t.Helper()
	text, err := yaml.Marshal(manifest)
	require.NoError(t, err)
	translators := map[any]framework.Registration{
		"TFJob": framework.Register(kubeflow.TFJobs), "PyTorchJob": framework.Register(kubeflow.PyTorchJobs), "XGBoostJob": framework.Register(kubeflow.XGBoostJobs),
		"PaddleJob": framework.Register(kubeflow.PaddleJobs), "JAXJob": framework.Register(kubeflow.JAXJobs), "MPIJob": framework.Register(kubeflow.MPIJobs),
	}
	translator, known := translators[manifest["kind"]]
	require.True(t, known)
	job := translator.New()
	require.NoError(t, yaml.Unmarshal(text, job))
	return translator, job
}

// allPods are those of a program, by name, whether they would be created at once or not.
func allPods(job client.Object, program framework.Program) map[string]*corev1.Pod {
	made := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: job.GetName(), Namespace: job.GetNamespace(), UID: "UID"}, Spec: program.Spec}
	builder, pods := kernel.NewPodBuilder(made, kernel.Settings{}), map[string]*corev1.Pod{}
	for _, r := range made.Spec.ReplicaSpecs {
		for rank := range int(ptr.Deref(r.Replicas, 1)) {
			pod := builder.Pod(kernel.Action{Verb: kernel.CreatePod, Type: r.Type, Rank: rank})
			pods[pod.Name] = pod
		}
	}
	return pods
}

// host writes all hosts in a text as short names: one Service serves a job of ours, and one each pod there.
func host(job client.Object, text string) string {
	return strings.NewReplacer(
		"."+job.GetName()+"."+job.GetNamespace()+".svc.cluster.local", "", "."+job.GetName()+"."+job.GetNamespace()+".svc", "",
		"."+job.GetNamespace()+".svc", "", job.GetName()+"-launcher-0", job.GetName()+"-launcher", job.GetName()+"-mpirun-0", job.GetName()+"-launcher",
	).Replace(text)
}

// flat is what a pod's labels, annotations and spec say, by path. Entries of lists that have a name are known by it; the containers by their
// place. Of variables of one name the last counts.
func flat(t *testing.T, job client.Object, pod *corev1.Pod) map[string]string {
	t.Helper()
	pod = pod.DeepCopy()
	for _, list := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			list[i].Env = lastOfEach(list[i].Env)
		}
	}
	raw, err := json.Marshal(map[string]any{"labels": pod.Labels, "annotations": pod.Annotations, "spec": pod.Spec})
	require.NoError(t, err)
	var tree any
	require.NoError(t, json.Unmarshal(raw, &tree))
	out := map[string]string{}
	flatten(tree, "", out)
	for path, value := range out {
		out[path] = host(job, value)
	}
	return out
}

// listed are the lists whose entries are known by their place.
var listed = regexp.MustCompile(`(^|\.)(containers|initContainers)$`)

func flatten(node any, path string, out map[string]string) {
	switch n := node.(type) {
	case map[string]any:
		if len(n) == 0 {
			return // as good as none
		}
		for key, child := range n {
			flatten(child, strings.TrimPrefix(path+"."+key, "."), out)
		}
	case []any:
		for i, child := range n {
			key := fmt.Sprint(i)
			if entry, is := child.(map[string]any); is && !listed.MatchString(path) && entry["name"] != nil {
				key = fmt.Sprint(entry["name"])
			}
			flatten(child, path+"["+key+"]", out)
		}
	case nil:
	default:
		out[path] = fmt.Sprint(n)
	}
}

// differences are the paths at which they and we say something else.
func differences(theirs, ours map[string]string) []string {
	var out []string
	for path, want := range theirs {
		switch have, is := ours[path]; {
		case !is:
			out = append(out, path+" is missing")
		case have != want:
			out = append(out, path+" differs")
		}
	}
	for path := range ours {
		if _, is := theirs[path]; !is {
			out = append(out, path+" is more")
		}
	}
	return out
}

// knownDifference is one that is meant: in what, as a pattern, and why.
type knownDifference struct{ what, why string }

// knownDifferences are all. deploy/kubeflow/README.md tells those that a user may meet.
var knownDifferences = []knownDifference{
	{`: labels\.(batch\.)?tensorstack\.dev/\S+ is more$`, "the operator finds its pods by them, and TensorStack's platform shows jobs by them"},
	{`: labels\.(genericjob|genericjob-replica|job-role|replica-index|replica-type) is more$`, "users of TensorStack's platform select by them"},
	{`^MPIJob launcher: labels\.(batch\.kubernetes\.io/)?job-name is more$`, "the batch Job's controller sets them there, after the operator"},
	{`^MPIJob (launcher|worker): labels\.training\.kubeflow\.org/replica-type is more$`, "all other kinds have it"},
	{`^MPIJob launcher: labels\.training\.kubeflow\.org/replica-index is more$`, "all other replicas have it"},
	{`^PaddleJob: labels\.training\.kubeflow\.org/job-role is more$`, "all other kinds have it on worker 0, where there is no master"},
	{`: annotations\.kubectl\.kubernetes\.io/default-container is more$`, "kubectl logs shows the container that trains, also beside injected ones"},
	{`: spec\.restartPolicy differs$`, "the operator replaces pods, so that a limit counts every restart and none is lost with a pod"},
	{`: spec\.(hostname|subdomain|dnsConfig\.searches\[0\]) is more$`, "one headless Service serves the job, and short names resolve in it"},
	{`: spec\.(hostname|subdomain) differs$`, "a template's own names would not be found: the operator's are, and a Warning event says so"},
	{`: spec\.dnsPolicy is more$`, "a pod in its node's network finds the names of its job, too"},
	{`^PyTorchJob: spec\.containers\[\d+\]\.env\[PET_RDZV_CONF\]\.value differs$`, "settings by which a lost agent is noticed stand beside the user's own"},
	{`: spec\.(initContainers|containers)\[\d+\]\.terminationMessagePolicy is more$`, "a failed replica's last words are in the status"},
	{`: spec\.containers\[\d+\]\.ports\[\S+\]\.protocol is more$`, "it is what the apiserver fills in"},
	{`^PyTorchJob: init-pytorch is missing$`, "it pulled an image from elsewhere; PyTorch itself waits for the master, whose name resolves before it is ready"},
	{`^PyTorchJob: spec\.containers\[\d+\]\.env\[(GENERICJOB_UID|GENERICJOB_MODE_GENERATION|PET_RDZV_ID|PET_RDZV_CONF)\]\S* is more$`, "agents of another run do not meet, and a lost one is noticed"},
	{`^PaddleJob: spec\.containers\[\d+\]\.env\[(POD_IP_DUMMY|PADDLE_MASTER_OF_0|PADDLE_MASTER_OF_)\]\S* is more$`, "one template serves all ranks, and which is the master is found in it"},
	{`^PaddleJob: spec\.containers\[\d+\]\.env\[PADDLE_MASTER\]\.value differs$`, "it refers to one of those"},
	{`^MPIJob launcher: spec\.containers\[0\]\.env\[PRTE_MCA_(prte_default_hostfile|plm_ssh_args)\]\S* is more$`, "Open MPI 5 does not read what Open MPI 4 reads"},
	{`^(PyTorch|XGBoost|Paddle|JAX)Job: spec\.containers\[\d+\]\.env\[PYTHONUNBUFFERED\]\.value differs$`, "the user's own wins"},
	{`^MPIJob (launcher|worker): spec\.containers\[0\]\.env\[\S+\]\.value (differs|is more)$`, "the user's own wins: how hosts are reached, he knows best"},
	{`^TFJob: spec\.containers\[\d+\]\.env\[TF_CONFIG\]\.value differs$`, "a dynamic worker without parameter servers has an empty list of them, which TensorFlow reads, and not null"},
	{`^MPIJob launcher: spec\.(volumes|containers\[0\]\.envFrom)\[\S+\]\.(configMap|configMapRef)\.name differs$`, "a ConfigMap's name is made of its content, so that a pod never sees another"},
	{`^MPIJob (launcher|worker): spec\.(volumes|containers\[0\]\.envFrom)\[\S+\]\.(secret\.secretName|secretRef\.name) differs$`, "the operator may not read Secrets, and so its name has the job's UID, or is the namespace's; what names <job>-ssh gets this one"},
	{`^MPIJob (launcher|worker): spec\.volumes\[\S+\]\.(secret|configMap)\.defaultMode is more$`, "it is what the apiserver fills in"},
	{`^MPIJob: (hostfile|discover_hosts\.sh)$`, "a launcher without workers is its own host; there both are empty, which means the same to mpirun"},
}
