package kernel_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// recordedCrash is how the containers of a job ended, those of one rank first. `make crashes` has recorded it with real PyTorch and a real
// kubelet. See e2e/suite/README.md.
type recordedCrash struct {
	Shape   string `json:"shape"`
	InPlace bool   `json:"inPlace"`
	Fault   string `json:"fault"`
	Victim  int    `json:"victim"`
	Final   bool   `json:"final"`
	// Words are what a status must say of the first failure.
	Words []string      `json:"words"`
	Ends  []recordedEnd `json:"ends"`
}

// recordedEnd is the end of a container, in the order in which the apiserver told them.
type recordedEnd struct {
	Rank    string `json:"rank"`
	Deleted bool   `json:"deleted"`
	corev1.ContainerStateTerminated
}

// An operator may see the ends one by one, some together or all at once. It always tells the cause: in the status, its conditions and
// events.
func TestRecordedCrashesAreToldAsTheyWere(t *testing.T) {
	files, err := filepath.Glob("testdata/crashes/*.json")
	require.NoError(t, err)
	require.Len(t, files, 36, "each shape and strategy with each fault")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var c recordedCrash
		require.NoError(t, json.Unmarshal(text, &c))
		for step := 1; step <= len(c.Ends); step++ {
			name := fmt.Sprintf("%s, %d at once", strings.TrimSuffix(filepath.Base(file), ".json"), step)
			t.Run(name, func(t *testing.T) { c.isTold(t, step) })
			last := c
			last.Final = true
			t.Run(name+", no restart left", func(t *testing.T) { last.isTold(t, step) })
		}
	}
}

// isTold has an operator look at the job after each so many ends, and demands that it tells the cause.
func (c recordedCrash) isTold(t *testing.T, step int) {
	job, pods := c.start(t)
	for ends := range slices.Chunk(c.Ends, step) {
		now := kt.Start
		for _, e := range ends {
			if e.Deleted && step > 1 {
				continue // nobody was told to stop, had an operator seen all of this at once
			}
			e.happenTo(t, pods)
			now = e.FinishedAt.Time
		}
		d := plan(t, job, now.Add(1e9), pods...)
		job.Status = d.Status
		for _, e := range d.Events {
			c.isOfTheCause(t, job, e.Message)
		}
	}
	for _, conditionType := range []v1beta1.JobConditionType{v1beta1.ConditionFailed, v1beta1.ConditionReplicaFailure} {
		c.isOfTheCause(t, job, condition(job.Status, conditionType).Message)
	}
	restarts := 1
	if c.Final {
		restarts = 0
	}
	require.EqualValues(t, restarts, job.Status.BackoffCount)
	require.NotNil(t, job.Status.FirstFailure)
	first := job.Status.FirstFailure
	require.Equal(t, kt.Pod(job, "node", c.Victim).Name, first.Pod)
	text, err := json.Marshal(first)
	require.NoError(t, err)
	for _, words := range c.Words {
		require.Contains(t, string(text), words)
	}
}

// isOfTheCause demands of a message about an end that it names the rank that ended first. The message may also say that this is not
// known. Or it is about another rank in a hang, which is not counted again.
func (c recordedCrash) isOfTheCause(t *testing.T, job *v1beta1.GenericJob, message string) {
	t.Helper()
	if strings.HasPrefix(message, "Pod[") && !strings.Contains(message, "is not known") && !strings.Contains(message, "in a hang that is counted") {
		require.Regexp(t, `^Pod\[`+kt.Pod(job, "node", c.Victim).Name+`\]`, message)
	}
}

// start is the job, and its pods as they run.
func (c recordedCrash) start(t *testing.T) (*v1beta1.GenericJob, []*corev1.Pod) {
	t.Helper()
	limit := int32(3)
	if c.Final {
		limit = 0
	}
	options := []kt.JobOption{kt.Type("node", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(limit)}
	if c.Shape != "elastic" {
		options = append(options, kt.JobScope)
	}
	if c.InPlace {
		options = append(options, kt.InPlace)
	}
	if c.Fault == "hang" {
		options = append(options, kt.Spec(func(s *v1beta1.GenericJobSpec) { s.Heartbeat = &v1beta1.Heartbeat{Stdout: "step"} }))
	}
	job := kt.Job(append(options, kt.Begun)...)
	pods := kt.Pods(job, "node", 4, kt.Running)
	job.Status = plan(t, job, kt.Start, pods...).Status
	return job, pods
}

// happenTo ends the container of its rank, as a kubelet does: it starts one again that restarts in place.
func (e recordedEnd) happenTo(t *testing.T, pods []*corev1.Pod) {
	t.Helper()
	rank, err := strconv.Atoi(e.Rank)
	require.NoError(t, err)
	pod := pods[rank]
	ended := corev1.ContainerState{Terminated: e.DeepCopy()}
	status := &pod.Status.ContainerStatuses[0]
	switch {
	case e.Deleted:
		pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = &metav1.Time{Time: e.FinishedAt.Time}, new(int64(2))
		fallthrough
	case pod.Spec.Containers[0].RestartPolicyRules == nil:
		pod.Status.Phase, status.State = corev1.PodFailed, ended
	default:
		status.RestartCount++
		status.LastTerminationState = ended
	}
}
