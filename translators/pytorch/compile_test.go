package pytorch

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestSplit(t *testing.T) {
	for name, tc := range map[string]struct {
		n       int64
		weights []int64
		want    []int64
	}{
		"one type takes all":                       {4, []int64{1}, []int64{4}},
		"equal weights":                            {4, []int64{1, 1}, []int64{2, 2}},
		"an equal remainder goes to the first":     {3, []int64{1, 1}, []int64{2, 1}},
		"the largest remainder first":              {10, []int64{1, 2, 4}, []int64{1, 3, 6}},
		"a remainder of three quarters beats less": {5, []int64{3, 1}, []int64{4, 1}},
		"nobody goes empty-handed":                 {2, []int64{1, 99}, []int64{1, 1}},
		"the master stays":                         {4, []int64{1, 1000}, []int64{1, 3}},
		"each type keeps one":                      {1, []int64{1, 1}, []int64{1, 1}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, split(tc.n, tc.weights)) })
	}
}

// Whatever the weights, each type keeps its rank 0 and the sum is what was asked for.
func FuzzSplit(f *testing.F) {
	f.Add(int64(7), int64(1), int64(2), int64(3))
	f.Fuzz(func(t *testing.T, n, a, b, c int64) {
		bound := func(v, most int64) int64 { return 1 + (v%most+most)%most }
		weights := []int64{bound(a, 10000), bound(b, 10000), bound(c, 10000)}
		n = bound(n, 10000)
		counts := split(n, weights)
		sum := int64(0)
		for _, v := range counts {
			require.Positive(t, v)
			sum += v
		}
		require.Equal(t, max(n, 3), sum)
	})
}

func TestOptionsThatTheUserGives(t *testing.T) {
	for text, want := range map[string]string{
		"--rdzv_endpoint=a:1": "rdzv_endpoint", "--rdzv-endpoint=a:1": "rdzv_endpoint", "--nnodes": "nnodes",
		"--nproc": "nproc_per_node", "--max-restarts": "max_restarts", "--ro": "role", "--r": "r", "--unknown=1": "unknown",
	} {
		require.Equal(t, map[string]string{want: text}, optionsIn([]string{text}), text)
	}
	require.Empty(t, optionsIn([]string{"value", "-m", "-1"}))
}

func TestProcesses(t *testing.T) {
	limits := func(names ...string) *corev1.Container {
		c := &corev1.Container{Name: "main", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{}}}
		for _, n := range names {
			c.Resources.Limits[corev1.ResourceName(n)] = resource.MustParse("2")
		}
		return c
	}
	for name, tc := range map[string]struct {
		asked string
		c     *corev1.Container
		want  string
	}{
		"a number stays":      {"3", limits("nvidia.com/gpu"), "3"},
		"auto is torchrun's":  {"auto", limits(), "auto"},
		"cpu is torchrun's":   {"cpu", limits(), "cpu"},
		"NVIDIA":              {"gpu", limits("cpu", "nvidia.com/gpu"), "2"},
		"AMD":                 {"gpu", limits("amd.com/gpu"), "2"},
		"anybody":             {"gpu", limits("vendor.example.com/gpu"), "2"},
		"several kinds count": {"gpu", limits("nvidia.com/gpu", "amd.com/gpu"), "4"},
	} {
		t.Run(name, func(t *testing.T) {
			have, err := processes(tc.asked, "node", tc.c)
			require.NoError(t, err)
			require.Equal(t, tc.want, have)
		})
	}
	_, err := processes("gpu", "node", limits("cpu", "hygon.com/dcu"))
	require.ErrorContains(t, err, "torchrunConfig.procPerNode is gpu, but container main of replicaSpecs[node] has no limit of nvidia.com/gpu")
}

// Changing expectedReplicas must leave the templates as they are: what stays is not restarted.
func TestScalingLeavesTheTemplatesAlone(t *testing.T) {
	two, four := int32(2), int32(4)
	job := &v1beta1.PyTorchTrainingJob{}
	job.Name = "elastic"
	job.Spec = v1beta1.PyTorchTrainingJobSpec{
		TorchrunConfig: &v1beta1.TorchrunConfig{Enabled: true},
		Elastic:        &v1beta1.ElasticConfig{Enabled: true, MinReplicas: &two, MaxReplicas: &four},
		ReplicaSpecs: []v1beta1.PyTorchReplicaSpec{{Type: "node", Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Args: []string{"train.py"}}},
		}}}},
	}
	before, err := Compile(job)
	require.NoError(t, err)
	require.EqualValues(t, 2, *before.Spec.ReplicaSpecs[0].Replicas)
	job.Spec.Elastic.ExpectedReplicas = &four
	after, err := Compile(job)
	require.NoError(t, err)
	require.EqualValues(t, 4, *after.Spec.ReplicaSpecs[0].Replicas)
	require.Equal(t, before.Spec.ReplicaSpecs[0].Template, after.Spec.ReplicaSpecs[0].Template)
	require.True(t, slices.Contains(after.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Command, "--nnodes=2:4"))
}
