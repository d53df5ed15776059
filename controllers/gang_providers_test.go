package controllers_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// providers are gang schedulers with the CRDs of their PodGroups, where those are at hand, and what a PodGroup of three replicas
// says.
var providers = map[string]struct {
	crd, scheduler string
	version        string
	spec           map[string]any
}{
	"volcano": {
		crd: "volcano-podgroups.yaml", scheduler: "{volcano: {queue: team, priorityClassName: high}}", version: "scheduling.volcano.sh/v1beta1",
		spec: map[string]any{"minMember": int64(3), "queue": "team", "priorityClassName": "high", "minResources": map[string]any{"cpu": "3"}},
	},
	"coscheduling": {
		crd: "scheduler-plugins-podgroups.yaml", scheduler: "{coscheduling: {scheduleTimeoutSeconds: 9}}", version: "scheduling.x-k8s.io/v1alpha1",
		spec: map[string]any{"minMember": int64(3), "scheduleTimeoutSeconds": int64(9), "minResources": map[string]any{"cpu": "3"}},
	},
	"kai": {
		crd: "kai-podgroups.yaml", scheduler: "{kai: {queue: team}}", version: "scheduling.run.ai/v2alpha2",
		spec: map[string]any{"minMember": int64(3), "queue": "team", "stalenessGracePeriod": "-1s"},
	},
}

const threeWorkers = `
replicaSpecs:
- type: worker
  replicas: 3
  restartPolicy: {policy: OnFailure, limit: 2}
  template:
    spec:
      containers: [{name: main, image: none, resources: {requests: {cpu: "1"}}}]
`

func TestPodGroupsOfOtherSchedulersLiveAsTheirJobDoes(t *testing.T) {
	for name, p := range providers {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			c.install(p.crd)
			c.operate(operation{})
			job := c.submit("gang", "scheduler: "+p.scheduler+threeWorkers)
			job = c.awaitPhase(job.Name, v1beta1.JobRunning)
			group := c.group(p.version, "gang")
			require.Equal(t, p.spec, group.Object["spec"], "their CRD has dropped nothing")
			require.True(t, metav1.IsControlledBy(group, job))

			c.finish(job, "worker-0", 0)
			c.until("the gang is of those that are left", func() bool {
				members, _, _ := unstructured.NestedInt64(c.group(p.version, "gang").Object, "spec", "minMember")
				return members == 2
			})
			c.finish(job, "worker-1", 0)
			c.finish(job, "worker-2", 0)
			c.awaitPhase(job.Name, v1beta1.JobSucceeded)
			c.until("its queue has its room back", func() bool { return c.group(p.version, "gang") == nil })
		})
	}
}

// install installs a CRD of a scheduler, as its project publishes it.
func (c *cluster) install(file string) {
	c.t.Helper()
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		c.t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party cases (its sub-folder schedulers is read)")
	}
	text, err := os.ReadFile(filepath.Join(folder, "schedulers", file))
	require.NoError(c.t, err)
	crd := &unstructured.Unstructured{}
	require.NoError(c.t, yaml.Unmarshal(text, crd))
	if err := c.Create(c.ctx, crd); !apierrors.IsAlreadyExists(err) {
		require.NoError(c.t, err)
	}
}

// group is a PodGroup; nil if it is not there.
func (c *cluster) group(version, name string) *unstructured.Unstructured {
	group := &unstructured.Unstructured{}
	group.SetGroupVersionKind(schema.FromAPIVersionAndKind(version, "PodGroup"))
	group.SetNamespace(c.ns)
	group.SetName(name)
	err := c.Get(c.ctx, keyOf(group), group)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(c.t, err)
	return group
}

// Kubernetes' own PodGroups are served only where the gates are on.
func TestAClusterWithoutGangSchedulingSaysSo(t *testing.T) {
	c := newCluster(t)
	c.operate(operation{})
	c.submit("gang", "scheduler: {kubernetes: {}}"+threeWorkers)
	job, told := c.awaitCondition("gang", v1beta1.ConditionBlocked, v1beta1.ReasonGangUnavailable)
	require.Contains(t, told.Message, "PodGroup of scheduling.k8s.io/v1beta1")
	require.Empty(t, c.pods(job))
	c.finishes("healthy")
}
