package controllers_test

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// departure is something that we make otherwise than Kubeflow's training operator.
type departure struct {
	what string
	why  string
	// same makes the one that they made what we mean to make of it.
	same func(job string, pod *corev1.Pod)
}

// departures are all that we know of, in what a user can see of pods.
var departures = []departure{
	{
		what: "hosts are <job>-<type>-<index>.<job>.<namespace>.svc.<cluster domain>, without <job> and <cluster domain> in TF_CONFIG, all short in PyTorch's variables",
		why:  "one headless Service serves the whole job, not one each pod: its name is part of those of the pods, and the full name is found by one query",
		same: func(job string, pod *corev1.Pod) {
			full := "." + job + "." + pod.Namespace + ".svc.cluster.local"
			eachEnv(pod, func(e *corev1.EnvVar) {
				switch {
				case e.Name == "TF_CONFIG":
					e.Value = strings.ReplaceAll(e.Value, "."+pod.Namespace+".svc:", full+":")
				case strings.HasSuffix(e.Name, "MASTER_ADDR"):
					e.Value += full
				case e.Name == "PET_RDZV_ENDPOINT":
					e.Value = strings.Replace(e.Value, ":", full+":", 1)
				}
			})
		},
	},
	{
		what: "workers have no init container that waits for the master's name",
		why:  "it pulled an old image from elsewhere and hid the cause when it failed; names resolve before pods are ready, and PyTorch itself waits for the master",
		same: func(_ string, pod *corev1.Pod) {
			pod.Spec.InitContainers = slices.DeleteFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.Name == "init-pytorch" })
		},
	},
	{
		what: "restartPolicy of pods is Never",
		why:  "the operator replaces pods, so that a limit counts every restart and none is lost with a pod",
		same: func(_ string, pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever },
	},
	{
		what: "the controller of pods is the GenericJob, which the job controls",
		why:  "one kernel runs all kinds of jobs",
		same: func(job string, pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: "batch.tensorstack.dev/v1beta1", Kind: "GenericJob", Name: job, UID: "UID", Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			}}
		},
	},
	{
		what: "labels, the annotation for the default container, a finalizer, a host name and DNS settings come in addition",
		why:  "the operator finds its pods and their outcome by them, and the short names resolve by them",
		same: func(string, *corev1.Pod) {},
	},
}

// recording is what the training operator made of a manifest.
type recording struct {
	Manifest map[string]any                             `json:"manifest"`
	Pods     []corev1.Pod                               `json:"pods"`
	HPA      *autoscalingv2.HorizontalPodAutoscalerSpec `json:"hpa"`
	Status   struct {
		Conditions      []kubeflowv1.JobCondition            `json:"conditions"`
		ReplicaStatuses map[string]*kubeflowv1.ReplicaStatus `json:"replicaStatuses"`
	} `json:"status"`
}

// TestKubeflowConformance compares the pods of Kubeflow's own examples, one by one, with those that its training operator
// made of them.
func TestKubeflowConformance(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party cases (its sub-folder kubeflow is read)")
	}
	files, err := filepath.Glob(filepath.Join(folder, "kubeflow", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			r := recording{}
			require.NoError(t, json.Unmarshal(raw, &r))
			compareRecording(t, r)
		})
	}
}

func compareRecording(t *testing.T, r recording) {
	t.Helper()
	translator, job := read(t, r.Manifest)
	program, err := translator.Compile(job)
	require.NoError(t, err)
	if program.Foreign {
		require.Empty(t, r.Pods)
		return
	}
	require.Equal(t, r.HPA, program.Autoscaler)
	pods, status := begun(job, program)
	require.Len(t, pods, len(r.Pods))
	for _, want := range r.Pods {
		for _, d := range departures {
			d.same(job.GetName(), &want)
		}
		requireSamePod(t, want, pods[want.Name])
	}
	require.NoError(t, translator.Mirror(job, status))
	requireSameStatus(t, r, job)
}

// read reads a manifest as one of Kubeflow's kinds.
func read(t *testing.T, manifest map[string]any) (framework.Registration, client.Object) {
	t.Helper()
	text, err := yaml.Marshal(manifest)
	require.NoError(t, err)
	translators := map[any]framework.Registration{
		"TFJob": framework.Register(kubeflow.TFJobs), "PyTorchJob": framework.Register(kubeflow.PyTorchJobs),
	}
	translator, known := translators[manifest["kind"]]
	require.True(t, known)
	job := translator.New()
	require.NoError(t, yaml.UnmarshalStrict(text, job))
	return translator, job
}

// begun makes the pods, by name, that the kernel asks for in the first reconcile over a program, and returns the status.
func begun(job client.Object, program framework.Program) (map[string]*corev1.Pod, v1beta1.GenericJobStatus) {
	made := &v1beta1.GenericJob{
		ObjectMeta: metav1.ObjectMeta{Name: job.GetName(), Namespace: job.GetNamespace(), UID: "UID"}, Spec: program.Spec,
	}
	d := kernel.Plan(kernel.World{Job: made, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	made.Status = d.Status
	builder, pods := kernel.NewPodBuilder(made, kernel.Settings{}), map[string]*corev1.Pod{}
	for _, a := range d.Actions {
		if a.Verb == kernel.CreatePod {
			pod := builder.Pod(a)
			pods[pod.Name] = pod
		}
	}
	return pods, d.Status
}

func requireSamePod(t *testing.T, want corev1.Pod, have *corev1.Pod) {
	t.Helper()
	require.NotNil(t, have, "no pod %s", want.Name)
	require.Equal(t, want.Namespace, have.Namespace)
	require.Equal(t, want.Name, have.Spec.Hostname, "a pod's own host name is its short name")
	require.Equal(t, want.OwnerReferences, have.OwnerReferences)
	require.Subset(t, have.Labels, want.Labels, want.Name)
	_, isMaster := want.Labels["training.kubeflow.org/job-role"]
	_, weSayMaster := have.Labels["training.kubeflow.org/job-role"]
	require.Equal(t, isMaster, weSayMaster, want.Name)
	require.Subset(t, have.Annotations, want.Annotations, want.Name)
	require.Equal(t, want.Spec.RestartPolicy, have.Spec.RestartPolicy)
	require.Len(t, have.Spec.Volumes, len(want.Spec.Volumes))
	require.Len(t, have.Spec.InitContainers, len(want.Spec.InitContainers))
	require.Len(t, have.Spec.Containers, len(want.Spec.Containers))
	for i, w := range want.Spec.Containers {
		h := have.Spec.Containers[i]
		require.Equal(t, w.Name, h.Name)
		require.Equal(t, w.Image, h.Image)
		require.Equal(t, w.Command, h.Command)
		require.Equal(t, w.Args, h.Args)
		require.Equal(t, w.VolumeMounts, h.VolumeMounts)
		for j := range h.Ports {
			h.Ports[j].Protocol = cmp.Or(h.Ports[j].Protocol, corev1.ProtocolTCP) // as the apiserver fills in
		}
		require.Equal(t, w.Ports, h.Ports)
		require.True(t, equality.Semantic.DeepEqual(w.Resources.Limits, h.Resources.Limits), want.Name)
		require.Equal(t, lastOfEach(w.Env), lastOfEach(withoutRendezvous(h.Env, w.Env)), want.Name)
	}
}

// withoutRendezvous leaves out what we add for torchrun's rendezvous, unless Kubeflow's operator sets it too. These are names of this
// run, and timeouts, which come behind the user's.
func withoutRendezvous(have, want []corev1.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, v := range have {
		i := slices.IndexFunc(want, func(w corev1.EnvVar) bool { return w.Name == v.Name })
		switch ours := strings.HasPrefix(v.Name, "GENERICJOB_") || v.Name == "PET_RDZV_ID" || v.Name == "PET_RDZV_CONF"; {
		case ours && i < 0:
			continue
		case v.Name == "PET_RDZV_CONF" && i >= 0 && strings.HasPrefix(v.Value, want[i].Value+","):
			v.Value = want[i].Value
		}
		out = append(out, v)
	}
	return out
}

// requireSameStatus compares what a job shows of which no pod runs yet.
func requireSameStatus(t *testing.T, r recording, job client.Object) {
	t.Helper()
	status := statusOf(job)
	for title, want := range r.Status.ReplicaStatuses {
		if want.Active+want.Succeeded+want.Failed == 0 {
			require.Equal(t, want, status.ReplicaStatuses[title], title)
		}
	}
	for _, want := range r.Status.Conditions {
		if want.Type != kubeflowv1.JobCreated && want.Type != kubeflowv1.JobSuspended {
			continue // their pods ran
		}
		i := slices.IndexFunc(status.Conditions, func(c kubeflowv1.JobCondition) bool { return c.Type == want.Type })
		require.GreaterOrEqual(t, i, 0, want.Type)
		require.Equal(t, want.Status, status.Conditions[i].Status)
		require.Equal(t, want.Reason, status.Conditions[i].Reason)
		require.Equal(t, want.Message, status.Conditions[i].Message)
	}
}

func statusOf(job client.Object) kubeflowv1.JobStatus {
	if j, is := job.(*kubeflowv1.TFJob); is {
		return j.Status
	}
	return job.(*kubeflowv1.PyTorchJob).Status
}

// lastOfEach leaves out variables that a later one of the same name replaces.
func lastOfEach(env []corev1.EnvVar) []corev1.EnvVar {
	var out []corev1.EnvVar
	for i, e := range env {
		if !slices.ContainsFunc(env[i+1:], func(later corev1.EnvVar) bool { return later.Name == e.Name }) {
			out = append(out, e)
		}
	}
	return out
}

func eachEnv(pod *corev1.Pod, visit func(*corev1.EnvVar)) {
	for i := range pod.Spec.Containers {
		for j := range pod.Spec.Containers[i].Env {
			visit(&pod.Spec.Containers[i].Env[j])
		}
	}
}
