package suite_test

import (
	"os"
	"path/filepath"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// crashRanks is how many ranks the jobs have.
const crashRanks = 4

// hangSeconds is how long nothing is seen of code that hangs. On a machine that is busy a process may take half a minute to end.
const hangSeconds int32 = 150

// crashFolder makes the folder that all pods of a job share, with the program.
func (s *space) crashFolder() string {
	s.t.Helper()
	folder, err := os.MkdirTemp("", "genericjob-e2e-crash-")
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, os.RemoveAll(folder)) })
	require.NoError(s.t, os.Chmod(folder, 0o777)) // the pods run as somebody else
	program, err := os.ReadFile(filepath.Join("testdata", "crash.py"))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(filepath.Join(folder, "crash.py"), program, 0o644))
	return folder
}

// submitCrash creates the job of a run, with defaults but for what the run is about.
func (s *space) submitCrash(c crash, folder string) pyTorchJob {
	s.t.Helper()
	policy := &v1beta1.RunPolicy{}
	if c.Final {
		policy.BackoffLimit = ptr.To[int32](0)
	}
	if c.InPlace {
		policy.RestartStrategy = v1beta1.RestartInPlace
	}
	if c.Fault == hangFault {
		policy.Heartbeat = &v1beta1.Heartbeat{Stdout: `step (?P<step>[0-9]+)$`, StartupSeconds: ptr.To[int32](600), SteadySeconds: ptr.To(hangSeconds)}
	}
	spec := v1beta1.PyTorchTrainingJobSpec{RunPolicy: policy, ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{pyTorchSpec("node", crashRanks, nil, "/data/crash.py")}}
	switch c.Shape {
	case plainShape:
		spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command = []string{"python3"}
	case fixedShape:
		spec.TorchrunConfig = &v1beta1.TorchrunConfig{Enabled: true}
	case elasticShape:
		n := ptr.To[int32](crashRanks)
		spec.TorchrunConfig = &v1beta1.TorchrunConfig{Enabled: true}
		spec.Elastic = &v1beta1.ElasticConfig{Enabled: true, MinReplicas: n, MaxReplicas: n, ExpectedReplicas: n}
		if c.Final { // the last of torchrun's own restarts is used up
			spec.TorchrunConfig.MaxRestarts = ptr.To[int32](0)
		}
	}
	c.prepare(&spec.ReplicaSpecs[0].Template.Spec, folder)
	return s.submitPyTorch("crash", spec)
}

// prepare has a pod run the program.
func (c crash) prepare(pod *corev1.PodSpec, folder string) {
	container := &pod.Containers[0]
	// Process 1 of a container cannot kill itself. Else processes of a container see no others, which is the default.
	pod.ShareProcessNamespace = ptr.To(c.Fault == killFault)
	pod.InitContainers = nil
	pod.Volumes = []corev1.Volume{{Name: claim, VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: folder}}}}
	record := "no"
	if c.Record {
		record = "yes"
	}
	container.Env = []corev1.EnvVar{
		{Name: "FAULT", Value: c.Fault},
		{Name: "VICTIM", Value: string(rune('0' + c.Victim))},
		{Name: "RECORD", Value: record},
		{Name: "OMP_NUM_THREADS", Value: "1"},
	}
	// Who asks for no processor gets next to none on a machine that does other work, too.
	container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	if c.Fault == memoryFault {
		container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	}
}
