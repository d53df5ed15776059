package verbs_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/verbs"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/kernel/build"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// patience bounds every wait. No test depends on how fast anything is.
const patience = 10 * time.Minute

// cluster is the apiserver that all tests share. No operator runs: the tests write what it would.
var cluster *envtest.Environment

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	if err := os.Chdir("../../.."); err != nil { // the CRDs are found from the checkout's folder
		panic(err)
	}
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }, "kubeflow/crd"))
}

// space is a namespace that one test has for itself.
type space struct {
	client.Client
	t          *testing.T
	ns         string
	kubeconfig string
}

func newSpace(t *testing.T) *space {
	t.Helper()
	scheme, err := controllers.NewScheme(append(translators.All(), kubeflow.All("", false)...)...)
	require.NoError(t, err)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "gj-"}}
	require.NoError(t, c.Create(t.Context(), ns))
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, cluster.KubeConfig, 0o600))
	return &space{c, t, ns.Name, file}
}

// types runs the program and returns what it prints, what it complains of, and its exit code.
func (s *space) types(args ...string) (out, problem string, code int) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	var stdout, stderr bytes.Buffer
	program := verbs.New(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &stdout, ErrOut: &stderr})
	program.SetArgs(append([]string{"--kubeconfig=" + s.kubeconfig, "--cache-dir=" + filepath.Dir(s.kubeconfig), "--namespace=" + s.ns}, args...))
	err := program.ExecuteContext(ctx)
	require.NoError(s.t, ctx.Err(), "%v does not end: %s%s", args, stdout.String(), stderr.String())
	verbs.Complain(&stderr, err)
	return stdout.String(), stderr.String(), exit.Code(err)
}

// sees runs the program, which must succeed, and returns what it prints.
func (s *space) sees(args ...string) string {
	s.t.Helper()
	out, problem, code := s.types(args...)
	require.Zero(s.t, code, "%v: %s\n%s", args, problem, out)
	return out
}

// specs are jobs of two workers, and of somebody beside them in the kinds that ask for that, by the short name of the kind.
var specs = map[string]string{
	"gj":         `{replicaSpecs: [{type: worker, replicas: 2, template: T}]}`,
	"pj":         `{replicaSpecs: [{type: master, template: T}, {type: worker, replicas: 2, template: T}]}`,
	"tj":         `{replicaSpecs: [{type: worker, replicas: 2, template: T}]}`,
	"tfjob":      `{tfReplicaSpecs: {Chief: {template: T}, Worker: {replicas: 2, template: T}}}`,
	"pytorchjob": `{elasticPolicy: {minReplicas: 1, maxReplicas: 4}, pytorchReplicaSpecs: {Worker: {replicas: 2, template: T}}}`,
}

const template = `{spec: {containers: [{name: tensorflow, image: i}, {name: pytorch, image: i}]}}`

// create creates a job of a kind from the YAML of its spec, in which T stands for a template.
func (s *space) create(short, name, spec string) client.Object {
	s.t.Helper()
	job := kindOf(s.t, short).New()
	require.NoError(s.t, yaml.UnmarshalStrict([]byte("{spec: "+strings.ReplaceAll(spec, "T}", template+"}")+"}"), job))
	job.SetName(name)
	job.SetNamespace(s.ns)
	require.NoError(s.t, s.Create(s.t.Context(), job))
	return job
}

// kindOf returns the kind of a short name.
func kindOf(t *testing.T, short string) *jobs.Kind {
	t.Helper()
	all := jobs.Kinds()
	i := slices.IndexFunc(all, func(k *jobs.Kind) bool { return k.Short() == short })
	require.GreaterOrEqual(t, i, 0, "no kind %s", short)
	return all[i]
}

// genericJob creates a GenericJob of two workers with a status.
func (s *space) genericJob(name string, edit func(*v1beta1.GenericJob)) *v1beta1.GenericJob {
	s.t.Helper()
	job := s.create("gj", name, specs["gj"]).(*v1beta1.GenericJob)
	s.setStatus(job, edit)
	return job
}

// unreadable is the training job of a GenericJob that nobody here can read.
var unreadable = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "JAXThing", Name: "lonely", UID: "unreadable", Controller: ptr.To(true)}

// compiled creates a GenericJob that was compiled from a training job.
func (s *space) compiled(name string, from *metav1.OwnerReference) *v1beta1.GenericJob {
	s.t.Helper()
	job := s.create("gj", name, specs["gj"]).(*v1beta1.GenericJob)
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, "1")
	job.OwnerReferences = []metav1.OwnerReference{*from}
	require.NoError(s.t, s.Update(s.t.Context(), job))
	return job
}

// event creates a Warning event about an object.
func (s *space) event(about types.UID, reason, message string) {
	s.t.Helper()
	require.NoError(s.t, s.Create(s.t.Context(), &corev1.Event{ObjectMeta: metav1.ObjectMeta{GenerateName: "event-", Namespace: s.ns}, Type: corev1.EventTypeWarning,
		InvolvedObject: corev1.ObjectReference{Namespace: s.ns, UID: about}, Reason: reason, Message: message, LastTimestamp: metav1.Now()}))
}

// setStatus writes a status.
func (s *space) setStatus(job *v1beta1.GenericJob, edit func(*v1beta1.GenericJob)) {
	s.t.Helper()
	job.Status.ObservedGeneration = job.Generation
	job.Status.LastUpdateTime = &metav1.MicroTime{Time: time.Now()}
	edit(job)
	require.NoError(s.t, s.Status().Update(s.t.Context(), job))
}

func phase(p v1beta1.JobPhase) func(*v1beta1.GenericJob) {
	return func(job *v1beta1.GenericJob) { job.Status.Phase = p }
}

func condition(t v1beta1.JobConditionType, is metav1.ConditionStatus, reason, message string) v1beta1.JobCondition {
	return v1beta1.JobCondition{Type: t, Status: is, Reason: reason, Message: message, LastTransitionTime: metav1.Now()}
}

// pod creates the pod of a worker, on a node if one is named, with a status.
func (s *space) pod(job *v1beta1.GenericJob, rank int, node string, status corev1.PodStatus) *corev1.Pod {
	s.t.Helper()
	pod := build.NewBuilder(job, build.Run{}).Pod("worker", rank, 0)
	pod.Finalizers, pod.Spec.NodeName = nil, node
	require.NoError(s.t, s.Create(s.t.Context(), pod))
	s.become(pod, status)
	return pod
}

func (s *space) become(pod *corev1.Pod, status corev1.PodStatus) {
	s.t.Helper()
	pod.Status = status
	require.NoError(s.t, s.Status().Update(s.t.Context(), pod))
}

func running() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{
		{Name: "tensorflow", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}},
		{Name: "pytorch", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}},
	}}
}

func ended(code int32, at time.Time) corev1.PodStatus {
	status := corev1.PodStatus{Phase: corev1.PodSucceeded}
	if code != 0 {
		status.Phase = corev1.PodFailed
	}
	for _, name := range []string{"tensorflow", "pytorch"} {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", FinishedAt: metav1.NewTime(at)}}})
	}
	return status
}

// until waits until what is asked for holds.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ask(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, fmt.Sprint("this did not come: ", what))
		}
	}
}
