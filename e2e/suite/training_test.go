package suite_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// What the tests of real frameworks share. Their scripts, and what they print, are in e2e/images.

// claim is the PersistentVolumeClaim that a space's training pods share, for checkpoints and logs.
const claim = "data"

// loadFramework makes the image of a framework, which takes minutes the first time, and puts it into the cluster.
func loadFramework(t *testing.T, name string) {
	t.Helper()
	archive := goRun(t, "rootfs", filepath.Join(root, "e2e", "images", name))
	goRun(t, "load", strings.TrimSpace(archive))
}

// goRun runs a verb of the local cluster's and returns what it prints.
func goRun(t *testing.T, args ...string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "go", append([]string{"-C", "e2e/localcluster", "run", "."}, args...)...)
	run.Dir, run.Stderr = root, os.Stderr
	text, err := run.Output()
	require.NoError(t, err, "%v", args)
	return string(text)
}

// newTrainingSpace is a space with a volume that all of its pods can write to.
func newTrainingSpace(t *testing.T) *space {
	s := newSpace(t)
	s.mountData()
	return s
}

// mountData makes the volume.
func (s *space) mountData() {
	s.t.Helper()
	folder, err := os.MkdirTemp("", "genericjob-e2e-data-")
	require.NoError(s.t, err)
	require.NoError(s.t, os.Chmod(folder, 0o777)) // the pods run as somebody else
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: s.ns},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes,
			ClaimRef:               &corev1.ObjectReference{Namespace: s.ns, Name: claim},
			PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}},
		},
	}
	require.NoError(s.t, s.Create(s.ctx, volume))
	s.t.Cleanup(func() {
		text, err := exec.Command(kubectl, "delete", "pv", volume.Name, "--wait=false").CombinedOutput()
		require.NoError(s.t, err, string(text))
		require.NoError(s.t, os.RemoveAll(folder))
	})
	require.NoError(s.t, s.Create(s.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: claim},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: ptr.To(""), VolumeName: volume.Name,
			Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}))
}

// trainer is a pod template whose container runs a script of an image. Its processes can be seen from one another, so
// that one can be killed; process 1 of a container could not.
func trainer(framework, container string, command, args []string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		ShareProcessNamespace:         ptr.To(true),
		TerminationGracePeriodSeconds: ptr.To[int64](2),
		SecurityContext:               &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](65532)},
		Containers: []corev1.Container{{
			Name: container, Image: "localhost/genericjob-" + framework + ":dev", ImagePullPolicy: corev1.PullNever,
			Command: command, Args: args,
			Env: []corev1.EnvVar{
				{Name: "CHECKPOINT_DIR", Value: "/data/checkpoint"}, {Name: "LOG_DIR", Value: "/data/logs"},
				{Name: "OMP_NUM_THREADS", Value: "1"},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: claim, MountPath: "/data"}},
		}},
		InitContainers: []corev1.Container{{
			Name: "folders", Image: "localhost/genericjob-" + framework + ":dev", ImagePullPolicy: corev1.PullNever,
			Command:      []string{"mkdir", "-p", "/data/checkpoint", "/data/logs"},
			VolumeMounts: []corev1.VolumeMount{{Name: claim, MountPath: "/data"}},
		}},
		Volumes: []corev1.Volume{{Name: claim, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}},
	}}
}

// killScript kills all processes whose command line holds a word, except the one that does it.
const killScript = `
import glob, os, sys
for path in glob.glob("/proc/[0-9]*/cmdline"):
    pid = int(path.split("/")[2])
    if pid != os.getpid() and sys.argv[1].encode() in open(path, "rb").read():
        os.kill(pid, 9)
        print("killed", pid)
`

// kill kills a replica's script, as the kernel does when memory is short.
func (s *space) kill(job *v1beta1.GenericJob, replicaType string, rank int, script string) {
	s.t.Helper()
	text, err := s.kubectl("exec", spec.PodName(job, replicaType, rank), "--", "python3", "-c", killScript, script)
	require.NoError(s.t, err, text)
	require.Contains(s.t, text, "killed")
}

// awaitEpoch waits until a replica's present pod has finished this epoch or a later one.
func (s *space) awaitEpoch(job *v1beta1.GenericJob, replicaType string, rank, epoch int) {
	s.t.Helper()
	s.until(fmt.Sprintf("%s-%d finishes epoch %d", replicaType, rank, epoch), func() bool {
		text, err := s.kubectl("logs", spec.PodName(job, replicaType, rank))
		return err == nil && slices.ContainsFunc(epochs(text), func(e int) bool { return e >= epoch })
	})
}

var epochLine = regexp.MustCompile(`(?m)^(?:\[[^\]]*\]:)?epoch=(\d+) loss=`)

// epochs are the epochs that a log tells of. torchrun puts the process in front of each line.
func epochs(log string) []int {
	var list []int
	for _, m := range epochLine.FindAllStringSubmatch(log, -1) {
		n, _ := strconv.Atoi(m[1])
		list = append(list, n)
	}
	return list
}

var doneLine = regexp.MustCompile(`done first_loss=([0-9.]+) last_loss=([0-9.]+)`)

// requireLearned demands that the loss went down.
func (s *space) requireLearned(log string) {
	s.t.Helper()
	m := doneLine.FindStringSubmatch(log)
	require.NotNil(s.t, m, "the training has not come to its end:\n%s", log)
	first, err := strconv.ParseFloat(m[1], 64)
	require.NoError(s.t, err)
	last, err := strconv.ParseFloat(m[2], 64)
	require.NoError(s.t, err)
	require.Less(s.t, last, first/2, log)
}

// owned waits for the GenericJob that a training job compiles to.
func (s *space) owned(job client.Object) *v1beta1.GenericJob {
	s.t.Helper()
	have := &v1beta1.GenericJob{}
	s.until("the GenericJob of "+job.GetName(), func() bool {
		return s.Get(s.ctx, client.ObjectKeyFromObject(job), have) == nil && metav1.IsControlledBy(have, job)
	})
	return have
}

// training is a job of a framework kind.
type training interface {
	client.Object
	status() *v1beta1.TrainingJobStatus
}

type tensorFlowJob struct{ *v1beta1.TensorFlowTrainingJob }
type pyTorchJob struct{ *v1beta1.PyTorchTrainingJob }

func (j tensorFlowJob) status() *v1beta1.TrainingJobStatus { return &j.Status }
func (j pyTorchJob) status() *v1beta1.TrainingJobStatus    { return &j.Status.TrainingJobStatus }

// awaitTraining waits until a training job is as asked for.
func (s *space) awaitTraining(job training, what string, ask func(*v1beta1.TrainingJobStatus) bool) {
	s.t.Helper()
	s.until(job.GetName()+": "+what, func() bool {
		s.refresh(job)
		require.NotEqual(s.t, v1beta1.JobFailed, job.status().Phase, "%s", describe(job.status()))
		return ask(job.status())
	})
}

// refresh reads a training job anew.
func (s *space) refresh(job training) {
	s.t.Helper()
	var err error
	switch j := job.(type) {
	case tensorFlowJob:
		err = s.Get(s.ctx, client.ObjectKeyFromObject(job), j.TensorFlowTrainingJob)
	case pyTorchJob:
		err = s.Get(s.ctx, client.ObjectKeyFromObject(job), j.PyTorchTrainingJob)
	}
	require.NoError(s.t, err)
}

func (s *space) awaitTrainingPhase(job training, phase v1beta1.JobPhase) {
	s.t.Helper()
	s.awaitTraining(job, "phase "+string(phase), func(t *v1beta1.TrainingJobStatus) bool { return t.Phase == phase })
}

func describe(status *v1beta1.TrainingJobStatus) string {
	text, _ := json.MarshalIndent(status, "", "  ")
	return string(text)
}
